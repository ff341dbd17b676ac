"""Documents made of others' parts. With the pages and boxes that these came from."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from structrag.reading.escaping import assembled, escaped_lines, fenced, heading_line
from structrag.reading.paging import PageStart, written_starts
from structrag.reading.pdf.pages import Box
from structrag.reading.sections import warn_if_flat
from structrag.records import Document


@dataclass(frozen=True, slots=True)
class Place:
    """Where a stretch of a document's text stands on its pages.

    Example:
        >>> Place(0, 12, 3).page
        3

    Attributes:
        start, end: Characters of the document's text.
        page: Its number, from 1.
        box: Left, top, right and bottom, measured from the page's upper left corner in the units of
            who read it (of docling points); None where unknown.
    """

    start: int
    end: int
    page: int
    box: Box | None = None


@dataclass(frozen=True, slots=True)
class PlacedDocument:
    """A document, and where its text stands on pages.

    Example:
        >>> document = Document("# A\\n\\nOn two pages.\\n", format="markdown")
        >>> placed = PlacedDocument(document, (Place(0, 3, 1), Place(5, 18, 2)))
        >>> placed.pages(0, 18), placed.pages(5, 9)
        ((1, 2), (2,))

    The document goes into splitters and retrievers; a chunk's or hit's `start` and `end` then lead
    back to its pages and boxes.

    Attributes:
        places: In the order of the text; what came from no page has none.
    """

    document: Document
    places: tuple[Place, ...] = ()

    def at(self, start: int, end: int) -> tuple[Place, ...]:
        """The places of the text between two characters."""
        return tuple(
            place for place in self.places if place.start < end and start < place.end
        )

    def pages(self, start: int, end: int) -> tuple[int, ...]:
        """The pages of the text between two characters, ascending."""
        return tuple(sorted({place.page for place in self.at(start, end)}))


@dataclass(frozen=True, slots=True)
class Part:
    """A block of Markdown and where it comes from.

    Example:
        >>> Part("A paragraph.").places
        ()
    """

    text: str
    places: tuple[tuple[int, Box | None], ...] = ()  # page, box


def placed_document(
    parts: Iterable[Part],
    *,
    id: str = "",
    title: str = "",
    source: str = "",
    meta: dict[str, Any] | None = None,
) -> PlacedDocument:
    """The parts as one Markdown document, a blank line between them. `source` is the file's name,
    "" for none; `meta` may name another. A long one without a heading is warned of."""
    filled = [part for part in parts if part.text.strip()]
    text = assembled([part.text for part in filled])
    places: list[Place] = []
    position = 0
    for part in filled:
        start = text.index(part.text, position)
        position = start + len(part.text)
        places += [Place(start, position, page, box) for page, box in part.places]
    facts: dict[str, Any] = {"source": source} if source else {}
    facts.update(meta or {})
    if places:
        facts["pages"] = max(place.page for place in places)
        facts |= written_starts(page_starts(places))
    document = Document(text, id=id, title=title, format="markdown", meta=facts)
    warn_if_flat(document, "document")
    return PlacedDocument(document, tuple(places))


def page_starts(places: Iterable[Place]) -> Iterator[PageStart]:
    """Where pages begin in a text, by its places in order. What stands on several pages has the
    first from its start, and the others from its middle."""
    last = -1
    for place in places:
        is_new = place.start != last
        yield (place.start if is_new else (place.start + place.end) // 2), place.page
        last = place.start


def paragraph(text: str) -> str:
    """A text that stays a paragraph in Markdown."""
    return "\n".join(escaped_lines(text.strip().splitlines()))


def heading(level: int, text: str) -> str:
    """A heading of one line."""
    return heading_line(level, " ".join(text.split()))


def code(text: str) -> str:
    """A fenced block of code."""
    return fenced(text.strip("\n"))


def list_item(text: str, mark: str = "-", depth: int = 0) -> str:
    """An item of a list; `depth` counts the lists around it."""
    return f"{'  ' * depth}{mark} {' '.join(text.split())}"
