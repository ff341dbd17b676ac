"""A page's visible text in lines and blocks."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from typing import Final

from structrag.reading.html.tables import Table, has_text, write_rows
from structrag.reading.html.text import MappedText, unescaped
from structrag.reading.looks import STROKE, script_mark
from structrag.records import BlockKind

# HTML's: a non-breaking space is a character like any other.
_SPACE: Final = " \t\n\r\f"
# A piece may end early: the single blank behind it is written in its own place.
_WORDS = re.compile(r"[^ \t\n\r\f]+(?: [^ \t\n\r\f]+){0,99}")
_REFERENCE = re.compile(
    r"&(?:#[0-9]+;?|#[xX][0-9a-fA-F]+;?|[A-Za-z][A-Za-z0-9]{1,31};?)"
)
_MAX_INDENT: Final = 20  # levels; deeper lists are written at this depth


@dataclass(slots=True)
class FlowPiece:
    """A heading (kind None) or a block of the text.

    Example:
        >>> FlowPiece("paragraph").start
        -1
    """

    kind: BlockKind | None
    start: int = -1  # -1: nothing written yet
    title_end: int = 0  # of a heading
    level: int = 0  # of a heading
    depth: int = 0  # of the sections around a heading
    words: bool = False  # something other than images was written
    cuts: list[int] = field(default_factory=list)
    header_end: int = 0


@dataclass(frozen=True, slots=True)
class Marker:
    """What the next line of a list begins with.

    Example:
        >>> Marker("- ", place=12).cut
        True
    """

    text: str
    place: int  # where the item begins in the page
    cut: bool = True  # whether the list may be cut before it


class Lists:
    """The open lists.

    Those below `base` hold a heading. What follows it is no longer written as their item.

    Example:
        >>> lists = Lists()
        >>> lists.push("ul")
        >>> lists.push("ol", number=3)
        >>> lists.depth
        2
        >>> lists.pop("ul")
        >>> lists.depth
        0
    """

    def __init__(self) -> None:
        self.names: list[str] = []
        self.numbers: list[int] = []  # items so far; for dl 1 after a dt
        self.base: int = 0
        self._open = defaultdict[str, int](int)

    @property
    def depth(self) -> int:
        """How many lists what follows is an item of."""
        return len(self.names) - self.base

    def push(self, name: str, number: int = 0) -> None:
        """Open a list. `number` is that of the item before its first."""
        self.names.append(name)
        self.numbers.append(number)
        self._open[name] += 1

    def pop(self, name: str) -> None:
        """Close the innermost list of this name and those inside it."""
        while self._open[name]:
            closed = self.names.pop()
            self.numbers.pop()
            self._open[closed] -= 1
            if closed == name:
                break
        self.base = min(self.base, len(self.names))


class Flow:
    """Writes text to the page or to the open table cell.

    `gap` is the number of line ends owed before the next text.

    Example:
        >>> source = "Nova &amp; co"
        >>> flow = Flow(source)
        >>> flow.text(0, len(source))
        >>> "".join(flow.out.parts)
        'Nova & co'
    """

    def __init__(self, source: str) -> None:
        self.source = source
        self.out: MappedText = MappedText()
        self.pieces: list[FlowPiece] = []
        self.block: FlowPiece | None = None
        self.heading: FlowPiece | None = None
        # Its end tag is there; else it ends with its line.
        self.heading_closes: bool = False
        self.table: Table | None = None
        self.lists: Lists = Lists()
        self.marker: Marker | None = None
        self.pre = 0
        self.place = 0  # where the tag begins that is taken
        self.inside: Counter[str] = Counter()  # open quotes and sections
        self.in_image = False
        self.struck = 0  # 1: its mark is owed, 2: its mark is written
        self.images: list[tuple[int, int]] = []  # source spans of the tags
        self.gap: int = 0
        # Non-breaking spaces at a line's start, shown if text follows.
        self._blanks: list[tuple[str, int, int, bool]] = []
        self._outer_lists = self.lists

    def text(self, start: int, end: int, *, literal: bool = False) -> None:
        """Write `source[start:end]`, which holds no tags, and character references unless it is
        `literal`."""
        verbatim = bool(self.pre) and self.table is None and self.heading is None
        position = start
        if not literal and self.source.find("&", start, end) >= 0:
            for match in _REFERENCE.finditer(self.source, start, end):
                value = unescaped(match[0])
                if value == match[0]:  # no character has this name
                    continue
                self._run(position, match.start(), verbatim)
                position = match.end()
                if verbatim or value.strip(_SPACE):
                    self.put(value, match.start(), position, exact=False)
                else:
                    self.space(match.start())
        self._run(position, end, verbatim)

    def space(self, place: int | None = None) -> None:
        """Take white space, which shows as one space inside a line."""
        sink = self._line()
        if sink and sink.space < 0:
            sink.space = self.place if place is None else place

    def insert(self, text: str) -> None:
        """Write what the page means by a tag."""
        self.put(text, self.place, self.place, exact=False)

    def script(self, text: str, look: str) -> None:
        """Mark raised or lowered text that begins here, where it is glued to other text."""
        sink = self._line()
        if sink and sink.space < 0:
            sink.insert(script_mark("".join(sink.parts[-3:]), text, look), self.place)

    def start_struck(self) -> None:
        """Owe the mark of struck text."""
        self.struck = self.struck or 1

    def end_struck(self) -> None:
        """Mark the end of struck text, if some was written."""
        sink = self.out if self.table is None else self.table.cell
        if sink and self.struck > 1:
            sink.insert(STROKE)
        self.struck = 0

    def _line(self) -> MappedText | None:
        """The page or cell, if text goes on there in a line."""
        sink = self.out if self.table is None else self.table.cell
        return sink if sink and not sink.fresh else None

    def break_line(self, lines: int, *, force: bool = False) -> None:
        """End the line (1) or the block (2). Inside lists, `pre` and headings only the line ends,
        unless `force` is set. In a table cell a break is a space."""
        if self.table is not None:
            self.space()
            if self.table.stray:
                self.table.cell = None
            return
        if self.heading:
            # A heading without an end tag ends with its first line.
            if self.heading.start >= 0 and not self.heading_closes:
                self.close_heading()
            else:
                lines = 1
        elif not force and (self.pre or self.lists.depth):
            lines = 1
        self.gap = max(self.gap, lines)
        self._end_line()

    def line_feed(self) -> None:
        """Take a `br`. The second one in a row ends the block."""
        if self.table is not None:
            self.space()
        elif self.pre and not self.heading:
            self.insert("\n")
        else:
            most = 1 if self.heading or self.lists.depth else 2
            self.gap = max(self.gap, min(self.gap + 1, most))
            self._end_line()

    def open_heading(self, level: int, depth: int, *, closes: bool) -> None:
        """Begin a heading on a new line, ending an open one."""
        self.break_line(2, force=True)
        self.close_heading()
        self.marker = None
        self.lists.base = len(self.lists.names)
        self.heading, self.heading_closes = (
            FlowPiece(None, level=level, depth=depth),
            closes,
        )

    def close_heading(self) -> None:
        """End the open heading, if there is one."""
        heading, self.heading = self.heading, None
        if heading:
            heading.title_end = self.out.length
            self.gap = 2
            self._end_line()

    def open_table(self) -> None:
        """Begin a table on a line of its own."""
        self.break_line(2, force=True)
        self.table = Table()
        self._outer_lists = self.lists
        self.reset_cell()

    def reset_cell(self) -> None:
        """Forget the lists outside a new cell."""
        self.marker, self._blanks = None, []
        if self.lists.names or self.lists is self._outer_lists:
            self.lists = Lists()

    def close_table(self) -> None:
        """Write the open table, its caption as a paragraph before it."""
        table, self.table = self.table, None
        if table is None:
            return
        self.reset_cell()
        if table.caption.length:
            self._begin_line("paragraph").words = True
            self.out.extend(table.caption)
            self.gap = 2
        if has_text(table):
            piece = self._begin_line("table")
            piece.cuts, piece.header_end = write_rows(table, self.out)
        self.lists = self._outer_lists
        self.gap = 2
        self._end_line()

    def _run(self, start: int, end: int, verbatim: bool) -> None:
        if verbatim:
            if start < end:
                self.put(self.source[start:end], start, end, exact=True)
            return
        for words in _WORDS.finditer(self.source, start, end):
            first, last = words.span()
            if first > start:
                self.space(start)
            self.put(words[0], first, last, exact=True)
            start = last
        if start < end:
            self.space(start)

    def put(self, piece: str, start: int, end: int, *, exact: bool) -> None:
        """Write `piece`, which stands for `source[start:end]`, and what is owed before it."""
        blank = piece.isspace()
        sink = self._sink(blank)
        if sink is None:
            return
        if sink.fresh and blank:
            self._blanks.append((piece, start, end, exact))
            return
        if not sink.fresh:
            self._put_space(sink)
        elif self.table is None:
            self._begin_line()
        sink.fresh, sink.space = False, -1
        if self.marker or self._blanks:
            self._put_marker(sink)
        if self.struck == 1:
            sink.insert(STROKE)
            self.struck = 2
        sink.add(piece, start, end, exact)
        if self.block and not self.in_image:
            self.block.words = True

    def _sink(self, blank: bool) -> MappedText | None:
        """Where text goes now, the page or a cell. None for blanks outside cells."""
        if self.table is None:
            return self.out
        if self.table.cell is None and blank:
            return None
        return self.table.cell or self.table.open_stray()

    def _put_marker(self, sink: MappedText) -> None:
        """Write the marker of an item and the blanks behind it."""
        if self.marker:
            place = self.marker.place
            sink.insert(self.marker.text, place)
            self.marker = None
            # Blanks before the item are none at its beginning, also where a cell goes on.
            self._blanks = [blanks for blanks in self._blanks if blanks[1] >= place]
        for blanks in self._blanks:
            sink.add(*blanks)
        self._blanks.clear()

    def _put_space(self, sink: MappedText) -> None:
        """Write the space owed before the next text."""
        if sink.space < 0:
            return
        if self.source[sink.space] == " ":  # an exact copy; a line end is not
            sink.add(" ", sink.space, sink.space + 1, True)
        else:
            sink.insert(" ", sink.space)

    def _begin_line(self, kind: BlockKind | None = None) -> FlowPiece:
        """Begin a line, and a piece of the text where one begins."""
        if self.out.length:
            self.out.insert("\n" * (self.gap - self.out.newlines()))
        piece = self._piece(kind)
        self.gap = 0
        if self.lists.depth and not self.pre and not self.heading:
            levels = min(self.lists.depth, _MAX_INDENT) - (1 if self.marker else 0)
            self.out.insert("  " * levels, self.marker.place if self.marker else 0)
        return piece

    def _piece(self, kind: BlockKind | None) -> FlowPiece:
        """The piece that a line belongs to, opened if it is new."""
        piece = self.heading or self.block
        # An empty line is owed before a heading, and it ends a block.
        if piece is None or self.gap > 1:
            piece = self.heading or FlowPiece(kind or self._kind())
            piece.start = self.out.length
            self.pieces.append(piece)
            self.block = None if self.heading else piece
        elif self.marker and self.marker.cut:
            piece.cuts.append(self.out.length)
        return piece

    def _kind(self) -> BlockKind:
        if self.pre:
            return "code"
        if self.lists.depth:
            return "list"
        return "quote" if self.inside["quote"] else "paragraph"

    def _end_line(self) -> None:
        self.out.fresh = True
        self._blanks.clear()
