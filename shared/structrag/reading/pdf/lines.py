"""The lines of a PDF page: pieces of text put together."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from typing import Any, NamedTuple
from unicodedata import bidirectional

from structrag.reading.pdf.bidi import has_rtl, is_rtl, logical_order, with_brackets
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.pieces import TextPiece, Turn
from structrag.reading.pdf.rows import space_between

# Of the font size, by which the baselines of a row may differ, and those of raised figures.
_SAME_ROW, _MOST_RAISED = 0.45, 0.7
_ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
GAP = 0.8  # of the font size: a wider gap ends a run
_WORD_GAP = 0.15  # of the font size: pieces drawn apart by more are words of their own
_UNSPACED_GAP = 0.5  # the same in scripts that set no blanks between words
# Of the font size; a piece over another by more is its shadow, or other text.
_MOST_OVERLAP = 0.5
_SMALL, _RAISED = (
    0.9,
    0.12,
)  # of the type's size: a raised digit is smaller, and set off by more
_SMALL_CAPITALS = (
    1.5  # times their size: the capitals beside them are smaller than that
)


@dataclass
class _Run:
    left: float
    right: float
    baseline: float
    last: tuple[float, float]  # left and right of the last piece
    upright: bool
    faint: bool
    drawn: int  # place in the order of the file
    text: list[str] = field(default_factory=list)
    # Characters by size of the type.
    sizes: dict[float, int] = field(default_factory=dict)
    lead: int | None = (
        None  # characters before the first in upright type of usual weight
    )
    bold: int = 0  # characters
    italic: int = 0
    mono: int = 0

    def add(self, piece: TextPiece, left: float, right: float, baseline: float) -> None:
        stands_out = piece.style.bold or piece.style.italic
        if self.lead is None and not stands_out and any(map(str.isalpha, piece.text)):
            before = len(" ".join("".join(self.text).split()))
            self.lead = before if self.bold or self.italic else 0
        if piece.ended and abs(left - self.last[1]) <= _WORD_GAP * piece.style.size:
            piece = piece._replace(space=False)  # behind a raised figure nothing ends
        self.text.append(self._apart(piece, self.baseline - baseline))
        self.left = min(self.left, left)
        self.right = max(self.right, right)
        self.last = (left, right)
        size, count = piece.style.size, len(piece.text)
        self.sizes[size] = self.sizes.get(size, 0) + count
        if piece.style.bold:
            self.bold += count
        if piece.style.italic:
            self.italic += count
        if piece.style.mono:
            self.mono += count

    def _apart(self, piece: TextPiece, raised: float) -> str:
        """A piece as it joins the text: digits that are raised, or lowered ones behind a digit,
        are no part of a number."""
        before = "".join(self.text)
        if not before or piece.space:
            return f" {piece.text}" if before else piece.text
        size, digits = self.size, piece.text.lstrip("-−+")[:1].isdigit()
        small = piece.style.size < _SMALL * size
        if digits and small and raised > _RAISED * size:
            return f"^{piece.text}"
        if digits and small and -raised > _RAISED * size and before[-1].isdigit():
            return f"_{piece.text}"
        follows_mark = (
            size < _SMALL * piece.style.size and -raised > _RAISED * piece.style.size
        )
        return f" {piece.text}" if follows_mark and before.isdigit() else piece.text

    @property
    def size(self) -> float:
        """That of most characters; of capitals with small capitals that of the capitals."""
        largest = max(self.sizes)
        if "".join(self.text).isupper() and largest < _SMALL_CAPITALS * min(self.sizes):
            return largest
        return max(self.sizes, key=lambda size: (self.sizes[size], size))

    def line(self, text: str) -> Line:
        size = self.size
        half = sum(self.sizes.values()) / 2
        top = self.baseline - 0.8 * size
        return Line(
            text,
            size,
            self.bold > half,
            self.left,
            self.right,
            top,
            top + size,
            self.upright,
            self.italic > half,
            self.faint,
            self.mono > half,
            self.drawn,
            self.lead or 0,
        )


def lines_of(
    pieces: Sequence[TextPiece], turn: Turn, grids: Sequence[Grid]
) -> list[Line]:
    """The page's lines, unsorted: runs of text on one row. A wide gap ends a run, and a rule of a
    table."""
    by_glyph = has_rtl("".join(piece.text for piece in pieces))
    if by_glyph:
        pieces = list(_as_read(pieces, turn, grids))
    runs = list(_runs(pieces, turn, grids, by_glyph))
    upright = sorted(
        (run for run in runs if run.upright), key=lambda run: (run.baseline, run.left)
    )
    turned = [run.line(_text(run)) for run in runs if not run.upright]
    return _joined([run.line(_text(run)) for run in upright], grids) + turned


def _text(run: _Run) -> str:
    text = "".join(run.text)
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join(text.split())


def _as_read(
    pieces: Sequence[TextPiece], turn: Turn, grids: Sequence[Grid]
) -> Iterator[TextPiece]:
    """Words made of glyphs, in the order in which they are read. The first of a run is `ended`."""
    share = 4 if is_rtl("".join(piece.text for piece in pieces)) else 2
    whole = _one_a_glyph(pieces)
    glyphs = [_Glyph.of(piece, turn) for piece in whole if _is_upright(piece, turn)]
    for row in _glyph_rows(glyphs):
        for run in _glyph_runs(row, grids):
            yield from _words(run, share)
    yield from (piece for piece in pieces if not _is_upright(piece, turn))


def _one_a_glyph(pieces: Iterable[TextPiece]) -> Iterator[TextPiece]:
    """The pieces, with what one glyph shows together. PDFium gives those from right to left
    in reverse, unless it parts their box."""
    shown: defaultdict[tuple[Any, ...], list[TextPiece]] = defaultdict(list)
    for piece in pieces:
        shown[piece.baseline, piece.drawn_by].append(piece)
    for parts in shown.values():
        if has_rtl(parts[0].text):
            parts = sorted(parts, key=_letters_first)[::-1]
        text = "".join(piece.text for piece in parts)
        if _ALEF_LAM.match(text):  # PDFium knows the letter that is both
            text = text[1] + text[0] + text[2:]
        yield _as_one(parts, text)


def _letters_first(piece: TextPiece) -> tuple[bool, float]:
    return not _is_mark(piece.text[0]), piece.box[0]


def _is_mark(letter: str) -> bool:
    return bidirectional(letter) == "NSM"


def _glyph_rows(glyphs: Iterable[_Glyph]) -> list[list[_Glyph]]:
    """Glyphs by baseline. Marks and raised figures join the nearest row of larger ones."""
    heights: list[float] = []
    rows: list[list[_Glyph]] = []
    for glyph in sorted(glyphs, key=lambda glyph: (glyph.is_mark, -glyph.size)):
        i = bisect_left(heights, glyph.y)
        near = range(max(0, i - 1), min(i + 1, len(rows)))
        nearest = min(near, key=lambda k: abs(heights[k] - glyph.y), default=0)
        if near and abs(heights[nearest] - glyph.y) <= glyph.reach(rows[nearest][0]):
            rows[nearest].append(glyph)
        else:
            heights.insert(i, glyph.y)
            rows.insert(i, [glyph])
    return rows


def _is_upright(piece: TextPiece, turn: Turn) -> bool:
    return abs((piece.style.angle - 90 * turn.quarters + 180) % 360 - 180) < 10


class _Glyph(NamedTuple):
    """A glyph on the turned page."""

    place: float  # from the left; its middle if it shows a mark
    x: float
    y: float
    right: float
    is_mark: bool
    piece: TextPiece

    @property
    def size(self) -> float:
        return self.piece.style.size

    def reach(self, other: _Glyph) -> float:
        """How far from its baseline that of a row may be which a larger glyph began."""
        is_raised = self.size < _SMALL * other.size and self.piece.text.isdigit()
        share = _MOST_RAISED if self.is_mark or is_raised else _SAME_ROW
        return share * other.size

    @classmethod
    def of(cls, piece: TextPiece, turn: Turn) -> _Glyph:
        x, y = turn.point(*piece.baseline)
        left, _, right, _ = turn.rectangle(*piece.box)
        marks = list(map(_is_mark, piece.text))
        place = (left + right) / 2 if any(marks) else x
        return cls(place, x, y, right, marks[0], piece)


def _glyph_runs(
    row: Iterable[_Glyph], grids: Sequence[Grid]
) -> Iterator[list[TextPiece]]:
    """What stands between wide gaps and rules, from left to right. A blank parts words."""
    run: list[TextPiece] = []
    edge, blank = 0.0, False
    for glyph in sorted(row, key=lambda glyph: glyph.place):
        _, x, y, right, is_mark, piece = glyph
        if piece.text.isspace():
            # PDFium adds blanks of its own at places that follow the order of the file.
            blank = blank or piece.drawn_by is not None
            continue
        gap, size = x - edge, piece.style.size
        if run and (gap > GAP * size or _ruled(grids, edge, x, y)):
            yield run
            run = []
        if run and is_mark:
            run[-1] = run[-1]._replace(text=run[-1].text + piece.text)
            continue
        if run and (blank or gap > _WORD_GAP * size):
            # What is drawn apart is of another direction: "25 kg" from right to left.
            is_apart = piece.drawn_by != run[-1].drawn_by
            run.append(piece._replace(text="\t" if is_apart else " "))
        run.append(piece)
        edge, blank = max(edge, right) if run[1:] else right, False
    if run:
        yield run


def _as_one(pieces: Sequence[TextPiece], text: str, **changes: bool) -> TextPiece:
    lefts, bottoms, rights, tops = zip(*(piece.box for piece in pieces), strict=True)
    box = min(lefts), min(bottoms), max(rights), max(tops)
    return pieces[0]._replace(text=text, box=box, **changes)


def _words(run: Sequence[TextPiece], share: int) -> Iterator[TextPiece]:
    units = [piece.text for piece in run]
    order = logical_order(units, is_rtl("".join(units), share))
    text = with_brackets("".join(units[place] for place in order))
    start, ended = 0, True
    for key, group in groupby(order, lambda place: _look(run[place])):
        word = [run[place] for place in group]
        end = start + sum(len(piece.text) for piece in word)
        if key:
            space = text[start - 1 : start].isspace()
            yield _as_one(word, text[start:end], space=space, ended=ended)
            ended = False
        start = end


def _look(piece: TextPiece) -> tuple[Any, ...]:
    """What the glyphs of a word share; nothing for a blank."""
    return () if piece.text.isspace() else (piece.style, piece.baseline[1])


def _runs(
    pieces: Sequence[TextPiece], turn: Turn, grids: Sequence[Grid], by_glyph: bool
) -> Iterator[_Run]:
    run: _Run | None = None
    for number, piece in enumerate(pieces):
        left, _, right, _ = turn.rectangle(*piece.box)
        _, baseline = turn.point(*piece.baseline)
        upright = _is_upright(piece, turn)
        if run is not None and not (
            not piece.ended
            if by_glyph and upright and run.upright
            else _continues(run, piece, left, right, baseline, upright, grids)
        ):
            yield run
            run = None
        if run is None:
            faint = piece.style.faint
            drawn = -1 if piece.drawn_by == 0 else number
            run = _Run(left, right, baseline, (left, right), upright, faint, drawn)
        run.add(piece, left, right, baseline)
    if run is not None:
        yield run


def _continues(
    run: _Run,
    piece: TextPiece,
    left: float,
    right: float,
    baseline: float,
    upright: bool,
    grids: Sequence[Grid],
) -> bool:
    """Whether a piece goes on with the run. Turned text follows the file, as its places do not
    tell."""
    if run.upright != upright or run.faint != piece.style.faint:
        return False
    if not upright:
        return not piece.ended
    sizes = piece.style.size, next(iter(run.sizes))
    size, raised = max(sizes), run.baseline - baseline
    if abs(raised) > _SAME_ROW * size and not (
        0 < raised < _MOST_RAISED * size and piece.style.size < _SMALL * run.size
    ):
        return False
    last_left, last_right = run.last
    gap = max(left - last_right, last_left - right)
    near = -_MOST_OVERLAP * size <= gap <= GAP * min(sizes)
    return near and not _ruled(grids, last_right, left, baseline)


def _ruled(grids: Sequence[Grid], left: float, right: float, y: float) -> bool:
    """Whether a table's vertical rule stands between two places of a row."""
    if right - left <= 1:
        return False
    for grid in grids:
        beside = grid.rows[0] <= y <= grid.rows[-1]
        if beside and any(left <= rule <= right for rule in grid.columns):
            return True
    return False


def _joined(lines: list[Line], grids: Sequence[Grid]) -> list[Line]:
    """Lines of one row that a file draws in pieces, joined. `lines` are sorted by baseline, then
    left."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and _same_baseline(rows[-1][0], line):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [line for row in rows for line in _joined_row(row, grids)]


def _same_baseline(a: Line, b: Line) -> bool:
    return abs(a.bottom - b.bottom) <= 0.15 * max(a.size, b.size)


def _joined_row(row: list[Line], grids: Sequence[Grid]) -> list[Line]:
    first, *others = sorted(row, key=lambda line: line.left)
    joined = [first]
    for line in others:
        before = joined[-1]
        size, smaller = max(line.size, before.size), min(line.size, before.size)
        gap = line.left - before.right
        if line.text == before.text and line.left - before.left <= 0.15 * size:
            continue  # its shadow
        near = -0.5 * size <= gap <= GAP * smaller and line.faint == before.faint
        if near and not _ruled(
            grids, before.right, line.left, line.bottom - 0.2 * line.size
        ):
            parts_words = space_between(before.text, line.text)
            least = (_WORD_GAP if parts_words else _UNSPACED_GAP) * size
            joined[-1] = _join(before, line, " " if gap > least else "")
        else:
            joined.append(line)
    return joined


def _join(left: Line, right: Line, space: str) -> Line:
    longer = max(left, right, key=lambda line: len(line.text))
    larger = max(left, right, key=lambda line: line.size)
    capitals = left.text.isupper() and right.text.isupper()
    if capitals and larger.size < _SMALL_CAPITALS * min(left.size, right.size):
        longer = larger
    return replace(
        longer,
        text=f"{left.text}{space}{right.text}",
        bold=left.bold and right.bold,
        italic=left.italic and right.italic,
        mono=left.mono and right.mono,
        drawn=min(left.drawn, right.drawn),
        lead=left.lead
        or (len(left.text) if _stands_out(left) and not _stands_out(right) else 0),
        left=left.left,
        right=right.right,
    )


def _stands_out(line: Line) -> bool:
    return (line.bold or line.italic) and not line.lead
