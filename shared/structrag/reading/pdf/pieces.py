"""Pieces of a page's text by PDFium, in the file's order."""

from __future__ import annotations

import ctypes
import math
import re
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from structrag.reading.pdf.bidi import has_rtl
from structrag.reading.pdf.hyphens import UNNAMED, named_ligatures
from structrag.reading.pdf.pages import Box

_BOLD_NAME = re.compile(
    r"bold|black|heavy|demi(?!-?light)|nimbus\w{1,12}-medi|cmbx|sfbx|ecbx",
    re.IGNORECASE,
)
_ITALIC_NAME = re.compile(r"ital|obli|slant|kursiv|cmti|cmsl|sfti|ecti", re.IGNORECASE)
_MONO_NAME = re.compile(
    r"mono|nimbusmon|courier|consol|typewriter|menlo|cmtt|ectt|sftt", re.IGNORECASE
)
_LIGHT, _SEE_THROUGH = 128, 128  # of 255: the darkest colour part, the opacity
_BOLD_WEIGHT = 700
_FIXED_PITCH, _ITALIC, _FORCE_BOLD = 1, 1 << 6, 1 << 18  # PDF 32000-1, table 123
# PDFium's signs for a hyphen at a line's end, behind which no white space comes.
_HYPHENS = {0x02: "-", 0xFFFE: "-"}
_WORD = re.compile("[^\\s\x02\ufffe]+[\x02\ufffe]?|[\x02\ufffe]")
_GLYPH = re.compile("[^\r\n]")
_UPRIGHT_SCRIPTS = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7ff]")


class Turn(NamedTuple):
    """From PDF coordinates to those of a page turned clockwise by quarters. The origin of PDF
    coordinates is at the lower left."""

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
        if self.quarters == 0:
            return x - left, top - y
        if self.quarters == 1:
            return y - bottom, x - left
        if self.quarters == 2:
            return right - x, y - bottom
        return top - y, right - x

    def rectangle(self, left: float, bottom: float, right: float, top: float) -> Box:
        """A rectangle on the turned page: left, top, right, bottom."""
        (x0, y0), (x1, y1) = self.point(left, bottom), self.point(right, top)
        return min(x0, x1), min(y0, y1), max(x0, x1), max(y0, y1)


class _Style(NamedTuple):
    """What the characters of one text object share."""

    size: float
    bold: bool
    angle: float  # degrees, anticlockwise, from 0 to 360
    italic: bool = False
    faint: bool = False  # light or see-through, as a watermark is
    mono: bool = False  # of one width


class TextPiece(NamedTuple):
    """Characters of one text object without white space between them."""

    text: str
    style: _Style
    box: Box  # left, bottom, right, top in PDF coordinates
    baseline: tuple[float, float]
    # Address of the text object; None for what PDFium added, 0 for what has no place in its order.
    drawn_by: int | None
    space: bool  # white space stands before it
    ended: bool  # a line's end that PDFium saw stands before it


def read_pieces(raw: Any, textpage: Any) -> tuple[list[TextPiece], int]:
    """The text of a page in its file's order, and its turn. The second is the quarters most of the
    text is turned anticlockwise; -1 without text."""
    text = text_of(raw, textpage)
    ligatures = named_ligatures(text) if UNNAMED.search(text) else {}
    text = UNNAMED.sub("\ufffd", text)
    pieces: list[TextPiece] = []
    styles: dict[int | None, _Style] = {}
    turned = [0, 0, 0, 0]  # characters by quarter
    place = _places(raw, textpage)
    after = 0
    for word in (_GLYPH if has_rtl(text) else _WORD).finditer(text):
        white = text[after : word.start()]
        after = word.end()
        for start, end, drawn_by in _drawn(raw, textpage, word.start(), word.end()):
            if drawn_by not in styles:
                styles[drawn_by] = _style(raw, textpage, start)
            style = styles[drawn_by]
            turned[round(style.angle / 90) % 4] += end - start
            shown = text[start:end].translate(_HYPHENS)
            if ligatures:
                shown = "".join(
                    ligatures.get(i, letter) for i, letter in enumerate(shown, start)
                )
            box, baseline = place(start, end - 1)
            space = start == word.start() and bool(white)
            ended = space and "\n" in white
            pieces.append(
                TextPiece(shown, style, box, baseline, drawn_by, space, ended)
            )
    if _UPRIGHT_SCRIPTS.search(text) and turned[0]:
        upended = _upended(pieces)
        if 2 * sum(len(piece.text) for piece in upended.values()) > sum(turned):
            return [upended.get(i, piece) for i, piece in enumerate(pieces)], 3
    return pieces, turned.index(max(turned)) if any(turned) else -1


def _upended(pieces: Sequence[TextPiece]) -> dict[int, TextPiece]:
    """The pieces that stand in columns, as if they lay in rows of a page turned anticlockwise. They
    are tall, or one stands right below another; in between nothing is blank."""
    stacked: set[int] = set()
    narrow: list[int] = []
    for i, (text, style, (left, bottom, right, top), *_) in enumerate(pieces):
        if len(text) == 1 or right - left < 1.6 * style.size:
            narrow.append(i)
        if len(text) > 1 and top - bottom > 1.6 * style.size:
            stacked.add(i)
    columns = sorted(
        narrow, key=lambda i: (round(pieces[i].baseline[0]), -pieces[i].baseline[1])
    )
    for i, j in [*pairwise(columns), *pairwise(narrow)]:
        above, below = pieces[i], pieces[j]
        size, gap = above.style.size, above.box[1] - below.box[3]
        beside = abs(above.baseline[0] - below.baseline[0])
        if beside < 0.3 * size and -0.5 * size < gap < 1.5 * size:
            stacked |= {i, j}
    return {
        i: pieces[i]._replace(
            style=pieces[i].style._replace(angle=270),
            drawn_by=0,
            space=pieces[i].space and not pieces[i].ended,
        )
        for i in stacked
    }


def text_of(raw: Any, textpage: Any) -> str:
    """The page's text, a character for each of PDFium's. U+FFFD is one without Unicode."""
    count = raw.FPDFText_CountChars(textpage)
    buffer = (ctypes.c_ushort * (count + 1))()
    written = raw.FPDFText_GetText(textpage, 0, count, buffer)
    text = bytes(buffer)[: 2 * (written - 1)].decode("utf-16-le", "surrogatepass")
    if len(text) == count and "\0" not in text:
        return text
    codes = (raw.FPDFText_GetUnicode(textpage, i) for i in range(count))
    return "".join(chr(code) if 0 < code < 0x110000 else "\ufffd" for code in codes)


def _drawn(
    raw: Any, textpage: Any, start: int, end: int
) -> Iterator[tuple[int, int, int | None]]:
    """Start, end and text object of a word's parts. Mostly it is one."""

    def drawn_by(i: int) -> int | None:
        return ctypes.c_void_p.from_buffer(
            raw.FPDFText_GetTextObject(textpage, i)
        ).value

    last = drawn_by(end - 1)
    current = drawn_by(start)
    for i in range(start + 1, end) if current != last else ():
        if drawn_by(i) != current:
            yield start, i, current
            start, current = i, drawn_by(i)
    yield start, end, current


def _places(
    raw: Any, textpage: Any
) -> Callable[[int, int], tuple[Box, tuple[float, float]]]:
    """What gives the box around characters `first` to `last`, and the first one's baseline."""
    a, b, x, y = raw.FS_RECTF(), raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    box_of = raw.FPDFText_GetLooseCharBox

    def place(first: int, last: int) -> tuple[Box, tuple[float, float]]:
        box_of(textpage, first, a)
        box_of(textpage, last, b)
        raw.FPDFText_GetCharOrigin(textpage, first, x, y)
        box = (
            min(a.left, b.left),
            min(a.bottom, b.bottom),
            max(a.right, b.right),
            max(a.top, b.top),
        )
        return box, (x.value, y.value)

    return place


def _style(raw: Any, textpage: Any, i: int) -> _Style:
    matrix, flags = raw.FS_MATRIX(), ctypes.c_int()
    buffer = ctypes.create_string_buffer(256)
    raw.FPDFText_GetMatrix(textpage, i, matrix)
    raw.FPDFText_GetFontInfo(textpage, i, buffer, 256, flags)
    size = raw.FPDFText_GetFontSize(textpage, i) * math.hypot(matrix.c, matrix.d)
    name = buffer.value.decode("utf-8", "replace")
    heavy = raw.FPDFText_GetFontWeight(textpage, i) >= _BOLD_WEIGHT
    bold, italic, mono = _kind_of_font(name, flags.value)
    angle = math.degrees(math.atan2(matrix.b, matrix.a)) % 360
    faint = _is_faint(raw, textpage, i)
    return _Style(max(round(size, 1), 0.1), heavy or bold, angle, italic, faint, mono)


@lru_cache(maxsize=256)
def _kind_of_font(name: str, flags: int) -> tuple[bool, bool, bool]:
    """Whether a font is bold, slanted, and of one width."""
    bold = flags & _FORCE_BOLD or _BOLD_NAME.search(name)
    italic = flags & _ITALIC or _ITALIC_NAME.search(name)
    mono = flags & _FIXED_PITCH or _MONO_NAME.search(name)
    return bool(bold), bool(italic), bool(mono)


def _is_faint(raw: Any, textpage: Any, i: int) -> bool:
    red, green, blue, opacity = parts = [ctypes.c_uint() for _ in range(4)]
    if not raw.FPDFText_GetFillColor(textpage, i, *parts):
        return False
    return (
        min(red.value, green.value, blue.value) >= _LIGHT
        or opacity.value < _SEE_THROUGH
    )


def left_out_repeats(
    raw: Any, page: Any, pieces: Sequence[TextPiece]
) -> list[TextPiece]:
    """Rows that PDFium takes for the shadow of a text before them.

    They repeat one of the five text objects before. PDFium leaves out a long text drawn again less
    than an eighth of its width away; a real shadow is no further than a fraction of the type's
    height, the next row is.
    """
    by_object: dict[int, list[TextPiece]] = {}
    for piece in pieces:
        if piece.drawn_by is not None:
            by_object.setdefault(piece.drawn_by, []).append(piece)
    texts = list(text_objects(raw, page))
    added: list[TextPiece] = []
    for i, (item, address) in enumerate(texts):
        if address in by_object:
            continue
        for before, source in reversed(texts[max(0, i - 5) : i]):
            step = _step(raw, before, item) if source in by_object else None
            if step:
                copies = [_moved(piece, *step, address) for piece in by_object[source]]
                by_object[address] = copies
                added += copies
                break
    return added


def text_objects(raw: Any, page: Any) -> Iterator[tuple[Any, int]]:
    """The text objects of a page with their addresses."""
    for item in objects_of(raw, page):
        if raw.FPDFPageObj_GetType(item) == raw.FPDF_PAGEOBJ_TEXT:
            yield item, ctypes.cast(item, ctypes.c_void_p).value or 0


def _step(raw: Any, first: Any, second: Any) -> tuple[float, float] | None:
    """How far the second text stands from the first, which it repeats. None if it does not repeat
    it, or not in another row."""
    a, b = bounds_of(raw, first), bounds_of(raw, second)
    if a is None or b is None:
        return None
    dx, dy = b[0] - a[0], b[1] - a[1]
    width, height = b[2] - b[0], b[3] - b[1]
    same_size = abs(b[2] - a[2] - dx) < 0.1 and abs(b[3] - a[3] - dy) < 0.1
    return (dx, dy) if same_size and width > 1 and abs(dy) > 0.4 * height else None


def objects_of(raw: Any, page: Any) -> Iterator[Any]:
    """What is drawn on a page, in the order of the file."""
    for i in range(raw.FPDFPage_CountObjects(page)):
        yield raw.FPDFPage_GetObject(page, i)


def bounds_of(raw: Any, item: Any) -> Box | None:
    """Left, bottom, right and top of an object, in PDF coordinates."""
    sides = [ctypes.c_float() for _ in range(4)]
    if not raw.FPDFPageObj_GetBounds(item, *sides):
        return None
    left, bottom, right, top = (side.value for side in sides)
    return left, bottom, right, top


def string_of(get: Callable[[Any, int], int]) -> str:
    """The text that one of PDFium's functions writes into a buffer of so many bytes."""
    length = get(None, 0)
    buffer = (ctypes.c_ushort * max(length // 2, 1))()
    get(buffer, length)
    return bytes(buffer)[: max(length - 2, 0)].decode("utf-16-le", "replace")


def _moved(piece: TextPiece, dx: float, dy: float, drawn_by: int) -> TextPiece:
    (left, bottom, right, top), (x, y) = piece.box, piece.baseline
    return piece._replace(
        box=(left + dx, bottom + dy, right + dx, top + dy),
        baseline=(x + dx, y + dy),
        drawn_by=drawn_by,
    )
