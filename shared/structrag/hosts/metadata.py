"""What metadata of a framework says of chunks and hits.

Both adapters use the same keys; docs/reference.md has the table.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from structrag.records import Chunk, Document, Hit
from structrag.text.heading_path import SEPARATOR

FORMAT_KEY = "text_format"  # what a formatter has made of a text
FORMAT_REPORT_KEY = "format_report"  # and how
PAGES_KEY = "pages"  # of a PDF
CONTEXT_KEY = "heading_context"  # what the text does not say itself
# In a store or engine.
CHUNK_KEY = "structrag_chunk"
DOCUMENT_KEY = "structrag_document"
VIEW_KEY = "structrag_view"
ENTITIES_KEY = "two_hop_entities"
# The passage, where what is indexed of a segment stands in its place.
SEGMENT_TEXT_KEY = "segment_text"


def _prefixed(prefix: str, *names: str) -> dict[str, str]:
    return {name: f"{prefix}_{name}" for name in names}


# What is known of a chunk by a name -> the key of metadata.
PIC_KEYS = _prefixed("pic", "relevant", "mean_similarity", "threshold", "degraded")
IDMS_KEYS = _prefixed(
    "idms", "margin", "margin_source", "margin_fallbacks", "degraded", "density", "action",
    "reduced", "added",
)  # fmt: skip
_HIQA_KEYS = _prefixed(
    "hiqa", "kind", "images", "caption", "description", "part", "parts", "degraded", "keywords",
    "cut",
)  # fmt: skip
HIQA_KEYS = {**_HIQA_KEYS, "header": "table_header"}
SOURCE_KEYS = {key: key for key in ("source_start", "source_end")}
D3_KEYS = _prefixed("d3", "kind", "route", "paragraphs")


def chunk_notes(chunk: Chunk, keys: Mapping[str, str]) -> dict[str, Any]:
    """A chunk's kind and extras under these keys.

    Those that it lacks are left out.
    """
    facts = {**chunk.extras, "kind": chunk.kind}
    return {key: deepcopy(facts[name]) for name, key in keys.items() if facts.get(name) is not None}


def heading_notes(chunk: Chunk, *, flat: bool) -> dict[str, Any]:
    """A chunk's `heading_path`, titles from the outermost, and `section_id`.

    With `flat` the path is one string, titles joined by " > ".
    """
    path = SEPARATOR.join(chunk.path) if flat else list(chunk.path)
    return {"heading_path": path, "section_id": chunk.section_id}


def source_notes(chunk: Chunk, document: Document | None = None, base: int = 0) -> dict[str, int]:
    """Where a chunk stands in the markup; {} without markup.

    `source_start` and `source_end`, in characters.

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


def oversize_notes(chunk: Chunk) -> dict[str, Any]:
    """`oversize` where a character exceeds the limit; else {}."""
    return {"oversize": True} if is_oversize(chunk) else {}


def is_oversize(chunk: Chunk) -> bool:
    """Whether a single code point makes the chunk exceed the limit."""
    return bool(chunk.extras.get("oversize"))


def context_notes(chunk: Chunk) -> dict[str, Any]:
    """`context_shortened` where the titles were too long; else {}."""
    return {"context_shortened": True} if chunk.extras.get("context_shortened") else {}


def score_notes(hit: Hit) -> dict[str, Any]:
    """What a hit's routes say: `routes` (ranks), `scores` and `score_parts`.

    Each is {} where there is nothing to say.
    """
    return {
        "routes": {name: int(rank) for name, rank in hit.routes.items()},
        "scores": {name: float(score) for name, score in hit.scores.items()},
        "score_parts": {name: float(part) for name, part in hit.parts.items()},
    }


def header_notes(chunk: Chunk) -> dict[str, Any]:
    """`table_header`, the header rows of a cut table; {} without.

    It is asked of chunks without the heading path, whose context holds nothing else.
    """
    return {"table_header": chunk.context} if chunk.context else {}
