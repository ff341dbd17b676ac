"""Where a chunk lies, and what a hit tells, in the words of a host's metadata."""

from __future__ import annotations

from typing import Any

from structrag.hosts.metadata import SOURCE_KEYS, chunk_notes
from structrag.records import Chunk, Document, Hit


def source_notes(chunk: Chunk, document: Document | None = None, base: int = 0) -> dict[str, int]:
    """Where a chunk stands in the markup: `source_start` and `source_end`; {} without markup.

    Args:
        document: What was split; None for a chunk of an index, which keeps the place with it.
        base: Where the document's text begins in the original.
    """
    if document is None:
        return chunk_notes(chunk, SOURCE_KEYS)
    if document.layout is None:
        return {}
    start, end = document.layout.source_map.span(chunk.start, chunk.end)
    return {"source_start": start + base, "source_end": end + base}


def original_span(
    chunk: Chunk, document: Document, base: int | None
) -> tuple[int, int] | tuple[None, None]:
    """A chunk's span in the original that its document's text is a part of.

    `base` is where that text begins there, None if unknown. The span is (None, None) then, and for
    a part of a page of HTML, whose visible text is counted from its own beginning.
    """
    if base is None or (base and document.layout is not None):
        return None, None
    return chunk.start + base, chunk.end + base


def oversize_notes(chunk: Chunk) -> dict[str, Any]:
    """`oversize` where a single character is longer than the limit; else {}."""
    return {"oversize": True} if is_oversize(chunk) else {}


def is_oversize(chunk: Chunk) -> bool:
    """Whether a chunk exceeds the limit, which only a single character may."""
    return bool(chunk.extras.get("oversize"))


def context_notes(chunk: Chunk) -> dict[str, Any]:
    """`context_shortened` where the titles in front of a chunk were too long; else {}."""
    return {"context_shortened": True} if chunk.extras.get("context_shortened") else {}


def score_notes(hit: Hit) -> dict[str, Any]:
    """The parts of a hit's score under `scores`; {} where it has none."""
    if not hit.scores:
        return {}
    return {"scores": {name: float(score) for name, score in hit.scores.items()}}
