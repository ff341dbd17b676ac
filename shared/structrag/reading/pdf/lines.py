"""The lines of a PDF page: pieces of text put together."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from operator import itemgetter
from typing import Any, NamedTuple
from unicodedata import bidirectional

from structrag.reading.pdf.bidi import has_rtl, is_rtl, logical_order, with_brackets
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.pieces import TextPiece, Turn
from structrag.reading.pdf.rows import space_between

# Of the font size, by which the baselines of a row may differ, and those of raised figures.
_SAME_ROW, _MOST_RAISED = 0.45, 0.7
_SAME_BASELINE = 0.15  # the same for what a file draws apart
_ALEF_LAM = re.compile("[\u0622\u0623\u0625\u0627]\u0644")
GAP = 0.8  # of the font size: a wider gap ends a run
_WORD_GAP = 0.15  # of the font size: pieces drawn apart by more are words of their own
_UNSPACED_GAP = 0.5  # the same in scripts that set no blanks between words
# Of the font size; a piece over another by more is other text.
_MOST_OVERLAP = 0.5
_SMALL, _RAISED = (
    0.9,
    0.12,
)  # of the type's size: a raised digit is smaller, and set off by more
_FIGURES = "0123456789-\u2212+"
_SMALL_CAPITALS = (
    1.5  # times their size: the capitals beside them are smaller than that
)


class _Glyph(NamedTuple):
    """A piece on the turned page. One of a script from right to left is what one glyph shows."""

    piece: TextPiece
    number: int  # its place in the order of the file, which tells where blanks are
    left: float
    right: float
    baseline: float
    row: float  # the baseline of its row
    place: float  # where it stands in the row: its middle if it shows a mark
    size: float
    is_mark: bool


def lines_of(
    pieces: Sequence[TextPiece], turn: Turn, grids: Sequence[Grid]
) -> list[tuple[Line, list[TextPiece]]]:
    """The page's lines, unsorted: runs of text on one row, with their pieces in the order in which
    they are read. A wide gap ends a run, and a rule of a table."""
    text = "".join(piece.text for piece in pieces)
    by_glyph = has_rtl(text)
    share = 4 if is_rtl(text) else 2
    whole = _one_a_glyph(pieces) if by_glyph else pieces
    upright: list[_Glyph] = []
    turned: list[list[_Glyph]] = []
    for number, piece in enumerate(whole):
        glyph = _glyph(piece, number, turn, by_glyph)
        if abs((piece.style.angle - 90 * turn.quarters + 180) % 360 - 180) < 10:
            upright.append(glyph)
        # Turned text follows the file, as its places do not tell.
        elif (
            turned
            and not piece.ended
            and piece.style.faint == turned[-1][0].piece.style.faint
        ):
            turned[-1].append(glyph)
        else:
            turned.append([glyph])
    runs = [
        list(_as_read(run, share)) if by_glyph else run
        for row in _rows(upright, _SAME_ROW if by_glyph else _SAME_BASELINE)
        for run in _runs(row, grids)
    ]
    return [
        (_line(run, i < len(runs)), [glyph.piece for glyph in run])
        for i, run in enumerate([*runs, *turned])
    ]


def _glyph(piece: TextPiece, number: int, turn: Turn, by_glyph: bool) -> _Glyph:
    left, _, right, _ = turn.rectangle(*piece.box)
    x, y = turn.point(*piece.baseline)
    place = left
    marks = list(map(_is_mark, piece.text)) if by_glyph else [False]
    if by_glyph:
        left, place = x, (left + right) / 2 if any(marks) else x
        number *= 2  # of glyphs it does not tell
    size = piece.style.size
    return _Glyph(piece, number, left, right, y, y, place, size, marks[0])


def _line(run: Sequence[_Glyph], upright: bool) -> Line:
    baseline = max(run, key=lambda glyph: glyph.size).baseline
    parts: list[str] = []
    sizes: dict[float, int] = {}
    for i, glyph in enumerate(run):
        shown = glyph.piece.text
        if i and glyph.piece.space:
            shown = f" {shown}"
        elif i:
            shown = _mark(parts, sizes, run[i - 1], glyph, baseline) + shown
        parts.append(shown)
        sizes[glyph.size] = sizes.get(glyph.size, 0) + len(glyph.piece.text)
    text = "".join(parts)
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    size = _usual(sizes)
    # That of capitals with small capitals is that of the capitals.
    if text.isupper() and max(sizes) < _SMALL_CAPITALS * min(sizes):
        size = max(sizes)
    top = baseline - 0.8 * size
    styles = [glyph.piece.style for glyph in run]
    lead = 0
    if styles.count(styles[0]) < len(styles):
        apart = [style.bold or style.italic for style in styles]
        plain = (any(map(str.isalpha, part)) for part in parts)
        first = next(
            (i for i, is_plain in enumerate(plain) if is_plain and not apart[i]), 0
        )
        if any(apart[:first]):
            lead = len(" ".join("".join(parts[:first]).split()))

    def mostly(kind: str) -> bool:
        pairs = zip(run, styles, strict=True)
        count = sum(
            len(glyph.piece.text) for glyph, style in pairs if getattr(style, kind)
        )
        return 2 * count > sum(sizes.values())

    return Line(
        " ".join(text.split()),
        size,
        mostly("bold"),
        min(glyph.left for glyph in run),
        max(glyph.right for glyph in run),
        top,
        top + size,
        upright,
        mostly("italic"),
        styles[0].faint,
        mostly("mono"),
        min(-1 if glyph.piece.drawn_by == 0 else glyph.number for glyph in run),
        lead,
    )


def _mark(
    parts: Sequence[str],
    sizes: dict[float, int],
    last: _Glyph,
    glyph: _Glyph,
    baseline: float,
) -> str:
    """What parts a piece from those before it where no blank does: digits that are raised, or
    lowered ones behind a digit, are no part of a number."""
    if (
        len(sizes) == 1 and glyph.size in sizes
    ) or last.baseline == glyph.baseline != baseline:
        return ""
    size, is_figure = _usual(sizes), glyph.piece.text[0] in _FIGURES
    raised = (baseline - glyph.baseline) / size
    if is_figure and glyph.size < _SMALL * size and abs(raised) > _RAISED:
        if raised > 0:
            return "^"
        return "_" if parts[-1][-1].isdigit() else ""
    follows_mark = size < _SMALL * glyph.size and len(parts) == 1 and parts[0].isdigit()
    return " " if follows_mark else ""


def _usual(sizes: dict[float, int]) -> float:
    return max(sizes, key=lambda size: (sizes[size], size))


def _rows(glyphs: Sequence[_Glyph], reach: float) -> list[list[_Glyph]]:
    """Glyphs by baseline, which may differ by `reach` times the type's size."""
    level: defaultdict[float, list[_Glyph]] = defaultdict(list)
    for glyph in _levelled(glyphs):
        level[round(glyph.row, 1)].append(glyph)
    rows: list[list[_Glyph]] = []
    top = 0.0
    for height, group in sorted(level.items(), key=itemgetter(0)):
        if rows and height - top <= reach * max(glyph.size for glyph in group):
            rows[-1] += group
        else:
            rows.append(group)
            top = height
    return rows


def _levelled(glyphs: Iterable[_Glyph]) -> list[_Glyph]:
    """Glyphs, with what stands a little above or below the one drawn before or after, and beside
    it, in its row. Small ones may be raised by more."""
    level: list[_Glyph] = []
    base = last = None
    for glyph in glyphs:
        if base and last and glyph.row != last.row:
            is_mark = last.size < _SMALL * glyph.size
            if is_mark and _stands_beside(last, glyph, glyph):
                level[-1] = last._replace(row=glyph.row)
            elif glyph.size <= base.size and _stands_beside(glyph, last, base):
                glyph = glyph._replace(row=base.row)
        if not base or glyph.row != base.row or glyph.size > base.size:
            base = glyph
        last = glyph
        level.append(glyph)
    return level


def _stands_beside(glyph: _Glyph, other: _Glyph, base: _Glyph) -> bool:
    most = _MOST_RAISED if glyph.size < _SMALL * base.size else _SAME_ROW
    return (
        -_SAME_ROW <= (base.row - glyph.row) / base.size <= most
        and glyph.left - other.right < glyph.size
        and other.left - glyph.right < glyph.size
    )


def _runs(row: Iterable[_Glyph], grids: Sequence[Grid]) -> Iterator[list[_Glyph]]:
    """What stands between wide gaps and rules, from left to right; it says where blanks are."""
    run: list[_Glyph] = []
    blank = False
    for glyph in sorted(row, key=lambda glyph: glyph.place):
        piece = glyph.piece
        if piece.text.isspace():
            blank = True
            continue
        last = run[-1] if run else glyph
        if run and glyph.is_mark:
            text = last.piece.text + piece.text
            run[-1] = last._replace(piece=last.piece._replace(text=text))
            continue
        gap, larger = glyph.left - last.right, max(glyph.size, last.size)
        if (
            run
            and piece.text == last.piece.text
            and glyph.left - last.left <= 0.15 * larger
        ):
            continue  # its shadow
        if run and not (
            -_MOST_OVERLAP * larger <= gap <= GAP * min(glyph.size, last.size)
            and piece.style.faint == last.piece.style.faint
            and not (grids and _ruled(grids, last.right, glyph.left, glyph.baseline))
        ):
            yield run
            run = []
        if run and (glyph.number != last.number + 1 or piece.ended):
            apart = space_between(last.piece.text, piece.text)
            least = _WORD_GAP if apart else _UNSPACED_GAP
            space = blank or gap > least * larger
            glyph = glyph._replace(piece=piece._replace(space=space))
        run.append(glyph)
        blank = False
    if run:
        yield run


def _as_read(run: Sequence[_Glyph], share: int) -> Iterator[_Glyph]:
    """Words made of glyphs, in the order in which they are read."""
    units: list[_Glyph] = []
    for glyph in run:
        if glyph.piece.space and units:
            # What is drawn apart is of another direction: "25 kg" from right to left.
            is_apart = glyph.piece.drawn_by != units[-1].piece.drawn_by
            blank = glyph.piece._replace(text="\t" if is_apart else " ")
            units.append(glyph._replace(piece=blank))
        units.append(glyph)
    texts = [glyph.piece.text for glyph in units]
    order = logical_order(texts, is_rtl("".join(texts), share))
    text = with_brackets("".join(texts[place] for place in order))
    start = 0
    for place in order:
        end = start + len(texts[place])
        if not texts[place].isspace():
            space = text[start - 1 : start].isspace()
            piece = units[place].piece._replace(text=text[start:end], space=space)
            yield units[place]._replace(piece=piece)
        start = end


def _one_a_glyph(pieces: Iterable[TextPiece]) -> Iterator[TextPiece]:
    """The pieces, with what one glyph shows together. PDFium gives letters from right to left in
    reverse, unless it parts their box, and blanks of its own where the order of the file jumps."""
    shown: defaultdict[tuple[Any, ...], list[TextPiece]] = defaultdict(list)
    for piece in pieces:
        if piece.drawn_by is not None or not piece.text.isspace():
            shown[piece.baseline, piece.drawn_by].append(piece)
    for parts in shown.values():
        if has_rtl(parts[0].text):
            parts = sorted(parts, key=_letters_first)[::-1]
        text = "".join(piece.text for piece in parts)
        if _ALEF_LAM.match(text):  # PDFium knows the letter that is both
            text = text[1] + text[0] + text[2:]
        lefts, bottoms, rights, tops = zip(*(piece.box for piece in parts), strict=True)
        box = min(lefts), min(bottoms), max(rights), max(tops)
        yield parts[0]._replace(text=text, box=box)


def _letters_first(piece: TextPiece) -> tuple[bool, float]:
    return not _is_mark(piece.text[0]), piece.box[0]


def _is_mark(letter: str) -> bool:
    return bidirectional(letter) == "NSM"


def _ruled(grids: Sequence[Grid], left: float, right: float, y: float) -> bool:
    """Whether a table's vertical rule stands between two places of a row."""
    if right - left <= 1:
        return False
    for grid in grids:
        beside = grid.rows[0] <= y <= grid.rows[-1]
        if beside and any(left <= rule <= right for rule in grid.columns):
            return True
    return False
