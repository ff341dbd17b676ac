"""Texts that were split before: their places and titles above. So chunks of chunks say the same of
their place as chunks of the whole document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from structrag.integrations.metadata import SEGMENT_TEXT_KEY, UNKNOWN, titles_of
from structrag.reading.sections import parse
from structrag.records import Chunk, Document
from structrag.text.heading_path import SEPARATOR, is_same_title

# What a chunk never takes over from the chunk that it is cut from.
REPLACED_KEYS = (
    "start_index", "end_index", "section_id", "source_start", "source_end", SEGMENT_TEXT_KEY,
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
        return chunk if path == chunk.path else replace(chunk, path=path)

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
    path = titles_of(metadata.get("heading_path"))
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
    return replace(document, title=SEPARATOR.join(titles))


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
