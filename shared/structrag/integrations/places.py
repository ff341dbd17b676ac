"""Places of chunks: in the document, in the source of a text that was split before, their
neighbours, and their text trimmed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from structrag.integrations.metadata import (
    CONTEXT_KEY,
    PATHS_KEY,
    SEGMENT_TEXT_KEY,
    UNKNOWN,
    titles_of,
)
from structrag.reading.sections import parse, replace_facts
from structrag.records import Chunk, Document
from structrag.text.heading_path import SEPARATOR, is_same_title


def original_span(
    chunk: Chunk, document: Document, base: int | None
) -> tuple[int, int] | tuple[None, None]:
    """A chunk's span in what its document is a part of.

    `base` is where that text begins there, None if unknown. The span is (None, None) then, and for
    a part of a page of HTML, whose visible text is counted from its own beginning.
    """
    if base is None or (base and document.layout is not None):
        return None, None
    return chunk.start + base, chunk.end + base


def trusted_start(text: str, start: int | None, end: int | None) -> int | None:
    """Return the `start` that a host gives for a text, if it is plausible.

    None unless the length to the end fits the text.

    Example:
        >>> trusted_start("abc", 4, 7), trusted_start("abc", 4, 9)
        (4, None)
    """
    if start is None or end is None:
        return None
    return start if end - start == len(text) else None


def slice_places(
    text: str, metadata: Mapping[str, Any], start: int, end: int
) -> dict[str, int]:
    """The places of `text[start:end]`, by those of the text in its metadata.

    They are `start_index`, `end_index`, `source_start` and `source_end`, those that are there. A
    span that is not as long as the text, such as that of markup, stays: it holds the slice. A
    heading context in front of the text is in no span.

    Example:
        >>> slice_places("It leaks.", {"start_index": 40, "end_index": 49}, 3, 8)
        {'start_index': 43, 'end_index': 48}
    """
    lead = lead_of(text, metadata)
    first, last = max(start - lead, 0), max(end - lead, 0)
    places: dict[str, int] = {}
    for names in (("start_index", "end_index"), ("source_start", "source_end")):
        base, stop = (metadata.get(name) for name in names)
        if not isinstance(base, int) or base < 0:
            continue
        if stop is None:  # other splitters write where a text begins, and no more
            places[names[0]] = base + first
        elif stop - base == len(text) - lead:
            places |= {names[0]: base + first, names[1]: base + last}
    return places


def lead_of(text: str, metadata: Mapping[str, Any]) -> int:
    """Count the characters of the heading context in front of a text."""
    context = str(metadata.get(CONTEXT_KEY) or "")
    return len(context) + 1 if context and text.startswith(f"{context}\n") else 0


_BLANK_LINES = re.compile(r"\s*[\n\r\v\f\x85\u2028\u2029]")


def trim_span(text: str) -> tuple[int, int]:
    """The span of a text without white space around it.

    The first line that is not blank keeps its indentation, which means something in code and lists.
    The span of a blank text is empty.

    Example:
        >>> trim_span("\\n    x = 1\\n\\n")
        (1, 10)
    """
    end = len(text.rstrip())
    blank = _BLANK_LINES.match(text)
    start = blank.end() if blank else 0
    return min(start, end), end


def trimmed_text(text: str) -> str:
    """The text without blank lines before and white space after it."""
    start, end = trim_span(text)
    return text[start:end]


def trimmed(chunk: Chunk) -> Chunk:
    """A chunk without blank lines before and white space after it. Its offsets move along, so that
    its text stays an exact slice of the document. Its id stays."""
    start, end = trim_span(chunk.text)
    if end - start == len(chunk.text):
        return chunk
    return Chunk(  # `replace` would take several times as long
        chunk.id,
        chunk.doc_id,
        chunk.section_id,
        chunk.start + start,
        chunk.start + end,
        chunk.text[start:end],
        chunk.context,
        chunk.n_tokens,
        chunk.path,
        chunk.kind,
        chunk.extras,
        chunk.body_start,
    )


@dataclass(frozen=True, slots=True)
class TrimmedLength:
    """The greater length of a text, trimmed or not.

    A limit that holds by this measure holds for what `trimmed` leaves too, whatever the measure.

    Example:
        >>> TrimmedLength(len)("one\\n\\n")
        5
    """

    length_function: Callable[[str], int]

    def __call__(self, text: str) -> int:
        length = self.length_function(text)
        inner = trimmed_text(text)
        return length if inner == text else max(length, self.length_function(inner))


# Keys that a chunk does not inherit from the chunk that it is cut from.
REPLACED_KEYS = (
    "start_index", "end_index", "section_id", "source_start", "source_end", SEGMENT_TEXT_KEY,
    PATHS_KEY, CONTEXT_KEY,
)  # fmt: skip
_TITLE = "title"  # of the whole document, as loaders give it


@dataclass(frozen=True, slots=True)
class Origin:
    """The place of a text to be split in its source, which it was cut from.

    Attributes:
        start: Where it begins there, in characters; None: unknown.
        source: Its span in the file; None: as `start` says.
        path: The titles down to it.
        titles: Those of them above it, that it does not begin with itself.
    """

    start: int | None = 0
    source: tuple[int, int] | None = None
    path: tuple[str, ...] = ()
    titles: tuple[str, ...] = ()

    def place(self, chunk: Chunk) -> Chunk:
        """A chunk of the text with all titles down to its own."""
        # A chunk of no section, such as one of fixed size, is under what all of the text is under.
        path = (*self.titles, *chunk.path) if chunk.path else self.path
        if path == chunk.path:
            return chunk
        extras = dict(chunk.extras)
        if "section_paths" in extras:
            paths = extras["section_paths"]
            extras["section_paths"] = [[*self.titles, *titles] for titles in paths]
        return replace(chunk, path=path, extras=extras)

    def span(self, chunk: Chunk) -> tuple[int, int]:
        """A chunk's span in what the text was cut from. `UNKNOWN` twice if nobody knows."""
        if self.start is None:
            return UNKNOWN, UNKNOWN
        return chunk.start + self.start, chunk.end + self.start

    def source_notes(self, chunk: Chunk, document: Document) -> dict[str, int]:
        """A chunk's `source_start` and `source_end`, its span in the file. If a text differs from
        the file, they are the span of the whole text."""
        start, end = self._source_span(chunk, document)
        return {"source_start": start, "source_end": end}

    def _source_span(self, chunk: Chunk, document: Document) -> tuple[int, int]:
        if document.layout is not None:  # the text is markup itself
            if self.start is None:
                return UNKNOWN, UNKNOWN
            first, last = document.layout.source_map.span(chunk.start, chunk.end)
            return first + self.start, last + self.start
        if self.source is None:
            return self.span(chunk)
        first, last = self.source
        if last - first == len(document.text):
            return first + chunk.start, first + chunk.end
        return self.source


def parent_of(
    document: Document, metadata: Mapping[str, Any], start: int | None
) -> Origin:
    """The place of a host's text, by its metadata.

    An earlier splitter gave it.

    Example:
        >>> from structrag import read_text
        >>> document = read_text("## Seal\\n\\nIt leaks.", format="markdown")
        >>> parent_of(document, {"heading_path": "Pump > Seal"}, 40).titles
        ('Pump',)

    Args:
        start: Where the text begins in what it was cut from; 0 for a whole document, None if
            nobody knows.
    """
    ends = [metadata.get(key) for key in ("source_start", "source_end")]
    numbers = tuple(end for end in ends if isinstance(end, int) and end >= 0)
    # Evidence of several sections has the path of its best sentence, not of its beginning.
    paths: Any = metadata.get(PATHS_KEY)
    with suppress(ValueError):
        paths = json.loads(paths) if isinstance(paths, str) else paths
    first = paths[:1] if isinstance(paths, list) else []
    path = titles_of(first[0] if first else metadata.get("heading_path"))
    source = (numbers[0], numbers[1]) if len(numbers) == 2 else None
    return Origin(start, source, path, titles_above(path, document))


def titles_above(path: tuple[str, ...], document: Document) -> tuple[str, ...]:
    """The titles that lead to a text, without the headings at its own beginning."""
    if not path:
        return ()
    leading = _leading_path(document)
    for size in range(min(len(path), len(leading)), 0, -1):
        if path[-size:] == leading[:size]:
            return path[:-size]
    return path


def under_titles(document: Document, parent: Origin) -> Document:
    """The document with the titles above it in its title. That stands before its chunks."""
    if not parent.titles:
        return document
    title = document.meta.get(_TITLE)
    is_new = (
        isinstance(title, str) and title and not is_same_title(title, parent.titles[:1])
    )
    titles = (str(title), *parent.titles) if is_new else parent.titles
    return replace_facts(document, title=SEPARATOR.join(titles))


def _leading_path(document: Document) -> tuple[str, ...]:
    """The path of the last heading that begins a text. () if the text begins with none."""
    sections = parse(document).sections
    section = sections[0]
    while (
        section.children
        and not document.text[section.body_start : section.body_end].strip()
    ):
        section = sections[section.children[0]]
    return section.path
