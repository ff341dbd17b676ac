"""Markdown in the making, with the places in the source that its parts come from."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import compress

from structrag.reading.drafts import Draft
from structrag.reading.escaping import assembled, escaped_lines, heading_line
from structrag.reading.limits import spend_characters
from structrag.reading.tables import count_headers, pipe_table


@dataclass(slots=True)
class PlacedText:
    """Blocks of Markdown, each with the label of its place.

    Example:
        >>> text = PlacedText()
        >>> text.enter("slide 1")
        >>> text.heading(1, "Plan")
        >>> text.draft().places
        ((0, 'slide 1'),)
    """

    parts: list[str] = field(default_factory=list)
    places: list[tuple[int, str]] = field(default_factory=list)
    _length: int = 0
    _label: str = ""

    def enter(self, label: str) -> None:
        """Begin a place: it is that of the next block."""
        self._label = label

    def add(self, markdown: str) -> None:
        """Append a block."""
        if markdown.strip():
            self._place(0, self._label)
            self.parts.append(markdown)
            self._length += len(markdown) + 2
            spend_characters(len(markdown) + 2)

    def heading(self, level: int, title: str) -> None:
        """Append a heading on one line; none where the title is blank."""
        words = " ".join(title.split())
        if words:
            self.add(heading_line(level, words))

    def paragraph(self, text: str) -> None:
        """Append plain text. Its blank lines part paragraphs."""
        lines = [line.strip() for line in text.splitlines()]
        self.add("\n".join(escaped_lines(lines)).strip("\n"))

    def quote(self, text: str) -> None:
        """Append a note as a quotation."""
        lines = escaped_lines([line.strip() for line in text.splitlines()])
        if any(lines):
            self.add("\n".join(f"> {line}".rstrip() for line in lines))

    def table(
        self,
        rows: Sequence[Sequence[str]],
        labels: Sequence[str] = (),
        header_rows: int = 1,
    ) -> None:
        """Append a pipe table. `labels` are the places of its rows, () for none."""
        cells = [[cell.replace("\f", " ") for cell in row] for row in rows]
        header_rows = count_headers(cells, header_rows)
        markdown = pipe_table(cells, header_rows)
        if labels and markdown:
            self._label = ""
            filled = [any(map(str.strip, row)) for row in cells]  # others are left out
            shown = list(compress(labels, filled))
            self._place(0, shown[0])
            head, rule, *lines = markdown.split("\n")
            offset = len(head) + len(rule) + 2
            below = shown[sum(filled[:header_rows]) :]
            for label, line in zip(below, lines, strict=True):
                self._place(offset, label)
                offset += len(line) + 1
        self.add(markdown)

    def _place(self, offset: int, label: str) -> None:
        if label and (not self.places or self.places[-1][1] != label):
            self.places.append((self._length + offset, label))

    def draft(
        self,
        title: str = "",
        uncertain: Iterable[str] = (),
        removed: Iterable[str] = (),
    ) -> Draft:
        """The document made of it."""
        text = assembled(self.parts)
        # A backslash may stand before the first block.
        more = len(text) - (self._length - 1 if self.parts else 0)
        places = tuple(
            (start + more if start else 0, label) for start, label in self.places
        )
        return Draft(text, tuple(uncertain), tuple(removed), title=title, places=places)
