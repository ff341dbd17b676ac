"""What PDFium says of a page's text: pieces of it with their places and type, in the order of the
file."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from structrag.reading.pdf.pages import Box

_BOLD_NAME = re.compile(r"bold|black|heavy|demi(?!-?light)|cmbx|sfbx|ecbx", re.IGNORECASE)
_BOLD_WEIGHT = 700
_FORCE_BOLD = 1 << 18  # PDF 32000-1, table 123
_HYPHENS = {
    0x02: "-",
    0xFFFE: "-",
}  # PDFium's signs for a hyphen at a line's end, behind which no white space comes
_WORD = re.compile("[^\\s\x02\ufffe]+[\x02\ufffe]?|[\x02\ufffe]")


class Turn(NamedTuple):
    """From PDF coordinates (origin at the lower left) to those of a page turned clockwise by
    quarters."""

    quarters: int
    box: Box  # left, bottom, right, top of the visible page, in PDF coordinates

    @property
    def size(self) -> tuple[float, float]:
        """Width and height of the turned page."""
        left, bottom, right, top = self.box
        sides = (right - left, top - bottom)
        return sides if self.quarters % 2 == 0 else sides[::-1]

    def point(self, x: float, y: float) -> tuple[float, float]:
        """A point on the turned page, from its upper left corner."""
        left, bottom, right, top = self.box
        return (
            (x - left, top - y),
            (y - bottom, x - left),
            (right - x, y - bottom),
            (top - y, right - x),
        )[self.quarters]

    def rectangle(self, left: float, bottom: float, right: float, top: float) -> Box:
        """A rectangle on the turned page: left, top, right, bottom."""
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


class _Style(NamedTuple):
    """What the characters of one text object share."""

    size: float
    bold: bool
    angle: float  # degrees, anticlockwise, from 0 to 360


class Piece(NamedTuple):
    """Characters of one text object without white space between them."""

    text: str
    style: _Style
    box: Box  # left, bottom, right, top in PDF coordinates
    baseline: tuple[float, float]
    drawn_by: int | None  # address of the text object; None for what PDFium added
    space: bool  # white space stands before it
    ended: bool  # a line's end that PDFium saw stands before it


def read_pieces(raw: Any, textpage: Any) -> tuple[list[Piece], int]:
    """The text of a page in the order of its file, and the quarters most of it is turned
    anticlockwise (-1 without text)."""
    text = _text_of(raw, textpage)
    pieces: list[Piece] = []
    styles: dict[int | None, _Style] = {}
    turned = [0, 0, 0, 0]
    behind = 0
    for word in _WORD.finditer(text):
        white = text[behind : word.start()]
        behind = word.end()
        for start, end, drawn_by in _drawn(raw, textpage, word.start(), word.end()):
            style = styles.get(drawn_by) or styles.setdefault(
                drawn_by, _style(raw, textpage, start)
            )
            turned[round(style.angle / 90) % 4] += end - start
            shown = text[start:end].translate(_HYPHENS)
            box, baseline = _place(raw, textpage, start, end - 1)
            first = start == word.start() and bool(white)
            pieces.append(
                Piece(shown, style, box, baseline, drawn_by, first, first and "\n" in white)
            )
    return pieces, max(range(4), key=lambda quarter: (turned[quarter], -quarter)) if any(
        turned
    ) else -1


def _text_of(raw: Any, textpage: Any) -> str:
    """The page's text, one character for each of PDFium's; U+FFFD for one without Unicode."""
    count = raw.FPDFText_CountChars(textpage)
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(textpage, 0, count, buffer)
    text = bytes(buffer)[: 2 * max(0, written - 1)].decode("utf-16-le", "surrogatepass")
    if len(text) == count and "\0" not in text:
        return text
    codes = (raw.FPDFText_GetUnicode(textpage, i) for i in range(count))
    return "".join(chr(code) if 0 < code < 0x110000 else "\ufffd" for code in codes)


def _drawn(raw: Any, textpage: Any, start: int, end: int) -> Iterator[tuple[int, int, int | None]]:
    """Start, end and text object of the parts of a word, which mostly is one."""

    def drawn_by(i: int) -> int | None:
        return ctypes.c_void_p.from_buffer(raw.FPDFText_GetTextObject(textpage, i)).value

    last = drawn_by(end - 1)
    current = drawn_by(start)
    for i in range(start + 1, end) if current != last else ():
        if drawn_by(i) != current:
            yield start, i, current
            start, current = i, drawn_by(i)
    yield start, end, current


def _place(raw: Any, textpage: Any, first: int, last: int) -> tuple[Box, tuple[float, float]]:
    """The box around characters `first` to `last`, and the baseline's point under the first."""
    a, b, x, y = raw.FS_RECTF(), raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetLooseCharBox(textpage, first, a)
    raw.FPDFText_GetLooseCharBox(textpage, last, b)
    raw.FPDFText_GetCharOrigin(textpage, first, x, y)
    box = (min(a.left, b.left), min(a.bottom, b.bottom), max(a.right, b.right), max(a.top, b.top))
    return box, (x.value, y.value)


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
    return _Style(
        max(round(size, 1), 0.1), bold, math.degrees(math.atan2(matrix.b, matrix.a)) % 360
    )


def left_out_repeats(raw: Any, page: Any, pieces: Sequence[Piece]) -> list[Piece]:
    """Rows that repeat one of the five text objects before them, which PDFium takes for its shadow.

    It leaves out a long text drawn again less than an eighth of its width away; a real shadow is no
    further than a fraction of the type's height, the next row is.
    """
    known: dict[int, list[Piece]] = {}
    for piece in pieces:
        if piece.drawn_by is not None:
            known.setdefault(piece.drawn_by, []).append(piece)
    texts = [
        item
        for item in _objects(raw, page)
        if raw.FPDFPageObj_GetType(item) == raw.FPDF_PAGEOBJ_TEXT
    ]
    addresses = [ctypes.cast(item, ctypes.c_void_p).value or 0 for item in texts]
    added: list[Piece] = []
    for i, address in enumerate(addresses):
        if address in known:
            continue
        left, bottom, right, top = _bounds(raw, texts[i])
        for j in range(i - 1, max(-1, i - 6), -1):
            box = _bounds(raw, texts[j])
            dx, dy = left - box[0], bottom - box[1]
            same = (
                abs(right - box[2] - dx) < 0.1 and abs(top - box[3] - dy) < 0.1 and right - left > 1
            )
            if same and addresses[j] in known and abs(dy) > 0.4 * (top - bottom):
                known[address] = [_moved(piece, dx, dy, address) for piece in known[addresses[j]]]
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


def _moved(piece: Piece, dx: float, dy: float, drawn_by: int) -> Piece:
    (left, bottom, right, top), (x, y) = piece.box, piece.baseline
    return piece._replace(
        box=(left + dx, bottom + dy, right + dx, top + dy),
        baseline=(x + dx, y + dy),
        drawn_by=drawn_by,
    )
