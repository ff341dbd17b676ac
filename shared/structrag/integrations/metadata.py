"""What metadata of a framework says of chunks and hits.

Both adapters use the same keys; docs/reference.md has the table. Vector stores take scalars, and
some want the same keys of all they hold. So a splitter gives every chunk all its keys, and their
values are strings, numbers and bools.
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
FORMAT_KEY = "text_format"  # what a formatter has made of a text
FORMAT_REPORT_KEY = "format_report"  # and how
PAGES_KEY = "pages"  # of a PDF
CONTEXT_KEY = "heading_context"  # what the text does not say itself
INDEX_KEY = (
    "evidence_index"  # handle of the index that holds a passage, in this process
)
# Of a chunk of a PDF; pages from 1, as both frameworks' loaders.
PAGE_LABEL_KEY = "page_label"
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
UNKNOWN = -1  # an offset that nobody knows
PIC_KEYS = _prefixed("pic", "relevant", "mean_similarity", "threshold", "degraded")
IDMS_KEYS = _prefixed(
    "idms", "margin", "margin_source", "margin_fallbacks", "degraded", "density", "action",
    "reduced", "added",
)  # fmt: skip
_HIQA_KEYS = _prefixed(
    "hiqa", "kind", "images", "caption", "description", "part", "parts", "degraded",
)  # fmt: skip
HIQA_KEYS = {**_HIQA_KEYS, "header": "table_header"}
HIQA_HIT_KEYS = _prefixed("hiqa", "keywords", "cut")
# What metadata says by a key where there is nothing to say; "[]" stands for a list.
_EMPTY: Mapping[str, Any] = {
    "pic_relevant": False, "pic_mean_similarity": 0.0, "pic_threshold": 0.0, "pic_degraded": False,
    "idms_margin": 0.0, "idms_margin_source": "", "idms_margin_fallbacks": 0,
    "idms_degraded": False, "idms_density": 0.0, "idms_action": "none", "idms_reduced": "",
    "idms_added": "[]",
    "hiqa_kind": "text", "hiqa_images": "[]", "hiqa_caption": "", "hiqa_description": "",
    "hiqa_part": 0, "hiqa_parts": 0, "hiqa_degraded": False, "table_header": "",
}  # fmt: skip
SOURCE_KEYS = {key: key for key in ("source_start", "source_end")}
D3_KEYS = _prefixed("d3", "kind", "route")


class HitMetadata(dict[str, Any]):
    """What a host's metadata says of a hit: items of the passage, and facts of the search.

    The items say whose passage it is and where it stands, so it is equal whatever was asked. The
    facts, such as `score`, are found by their keys alone: they are not iterated over, compared,
    hashed, or written as JSON. An item of the same key comes first.

    Example:
        >>> metadata = HitMetadata({"source": "a.md"}, {"score": 0.5})
        >>> metadata["score"], metadata == {"source": "a.md"}, metadata.full()
        (0.5, True, {'score': 0.5, 'source': 'a.md'})

    Attributes:
        facts: What belongs to one search, or is seldom asked for.
    """

    def __init__(self, items: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        super().__init__(items)
        self.facts = dict(facts)

    def __missing__(self, key: str) -> Any:
        return self.facts[key]

    def __contains__(self, key: object) -> bool:
        return super().__contains__(key) or key in self.facts

    def get(self, key: str, default: Any = None, /) -> Any:
        """The item or fact of a key, else the default."""
        return super().get(key, self.facts.get(key, default))

    def full(self) -> dict[str, Any]:
        """Items and facts as one plain dict."""
        return {**self.facts, **self}


def with_facts(metadata: Mapping[str, Any], facts: Mapping[str, Any]) -> HitMetadata:
    """Metadata with further facts; those it has by the same key are replaced."""
    earlier_facts = metadata.facts if isinstance(metadata, HitMetadata) else {}
    return HitMetadata(metadata, {**earlier_facts, **facts})


def chunk_notes(chunk: Chunk, keys: Mapping[str, str]) -> dict[str, Any]:
    """A chunk's kind and extras under these keys. Those that it lacks are left out."""
    facts = {**chunk.extras, "kind": chunk.kind}
    return {
        key: deepcopy(facts[name])
        for name, key in keys.items()
        if facts.get(name) is not None
    }


def full_notes(
    chunk: Chunk, keys: Mapping[str, str], *, lists: bool = False
) -> dict[str, Any]:
    """A chunk's kind and extras under all these keys. A key that says nothing has an empty value.
    Lists are strings of JSON, unless `lists`."""
    notes = chunk_notes(chunk, keys)
    empty = {key: _EMPTY[key] for key in keys.values() if key in _EMPTY}
    return {**empty, **_listed({**empty, **notes}, lists)}


def method_notes(chunk: Chunk, *, lists: bool = False) -> dict[str, Any]:
    """What PIC, or IDMS and its enrichment, saw of a chunk; {} where another splitter made it."""
    keys: dict[str, str] = {}
    if "relevant" in chunk.extras:
        keys = PIC_KEYS
    elif "margin_source" in chunk.extras or "density" in chunk.extras:
        keys = IDMS_KEYS
    return full_notes(chunk, keys, lists=lists)


def _listed(notes: Mapping[str, Any], lists: bool) -> dict[str, Any]:
    """The notes with lists, or with strings of JSON in their place."""
    if lists:
        return {key: [] if value == "[]" else value for key, value in notes.items()}
    return {
        key: json.dumps(value, ensure_ascii=False)
        if isinstance(value, list | dict)
        else value
        for key, value in notes.items()
    }


def heading_path(chunk: Chunk, *, lists: bool = False) -> str | list[str]:
    """A chunk's titles from the outermost. Joined by " > ", unless `lists`."""
    return list(chunk.path) if lists else SEPARATOR.join(chunk.path)


def heading_notes(chunk: Chunk, *, lists: bool = False) -> dict[str, Any]:
    """A chunk's `heading_path` and `section_id`."""
    return {
        "heading_path": heading_path(chunk, lists=lists),
        "section_id": chunk.section_id,
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
    """Where a chunk of an index stands in its file. That is `source_start` and `source_end`, in
    characters. That is the place in the markup, else the place in the text."""
    return {
        "source_start": chunk.start,
        "source_end": chunk.end,
        **chunk_notes(chunk, SOURCE_KEYS),
    }


def page_label(meta: Mapping[str, Any], chunk: Chunk) -> str:
    """The pages of a chunk as they are shown.

    They count from 1. "" where nobody knows.

    Example:
        >>> meta = {"page_starts": "0:1 90:2 200:3"}
        >>> page_label(meta, Chunk("d:0-95", "d", "d#0", 80, 195, ""))
        '1-2'
    """
    pages = pages_between(meta, chunk.start, chunk.end)
    if pages is None:
        return ""
    first, last = pages
    return str(first) if first == last else f"{first}-{last}"


def place_notes(meta: Mapping[str, Any], chunk: Chunk) -> dict[str, str]:
    """`place`, where a chunk stands in its file in the user's terms; {} where nobody knows.

    Example:
        >>> meta = {"place_starts": '[[0, "slide 1"], [90, "slide 2"]]'}
        >>> place_notes(meta, Chunk("d:0-95", "d", "d#0", 80, 95, ""))
        {'place': 'slide 1 to slide 2'}
    """
    place = place_between(meta, chunk.start, chunk.end)
    return {PLACE_KEY: place} if place else {}


def without_page_starts(meta: Mapping[str, Any]) -> dict[str, Any]:
    """Metadata without what it says of all pages and places at once. A chunk has its own."""
    return {
        key: value
        for key, value in meta.items()
        if key not in (PAGE_STARTS, PLACE_STARTS)
    }


def oversize_notes(chunk: Chunk) -> dict[str, bool]:
    """`oversize`, whether a character exceeds the limit."""
    return {"oversize": is_oversize(chunk)}


def is_oversize(chunk: Chunk) -> bool:
    """Whether a single code point makes the chunk exceed the limit."""
    return bool(chunk.extras.get("oversize"))


def context_notes(chunk: Chunk) -> dict[str, bool]:
    """`context_shortened`, whether the titles were too long."""
    return {"context_shortened": bool(chunk.extras.get("context_shortened"))}


def d3_notes(chunk: Chunk) -> dict[str, Any]:
    """`d3_kind` and `d3_route` of evidence."""
    return chunk_notes(chunk, D3_KEYS)


def score_notes(hit: Hit) -> dict[str, Any]:
    """What a hit's routes say: `routes` (ranks), `scores` and `score_parts`. Each is {} where there
    is nothing to say."""
    return {
        "routes": {name: int(rank) for name, rank in hit.routes.items()},
        "scores": {name: float(score) for name, score in hit.scores.items()},
        "score_parts": {name: float(part) for name, part in hit.parts.items()},
    }


def header_notes(chunk: Chunk) -> dict[str, str]:
    """`table_header`, the header rows of a cut table; "" without. It is asked of chunks without the
    heading path, whose context holds nothing else."""
    return {"table_header": chunk.context}
