"""Metadata of chunks and hits for both adapters, the command and MCP.

The adapters use the same keys; docs/reference.md has the table. Vector stores accept scalars, and
some expect the same keys in every entry. So a splitter gives every chunk all its keys, and their
values are strings, numbers and bools. A new key of a method is a line in its table here.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any

from structrag.reading.paging import (
    PAGE_STARTS,
    PLACE_STARTS,
    pages_between,
    place_between,
)
from structrag.records import Chunk, Hit
from structrag.text.heading_path import SEPARATOR

PLACE_KEY = "place"  # "slide 4", "cell 12"
FORMAT_KEY = "text_format"  # the format that a formatter made
FORMAT_REPORT_KEY = "format_report"
CITATION_KEY = "citation"  # that `structrag.resolve` takes
PAGES_KEY = "pages"  # their number in a PDF
CONTEXT_KEY = "heading_context"  # titles, and header rows of a cut table
INDEX_KEY = (
    "evidence_index"  # handle of the index that holds a passage, in this process
)
# The pages of a chunk of a PDF, from 1, as in both frameworks' loaders.
PAGE_LABEL_KEY = "page_label"
# In a store or engine.
CHUNK_KEY = "structrag_chunk"
DOCUMENT_KEY = "structrag_document"
VIEW_KEY = "structrag_view"
# The passage, if the text of a chunk is the one to be indexed.
SEGMENT_TEXT_KEY = "segment_text"


def _prefixed(prefix: str, *names: str) -> dict[str, str]:
    return {name: f"{prefix}_{name}" for name in names}


_PLAIN = {str, int, float, bool, type(None)}
UNKNOWN = -1  # an unknown offset
# Tables: name among a chunk's extras, or "kind" -> key of metadata.
OVERSIZE_KEYS = {"oversize": "oversize"}  # a single code point exceeds the limit
CONTEXT_KEYS = {"context_shortened": "context_shortened"}  # the titles were too long
# The titles of each section of a chunk that holds several.
PATHS_KEY = "section_paths"
SECTION_KEYS = {PATHS_KEY: PATHS_KEY}
PIC_KEYS = _prefixed("pic", "relevant", "mean_similarity", "threshold", "degraded")
IDMS_KEYS = _prefixed(
    "idms", "margin", "margin_source", "margin_fallbacks", "degraded", "density", "action",
    "reduced", "added",
)  # fmt: skip
ENRICHMENT_KEYS = {
    name: IDMS_KEYS[name]
    for name in ("density", "action", "reduced", "added", "degraded")
}
HIQA_KEYS = {
    **_prefixed(
        "hiqa", "kind", "images", "caption", "description", "part", "parts", "degraded",
    ),
    "header": "table_header",
}  # fmt: skip
HIQA_HIT_KEYS = _prefixed("hiqa", "keywords", "cut")
SOURCE_KEYS = {key: key for key in ("source_start", "source_end")}
D3_KEYS = _prefixed("d3", "kind", "route")
VIEWS_KEYS = {"views_hit": "views_hit"}
# The value of a key that does not apply; "[]" is an empty list. Other keys are then left out.
_EMPTY: Mapping[str, Any] = {
    "oversize": False, "context_shortened": False, "views_hit": "[]", "hiqa_keywords": "[]",
    "hiqa_cut": False,
    "pic_relevant": False, "pic_mean_similarity": 0.0, "pic_threshold": 0.0, "pic_degraded": False,
    "idms_margin": 0.0, "idms_margin_source": "", "idms_margin_fallbacks": 0,
    "idms_degraded": False, "idms_density": 0.0, "idms_action": "none", "idms_reduced": "",
    "idms_added": "[]",
    "hiqa_kind": "text", "hiqa_images": "[]", "hiqa_caption": "", "hiqa_description": "",
    "hiqa_part": 0, "hiqa_parts": 0, "hiqa_degraded": False, "table_header": "",
}  # fmt: skip


# What belongs to one search, whatever the passage.
SEARCH_KEYS = frozenset({
    "score", "rank", "routes", "scores", "score_parts", INDEX_KEY, "d3_route",
    *VIEWS_KEYS.values(), *HIQA_HIT_KEYS.values(),
})  # fmt: skip


def of_passage(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata of a hit that is the same whatever was asked."""
    return {key: metadata[key] for key in metadata if key not in SEARCH_KEYS}


class HitMetadata(dict[str, Any]):
    """A host's metadata of a hit. What belongs to one search, such as `score`, is not compared.

    Example:
        >>> metadata = HitMetadata({"source": "a.md", "score": 0.5})
        >>> metadata == {"source": "a.md", "score": 0.7}, metadata == {"source": "b.md"}
        (True, False)
    """

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mapping) and of_passage(self) == of_passage(other)

    def __ne__(self, other: object) -> bool:
        return not self == other  # dict has its own


def chunk_notes(
    chunk: Chunk, keys: Mapping[str, str], *, lists: bool = False
) -> dict[str, Any]:
    """A chunk's kind and extras under these keys. A key that does not apply has an empty value, or
    is left out if it has none. Lists and dicts are strings of JSON, unless `lists`."""
    facts = {**chunk.extras, "kind": chunk.kind}
    notes = {}
    for name, key in keys.items():
        value = facts.get(name)
        if value is None:
            value = [] if lists and _EMPTY.get(key) == "[]" else _EMPTY.get(key)
        elif isinstance(value, list | dict):
            value = deepcopy(value) if lists else json.dumps(value, ensure_ascii=False)
        if value is not None:
            notes[key] = value
    return notes


def copied(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """A deep copy. That of strings and numbers alone takes little time."""
    copy = dict(metadata)
    return copy if _PLAIN.issuperset(map(type, copy.values())) else deepcopy(copy)


def method_keys(chunk: Chunk) -> Mapping[str, str]:
    """The keys of PIC, or of IDMS and its enrichment, whichever made the chunk; else those of
    sections."""
    if "relevant" in chunk.extras:
        return PIC_KEYS
    is_idms = "margin_source" in chunk.extras or "density" in chunk.extras
    return IDMS_KEYS if is_idms else SECTION_KEYS


def heading_path(chunk: Chunk, *, lists: bool = False) -> str | list[str]:
    """A chunk's titles from the outermost. Joined by " > ", unless `lists`."""
    return list(chunk.path) if lists else SEPARATOR.join(chunk.path)


def heading_notes(chunk: Chunk, *, lists: bool = False) -> dict[str, Any]:
    """A chunk's `heading_path` and `section_id`; of evidence that reaches over several sections
    also `section_paths`, in reading order."""
    keys = SECTION_KEYS if PATHS_KEY in chunk.extras else {}
    return {
        "heading_path": heading_path(chunk, lists=lists),
        "section_id": chunk.section_id,
        **chunk_notes(chunk, keys, lists=lists),
    }


def titles_of(path: Any) -> tuple[str, ...]:
    """The titles of a `heading_path` as metadata has it.

    () for anything else.

    Example:
        >>> titles_of("Pump > Cleaning"), titles_of(["Pump", "Cleaning"]), titles_of(None)
        (('Pump', 'Cleaning'), ('Pump', 'Cleaning'), ())
    """
    if isinstance(path, str):
        return tuple(path.split(SEPARATOR)) if path else ()
    return tuple(map(str, path)) if isinstance(path, Sequence) else ()


def source_notes(chunk: Chunk) -> dict[str, int]:
    """`source_start` and `source_end` of a chunk of an index, in characters: in the markup, if the
    text was made from markup, else in the text."""
    return {
        "source_start": chunk.start,
        "source_end": chunk.end,
        **chunk_notes(chunk, SOURCE_KEYS),
    }


def place_notes(meta: Mapping[str, Any], chunk: Chunk) -> dict[str, str]:
    """The pages of a chunk, `page_label` (from 1), and its `place` in the user's terms. Unknown
    ones are left out.

    Example:
        >>> meta = {"page_starts": "0:1 90:2", "place_starts": '[[0, "cell 1"], [90, "cell 2"]]'}
        >>> place_notes(meta, Chunk("d:0-95", "d", "d#0", 80, 95, ""))
        {'page_label': '1-2', 'place': 'cell 1 to cell 2'}
    """
    notes = {}
    pages = pages_between(meta, chunk.start, chunk.end)
    if pages is not None:
        notes[PAGE_LABEL_KEY] = "-".join(map(str, dict.fromkeys(pages)))
    place = place_between(meta, chunk.start, chunk.end)
    return {**notes, PLACE_KEY: place} if place else notes


def without_page_starts(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without what it says of all pages and places at once. A chunk has its own."""
    return {
        key: value
        for key, value in meta.items()
        if key not in (PAGE_STARTS, PLACE_STARTS)
    }


def is_oversize(chunk: Chunk) -> bool:
    """Whether a single code point makes the chunk exceed the limit."""
    return bool(chunk.extras.get("oversize"))


def score_notes(hit: Hit) -> dict[str, Any]:
    """Results of a hit's routes: `routes` (ranks), `scores` and `score_parts`. Each may be {}."""
    return {
        "routes": {name: int(rank) for name, rank in hit.routes.items()},
        "scores": {name: float(score) for name, score in hit.scores.items()},
        "score_parts": {name: float(part) for name, part in hit.parts.items()},
    }
