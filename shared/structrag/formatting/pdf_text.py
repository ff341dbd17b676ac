"""The text of a PDF page as lines: characters with their places, joined to runs without wide gaps."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from structrag.formatting.pages import Box, Grid, Line

GAP = 0.8  # of the font size: a wider gap ends a run
_WORD_GAP = 0.15  # of the font size: pieces drawn apart by more are words of their own
_BOLD_NAME = re.compile(r"bold|black|heavy|demi(?!-?light)|cmbx|sfbx|ecbx", re.IGNORECASE)
_BOLD_WEIGHT = 700
_FORCE_BOLD = 1 << 18  # PDF 32000-1, table 123
_RTL = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]")
_HYPHENS = {0x02: "-", 0xFFFE: "-"}  # PDFium's signs for a hyphen at a line's end


class Turn(NamedTuple):
    """From PDF coordinates (origin at the lower left) to those of a page turned clockwise by quarters."""

    quarters: int
    box: Box  # left, bottom, right, top of the visible page, in PDF coordinates

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the turned page."""
        left, bottom, right, top = self.box
        sides = (right - left, top - bottom)
        return sides if self.quarters % 2 == 0 else sides[::-1]

    def point(self, x: float, y: float) -> tuple[float, float]:
        left, bottom, right, top = self.box
        return ((x - left, top - y), (y - bottom, x - left), (right - x, y - bottom), (top - y, right - x))[
            self.quarters
        ]

    def rectangle(self, left: float, bottom: float, right: float, top: float) -> Box:
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


class _Style(NamedTuple):
    """What the characters of one text object share."""

    size: float
    bold: bool
    angle: float  # degrees, anticlockwise, from 0 to 360


class _Char(NamedTuple):
    text: str  # "" for a line's end that PDFium saw
    style: _Style
    box: Box  # left, bottom, right, top in PDF coordinates
    baseline: tuple[float, float]
    drawn_by: int | None = None  # address of the text object; None for what PDFium added


@dataclass
class _Run:
    left: float
    right: float
    baseline: float
    last: tuple[float, float]  # left and right of the last character
    upright: bool = True
    text: list[str] = field(default_factory=list)
    sizes: dict[float, int] = field(default_factory=dict)
    bold: int = 0

    def add(self, text: str, style: _Style, left: float, right: float, space: bool) -> None:
        self.text.append(" " + text if space and self.text else text)
        self.left, self.right, self.last = min(self.left, left), max(self.right, right), (left, right)
        self.sizes[style.size] = self.sizes.get(style.size, 0) + 1
        self.bold += style.bold

    @property
    def size(self) -> float:
        return max(self.sizes, key=lambda size: (self.sizes[size], size))

    def line(self, text: str) -> Line:
        size, count = self.size, sum(self.sizes.values())
        top = self.baseline - 0.8 * size
        return Line(text, size, 2 * self.bold > count, self.left, self.right, top, top + size, self.upright)


def read_chars(raw: Any, textpage: Any) -> tuple[list[_Char], int]:
    """The characters of a page in the order of its file, and the quarters most of them are turned anticlockwise."""
    chars: list[_Char] = []
    styles: dict[int | None, _Style] = {}
    turned = [0, 0, 0, 0]
    rectangle, x, y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    style = _Style(1.0, False, 0.0)
    for i in range(raw.FPDFText_CountChars(textpage)):
        code = raw.FPDFText_GetUnicode(textpage, i)
        if code in (10, 13):
            chars.append(_Char("", style, (0.0,) * 4, (0.0, 0.0)))
            continue
        text = _HYPHENS.get(code) or (chr(code) if code else "\ufffd")
        key = ctypes.cast(raw.FPDFText_GetTextObject(textpage, i), ctypes.c_void_p).value
        if key is not None:
            style = styles.get(key) or styles.setdefault(key, _style(raw, textpage, i))
            turned[round(style.angle / 90) % 4] += 1
        raw.FPDFText_GetLooseCharBox(textpage, i, rectangle)
        raw.FPDFText_GetCharOrigin(textpage, i, x, y)
        box = (rectangle.left, rectangle.bottom, rectangle.right, rectangle.top)
        chars.append(_Char(text, style, box, (x.value, y.value), key))
    return chars, max(range(4), key=lambda quarter: (turned[quarter], -quarter)) if any(turned) else -1


def _style(raw: Any, textpage: Any, i: int) -> _Style:
    matrix, flags, name = raw.FS_MATRIX(), ctypes.c_int(), ctypes.create_string_buffer(256)
    raw.FPDFText_GetMatrix(textpage, i, matrix)
    raw.FPDFText_GetFontInfo(textpage, i, name, 256, flags)
    size = raw.FPDFText_GetFontSize(textpage, i) * math.hypot(matrix.c, matrix.d)
    bold = bool(
        _BOLD_NAME.search(name.value.decode("utf-8", "replace"))
        or flags.value & _FORCE_BOLD
        or raw.FPDFText_GetFontWeight(textpage, i) >= _BOLD_WEIGHT
    )
    return _Style(max(round(size, 1), 0.1), bold, math.degrees(math.atan2(matrix.b, matrix.a)) % 360)


def left_out_repeats(raw: Any, page: Any, chars: Sequence[_Char]) -> list[_Char]:
    """The characters of rows that repeat one of the five text objects before them, which PDFium takes for its shadow.

    It leaves out a long text drawn again less than an eighth of its width away; a real shadow is no further than a fraction
    of the type's height, the next row is.
    """
    known: dict[int, list[_Char]] = {}
    for char in chars:
        if char.drawn_by is not None:
            known.setdefault(char.drawn_by, []).append(char)
    texts = [item for item in _objects(raw, page) if raw.FPDFPageObj_GetType(item) == raw.FPDF_PAGEOBJ_TEXT]
    addresses = [ctypes.cast(item, ctypes.c_void_p).value or 0 for item in texts]
    added: list[_Char] = []
    for i, address in enumerate(addresses):
        if address in known:
            continue
        left, bottom, right, top = _bounds(raw, texts[i])
        for j in range(i - 1, max(-1, i - 6), -1):
            box = _bounds(raw, texts[j])
            dx, dy = left - box[0], bottom - box[1]
            same = abs(right - box[2] - dx) < 0.1 and abs(top - box[3] - dy) < 0.1 and right - left > 1
            if same and addresses[j] in known and abs(dy) > 0.4 * (top - bottom):
                known[address] = [_moved(char, dx, dy, address) for char in known[addresses[j]]]
                added += known[address]
                break
    return added


def _objects(raw: Any, page: Any) -> Iterator[Any]:
    for i in range(raw.FPDFPage_CountObjects(page)):
        yield raw.FPDFPage_GetObject(page, i)


def _bounds(raw: Any, item: Any) -> Box:
    sides = [ctypes.c_float() for _ in range(4)]
    raw.FPDFPageObj_GetBounds(item, *sides)
    left, bottom, right, top = (side.value for side in sides)
    return left, bottom, right, top


def _moved(char: _Char, dx: float, dy: float, drawn_by: int) -> _Char:
    (left, bottom, right, top), (x, y) = char.box, char.baseline
    return _Char(char.text, char.style, (left + dx, bottom + dy, right + dx, top + dy), (x + dx, y + dy), drawn_by)


def lines_of(chars: Sequence[_Char], turn: Turn, grids: Sequence[Grid]) -> list[Line]:
    """The page's lines, unsorted: runs of characters of one row, ended by a wide gap or by a rule of a table."""
    runs = list(_runs(chars, turn, grids))
    lines = [run.line(_text(run)) for run in runs if not run.upright]
    upright = sorted((run for run in runs if run.upright), key=lambda run: (run.baseline, run.left))
    return _joined([run.line(_text(run)) for run in upright], grids) + lines


def _text(run: _Run) -> str:
    text = "".join(run.text)
    if any("\ud800" <= character <= "\udfff" for character in text):
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return " ".join(text.split())


def _runs(chars: Sequence[_Char], turn: Turn, grids: Sequence[Grid]) -> Iterator[_Run]:
    run: _Run | None = None
    space = ended = False
    for char in chars:
        if not char.text.strip():
            space, ended = True, ended or not char.text
            continue
        left, _, right, _ = turn.rectangle(*char.box)
        _, baseline = turn.point(*char.baseline)
        upright = abs((char.style.angle - 90 * turn.quarters + 180) % 360 - 180) < 10
        if run is not None and not _continues(run, char.style.size, left, right, baseline, upright, ended, grids):
            yield run
            run = None
        if run is None:
            run = _Run(left, right, baseline, (left, right), upright)
        run.add(char.text, char.style, left, right, space)
        space = ended = False
    if run is not None:
        yield run


def _continues(
    run: _Run,
    size: float,
    left: float,
    right: float,
    baseline: float,
    upright: bool,
    ended: bool,
    grids: Sequence[Grid],
) -> bool:
    """Whether a character goes on with the run. Turned text follows the file, as its places do not tell."""
    if run.upright != upright:
        return False
    if not upright:
        return not ended
    size = max(size, next(iter(run.sizes)))
    gap = max(left - run.last[1], run.last[0] - right)
    return (
        abs(baseline - run.baseline) <= 0.45 * size
        and gap <= GAP * size
        and not _ruled(grids, run.last[1], left, baseline)
    )


def _ruled(grids: Sequence[Grid], left: float, right: float, y: float) -> bool:
    """Whether a vertical rule of a table stands between two places of a row."""
    return right - left > 1 and any(
        grid.rows[0] <= y <= grid.rows[-1] and any(left <= rule <= right for rule in grid.columns) for grid in grids
    )


def _joined(lines: list[Line], grids: Sequence[Grid]) -> list[Line]:
    """Join lines of one row that a file draws in pieces; `lines` are sorted by baseline, then left."""
    rows: list[list[Line]] = []
    for line in lines:
        if rows and abs(line.bottom - rows[-1][0].bottom) <= 0.15 * max(line.size, rows[-1][0].size):
            rows[-1].append(line)
        else:
            rows.append([line])
    joined: list[Line] = []
    for row in rows:
        row.sort(key=lambda line: line.left)
        joined.append(row[0])
        for line in row[1:]:
            before, size = joined[-1], max(line.size, joined[-1].size)
            if line.text == before.text and line.left - before.left <= 0.15 * size:
                continue  # its shadow
            near = -0.5 * size <= line.left - before.right <= GAP * size
            if near and not _ruled(grids, before.right, line.left, line.bottom - 0.2 * line.size):
                joined[-1] = _join(before, line, " " if line.left - before.right > _WORD_GAP * size else "")
            else:
                joined.append(line)
    return joined


def _join(left: Line, right: Line, space: str) -> Line:
    texts = (right.text, left.text) if is_rtl(left.text) and is_rtl(right.text) else (left.text, right.text)
    longer = max(left, right, key=lambda line: len(line.text))
    bold = left.bold and right.bold
    return Line(space.join(texts), longer.size, bold, left.left, right.right, longer.top, longer.bottom)


def is_rtl(text: str) -> bool:
    """Whether most letters are of a script that is written from right to left."""
    return 2 * len(_RTL.findall(text)) > sum(map(str.isalpha, text))
