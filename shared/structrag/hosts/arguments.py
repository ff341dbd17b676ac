"""What a host's retrievers say of arguments probably not meant."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

from structrag.errors import InvalidParameter

LSA = "lsa"  # what says that LSA is meant
NO_MODEL = "No embedding model was given"


def chosen_embedding(argument: str, embedding: Any) -> Any:
    """The embedding for the core, None for LSA.

    A warning says so once, unless LSA was asked for by its name.

    Args:
        argument: What the host calls it.
    """
    if embedding is None:
        warnings.warn(
            f"{NO_MODEL}, so vectors are made by LSA from the words of the documents themselves. "
            f"Pass a model as {argument}=..., or {argument}={LSA!r} where LSA is meant.",
            stacklevel=6,
        )
    return None if isinstance(embedding, str) and embedding == LSA else embedding


def warn_of_chunks(are_chunks: Iterable[bool]) -> None:
    """Say that chunks came where whole documents are wanted."""
    if any(are_chunks):
        warnings.warn(
            "The documents are chunks of a splitter. Retrievers here split documents themselves, "
            "by their sections: give them whole documents.",
            stacklevel=5,
        )


def alike(options: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The options with another name that means the same as its own.

    Example:
        >>> alike({"k": 3}, {"k": "similarity_top_k"})
        {'similarity_top_k': 3}

    Raises:
        InvalidParameter: both names are given.
    """
    renamed = dict(options)
    for other, name in names.items():
        if other not in renamed:
            continue
        value = renamed.pop(other)
        if name in renamed:
            raise InvalidParameter(f"{name} and {other} mean the same; got both. Leave one out.")
        renamed[name] = value
    return renamed
