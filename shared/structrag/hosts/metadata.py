"""The keys under which both adapters tell in a framework's metadata what is known of a chunk or a
hit; docs/reference.md has the table."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from structrag.records import Chunk

FORMAT_KEY, FORMAT_REPORT_KEY = (
    "text_format",
    "format_report",
)  # what a formatter has made of a text, and how
PAGES_KEY = "pages"  # of a PDF
CHUNK_KEY, DOCUMENT_KEY, VIEW_KEY = (
    "structrag_chunk",
    "structrag_document",
    "structrag_view",
)  # in a store or engine
ENTITIES_KEY = "two_hop_entities"
SEGMENT_TEXT_KEY = (
    "segment_text"  # the passage, where what is indexed of a segment is shown in its place
)


def _prefixed(prefix: str, *names: str) -> dict[str, str]:
    return {name: f"{prefix}_{name}" for name in names}


# What is known of a chunk by a name -> the key of metadata.
PIC_KEYS = _prefixed("pic", "relevant", "mean_similarity", "threshold", "degraded")
IDMS_KEYS = _prefixed(
    "idms",
    "margin",
    "margin_source",
    "margin_fallbacks",
    "degraded",
    "density",
    "action",
    "reduced",
    "added",
)
HIQA_KEYS = {
    **_prefixed(
        "hiqa",
        "kind",
        "images",
        "caption",
        "description",
        "part",
        "parts",
        "degraded",
        "keywords",
        "cut",
    ),
    "header": "table_header",
}
SOURCE_KEYS = {key: key for key in ("source_start", "source_end")}
D3_KEYS = _prefixed("d3", "kind", "route", "paragraphs")


def chunk_notes(chunk: Chunk, keys: Mapping[str, str]) -> dict[str, Any]:
    """What is known of a chunk, its kind and its extras, under these keys; what is not known is
    left out."""
    facts = {**chunk.extras, "kind": chunk.kind}
    return {key: deepcopy(facts[name]) for name, key in keys.items() if facts.get(name) is not None}
