"""The keys of metadata that are ours."""

from __future__ import annotations

CONTEXT_KEY = "heading_context"  # that embedding models and language models see
INDEX_TEXT_KEY, TEXT_KEY = (
    "segment_index_text",
    "segment_text",
)  # that only embedding models, and only language models see
EMBED_EXCLUDED_KEY = "metadata_not_embedded"  # names the keys of a document's metadata that are too long to embed
FORMAT_KEY, FORMAT_REPORT_KEY = "text_format", "format_report"  # what a formatter here has made of the text, and how


def prefixed(prefix: str, *names: str) -> dict[str, str]:
    """Name of a chunk's extra -> key of a node's metadata."""
    return {name: f"{prefix}_{name}" for name in names}


PIC_KEYS = prefixed("pic", "relevant", "mean_similarity", "threshold", "degraded")
IDMS_KEYS = prefixed(
    "idms", "margin", "margin_source", "margin_fallbacks", "degraded", "density", "action", "reduced", "added"
)
HIQA_KEYS = prefixed("hiqa", "kind", "images", "caption", "description", "part", "parts", "header", "degraded", "cut")
D3_KEYS = prefixed("d3", "kind", "route", "paragraphs")

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
    "views_hit",
    "keywords_hit",
    *PIC_KEYS.values(),
    *IDMS_KEYS.values(),
    *HIQA_KEYS.values(),
    *D3_KEYS.values(),
)  # that no model sees
OWN_KEYS = (*HIDDEN_KEYS, INDEX_TEXT_KEY, TEXT_KEY)  # that nodes made of a node do not take over
