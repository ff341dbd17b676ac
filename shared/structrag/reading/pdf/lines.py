"""The lines of a PDF page: pieces of text put together."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.pieces import TextPiece, Turn

GAP = 0.8  # of the font size: a wider gap ends a run
_WORD_GAP = 0.15  # of the font size: pieces drawn apart by more are words of their own
# Of the font size; a piece over another by more is its shadow, or other text.
_MOST_OVERLAP = 0.5
_SMALL, _RAISED = (
    0.9,
    0.12,
)  # of the type's size: a raised digit is smaller, and set off by more
_SMALL_CAPITALS = (
    1.5  # times their size: the capitals beside them are smaller than that
)
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")


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
    runs = list(_runs(pieces, turn, grids))
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


def _runs(
    pieces: Sequence[TextPiece], turn: Turn, grids: Sequence[Grid]
) -> Iterator[_Run]:
    run: _Run | None = None
    for number, piece in enumerate(pieces):
        left, _, right, _ = turn.rectangle(*piece.box)
        _, baseline = turn.point(*piece.baseline)
        upright = abs((piece.style.angle - 90 * turn.quarters + 180) % 360 - 180) < 10
        if run is not None and not _continues(
            run, piece, left, right, baseline, upright, grids
        ):
            yield run
            run = None
        if run is None:
            faint = piece.style.faint
            run = _Run(left, right, baseline, (left, right), upright, faint, number)
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
    size = max(sizes)
    if abs(baseline - run.baseline) > 0.45 * size:
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
            joined[-1] = _join(before, line, " " if gap > _WORD_GAP * size else "")
        else:
            joined.append(line)
    return joined


def _join(left: Line, right: Line, space: str) -> Line:
    texts = [left.text, right.text]
    if is_rtl(left.text) and is_rtl(right.text):
        texts.reverse()
    longer = max(left, right, key=lambda line: len(line.text))
    larger = max(left, right, key=lambda line: line.size)
    capitals = left.text.isupper() and right.text.isupper()
    if capitals and larger.size < _SMALL_CAPITALS * min(left.size, right.size):
        longer = larger
    return replace(
        longer,
        text=space.join(texts),
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


def is_rtl(text: str) -> bool:
    """Whether most letters are of a script written from right to left."""
    return 2 * len(_RTL.findall(text)) > sum(map(str.isalpha, text))
