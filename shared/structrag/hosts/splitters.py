"""A host's settings as those of a splitter of the core."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from structrag.chunks.idms.splitter import IDMSSplitter
from structrag.errors import InvalidParameter

UNLIMITED = 10**9  # as chunk_size, which hosts want to be a number


def defaults_of(splitter: type) -> dict[str, Any]:
    """The defaults of a splitter of the core, by name."""
    return {field.name: field.default for field in fields(splitter)}


def take_settings(splitter: type, settings: dict[str, Any]) -> dict[str, Any]:
    """Take the settings of a splitter out of a dict.

    Example:
        >>> from structrag.chunks.fixed import FixedSplitter
        >>> settings = {"language": "german", "format": "html"}
        >>> take_settings(FixedSplitter, settings), settings
        ({'language': 'german'}, {'format': 'html'})
    """
    return {
        field.name: settings.pop(field.name)
        for field in fields(splitter)
        if field.name in settings
    }


def changes_of(splitter: Any, *left_out: str) -> dict[str, Any]:
    """The settings of a splitter that are not its class's defaults.

    Those of the names in `left_out` do not count.
    """
    values = {name: getattr(splitter, name) for name in defaults_of(type(splitter))}
    return {
        name: values[name]
        for name, default in defaults_of(type(splitter)).items()
        if name not in left_out and values[name] != default
    }


def check_overlap(chunk_overlap: int, chunk_size: int) -> None:
    """Raise InvalidParameter for an overlap above half of the size."""
    if chunk_overlap * 2 > chunk_size:
        raise InvalidParameter(
            f"chunk_overlap must be at most half of chunk_size ({chunk_size}); got {chunk_overlap}."
        )


def shows_path(enrich: Any, settings: Mapping[str, Any]) -> bool:
    """Whether titles stand in front of IDMS's chunks.

    `settings` are those of its splitter. As published sentences are added alone, and a chunk may
    lie in several sections.
    """
    in_one_section = settings.get("respect_sections", True)
    return bool(enrich == "none" or (enrich != "paper" and in_one_section))


def idms_margin(margin: Any, embedder: Any, llm: Any) -> Any:
    """What IDMS takes as its margin.

    With neither model "auto" is "words", the fastest that needs none.
    """
    return "words" if margin == "auto" and embedder is None and llm is None else margin


def idms_target(target: int | None, max_tokens: int) -> int:
    """What IDMS's merging fills up to.

    None: the same share of the limit as by default, at least 1.
    """
    defaults = defaults_of(IDMSSplitter)
    if target is not None:
        return target
    return max(
        1, max_tokens * int(defaults["target_tokens"]) // int(defaults["max_tokens"])
    )
