"""The keys of metadata that are ours, and which of them models see."""

from __future__ import annotations

from structrag.hosts.metadata import (
    D3_KEYS,
    FORMAT_KEY,
    FORMAT_REPORT_KEY,
    HIQA_KEYS,
    IDMS_KEYS,
    PIC_KEYS,
    SEGMENT_TEXT_KEY,
)

CONTEXT_KEY = "heading_context"  # that embedding models and language models see
INDEX_TEXT_KEY = (
    "segment_index_text"  # that only embedding models see; language models see SEGMENT_TEXT_KEY
)
EMBED_EXCLUDED_KEY = (
    "metadata_not_embedded"  # names the keys of a document's metadata that are too long to embed
)

HIDDEN_KEYS = (
    EMBED_EXCLUDED_KEY,
    FORMAT_KEY,
    FORMAT_REPORT_KEY,
    "heading_path",
    "heading_titles",
    "section_id",
    "source_start",
    "source_end",
    "context_shortened",
    "oversize",
    "routes",
    "scores",
    "score_parts",
    "views_hit",
    *PIC_KEYS.values(),
    *IDMS_KEYS.values(),
    *HIQA_KEYS.values(),
    *D3_KEYS.values(),
)  # that no model sees
OWN_KEYS = (
    *HIDDEN_KEYS,
    INDEX_TEXT_KEY,
    SEGMENT_TEXT_KEY,
)  # that nodes made of a node do not take over
