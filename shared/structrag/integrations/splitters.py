"""A host's settings as those of a splitter of the core, which declares them."""

from __future__ import annotations

import re
from dataclasses import fields
from inspect import cleandoc
from typing import Any

from structrag.errors import InvalidParameter

UNLIMITED = 10**9  # as chunk_size, which hosts want to be a number
# Names of settings in the core -> in both hosts.
HOST_NAMES = {
    "max_tokens": "chunk_size",
    "flat_max_tokens": "flat_chunk_size",
    "min_tokens": "min_chunk_size",
    "target_tokens": "target_chunk_size",
    "overlap": "chunk_overlap",
    "heading_path": "add_context",
}
_ATTRIBUTE = re.compile(r"^ {4}(\w[\w, ]*): (?!As in )(.*(?:\n {8}.*)*)", re.MULTILINE)


# Settings of the hosts' own splitters.
SEPARATORS = (
    "separators",
    "is_separator_regex",
    "separator",
    "paragraph_separator",
    "secondary_chunking_regex",
    "chunking_tokenizer_fn",
)


def hints_of(**others: str) -> dict[str, str]:
    """Advice by wrong name: what to pass in place of the core's names, of `others` and of the names
    of a host's own splitters."""
    cut = "Omit it: text is cut at the document's own sections, blocks and sentences."
    host_names = {**HOST_NAMES, **others}
    hints = {name: f"Pass {host_name}=." for name, host_name in host_names.items()}
    return {**dict.fromkeys(SEPARATORS, cut), **hints}


def defaults_of(splitter: type) -> dict[str, Any]:
    """The defaults of a splitter of the core, by name."""
    return {field.name: field.default for field in fields(splitter)}


def descriptions_of(splitter: type) -> dict[str, str]:
    """Descriptions of a core splitter's settings by name, from its docstrings.

    Example:
        >>> from structrag.chunks.fixed import FixedSplitter
        >>> descriptions_of(FixedSplitter)["within_sections"]
        "Whether chunks end at section borders (MC's FLC-content)."
    """
    descriptions: dict[str, str] = {}
    for kind in reversed(splitter.__mro__):
        attributes = cleandoc(kind.__doc__ or "").partition("\nAttributes:\n")[2]
        for names, text in _ATTRIBUTE.findall(attributes):
            descriptions |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return descriptions


def take_settings(splitter: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of a splitter out of a dict.

    Example:
        >>> from structrag.chunks.fixed import FixedSplitter
        >>> settings = {"language": "german", "format": "html"}
        >>> take_settings(FixedSplitter, settings), settings
        ({'language': 'german'}, {'format': 'html'})
    """
    names = settings.keys() & defaults_of(splitter).keys()
    return {name: settings.pop(name) for name in names}


def changes_of(splitter: Any, *left_out: str) -> dict[str, Any]:
    """The settings of a splitter that differ from its class's defaults, without `left_out` and
    without those that hosts name otherwise."""
    return {
        name: getattr(splitter, name)
        for name, default in defaults_of(type(splitter)).items()
        if name not in {*left_out, *HOST_NAMES} and getattr(splitter, name) != default
    }


def overlap_within(chunk_overlap: int, chunk_size: int) -> int:
    """The overlap of the core: more than half of the size counts as half, so that every chunk
    brings something new. Raises InvalidParameter for one above the size, as the hosts do."""
    if chunk_overlap > chunk_size:
        raise InvalidParameter(
            f"chunk_overlap must be at most chunk_size ({chunk_size}); got {chunk_overlap}."
        )
    return min(chunk_overlap, chunk_size // 2)


def decides_on_vectors(settings: Any) -> bool:
    """Whether PIC or IDMS with these settings compares sentences by the embedding model's vectors,
    and so by LSA's where none is given."""
    margin = getattr(settings, "margin", "similarity")
    return settings.boundary_embedder is None and margin == "similarity"


def check_without_models(
    splitter: Any, parameter: str, embedding: str, *models: Any
) -> None:
    """Raise InvalidParameter for a host's splitter with models of its own, in a retriever."""
    if any(model is not None for model in models):
        raise InvalidParameter(
            f"{parameter} must have no {embedding} and no llm in a retriever, which uses its own "
            f"models; got a {type(splitter).__name__} with models. Leave them out."
        )
