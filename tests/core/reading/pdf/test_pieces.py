"""Pieces of text as a PDF holds them."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable
from typing import Any

import pytest
from pdf_making import HEIGHT, WIDTH, made, prose, texts, wrapped, write

from structrag.reading.pdf.pages import Box
from structrag.reading.pdf.pieces import (
    Piece,
    Turn,
    _drawn,
    _moved,
    _step,
    _Style,
    _style,
    _text_of,
    read_pieces,
)
from structrag.reading.pdf.reader import read_pdf

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


def test_a_line_has_its_place_size_and_weight() -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["Heading here"], 72, 742, 20, "Helvetica-Bold")
        write(canvas, ["plain text"], 72, 700, 10)

    (page,) = read_pdf(made(draw))
    assert (page.width, page.height) == pytest.approx((WIDTH, HEIGHT), abs=0.1)
    heading, plain = page.lines
    assert (heading.text, heading.size, heading.bold, heading.upright) == (
        "Heading here",
        20,
        True,
        True,
    )
    assert (plain.text, plain.size, plain.bold) == ("plain text", 10, False)
    assert heading.left == pytest.approx(72, abs=0.5)
    assert heading.bottom - 0.2 * 20 == pytest.approx(HEIGHT - 742, abs=0.5)
    assert heading.top < heading.bottom < plain.top


def test_the_size_counts_the_scale_at_which_text_is_drawn() -> None:
    def draw(canvas: Any) -> None:
        canvas.scale(2, 2)
        write(canvas, ["scaled"], 36, 300, 7)

    assert read_pdf(made(draw))[0].lines[0].size == pytest.approx(14)


def test_turned_pages_and_turned_text() -> None:
    lines = wrapped(prose(3, 40), 10, 300)

    def draw(canvas: Any) -> None:
        write(canvas, lines, 72, 700)
        canvas.saveState()
        canvas.rotate(90)
        write(canvas, ["label of an axis"], 100, -560)
        canvas.restoreState()
        canvas.showPage()
        canvas.rotate(90)
        write(canvas, lines, 100, -200)

    upright, turned = read_pdf(made(draw))
    assert texts(upright) == [*lines, "label of an axis"]
    assert [line.upright for line in upright.lines] == [True] * len(lines) + [False]
    assert texts(turned) == lines
    assert turned.width > turned.height
    assert all(line.upright and 0 < line.top < turned.height for line in turned.lines)


def test_a_page_with_its_origin_elsewhere() -> None:
    def draw(canvas: Any) -> None:
        canvas.setPageSize((300, 400))
        canvas._doc.Page = None
        write(canvas, ["inside"], 20, 380)

    (page,) = read_pdf(made(draw))
    assert (page.width, page.height) == pytest.approx((300, 400))
    assert page.lines[0].top == pytest.approx(400 - 380 - 8, abs=0.5)


@pytest.mark.parametrize(
    ("quarters", "size", "origin", "rectangle"),
    [
        (0, (100, 200), (10, 220), (5, 160, 30, 180)),
        (1, (200, 100), (10, 20), (20, 5, 40, 30)),
        (2, (100, 200), (110, 20), (70, 20, 95, 40)),
        (3, (200, 100), (110, 220), (160, 70, 180, 95)),
    ],
)
def test_places_on_a_turned_page(
    quarters: int,
    size: tuple[float, float],
    origin: tuple[float, float],
    rectangle: tuple[float, float, float, float],
) -> None:
    turn = Turn(quarters, (10, 20, 110, 220))
    assert turn.size == size
    assert turn.point(*origin) == (0, 0)
    assert turn.rectangle(15, 40, 40, 60) == rectangle


ROW = "A long row of text that stands twice on the page"


@pytest.mark.parametrize(
    ("down", "size", "expected"),
    [
        (12, 10, [ROW, ROW]),  # the next row
        (5, 10, [ROW, ROW]),  # half the type's height
        (0.6, 10, [ROW]),  # a shadow
        (12, 10.5, [ROW, ROW]),
    ],
)
def test_a_row_that_stands_twice_is_no_shadow(
    down: float, size: float, expected: list[str]
) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, [ROW], 72, 700, 10)
        write(canvas, [ROW], 72, 700 - down, size)
        write(canvas, ["another one"], 72, 600, 10)

    (page,) = read_pdf(made(draw))
    assert texts(page) == [*expected, "another one"]
    if down == 12 and size == 10:
        first, second, _ = page.lines
        assert second.top - first.top == pytest.approx(12, abs=0.2)
        assert second.left == pytest.approx(first.left, abs=0.1)


@pytest.mark.parametrize("between", [3, 4, 5])
def test_a_row_that_stands_twice_is_read_behind_some_others(between: int) -> None:
    others = [f"Row {i} of some others in between" for i in range(between)]

    def draw(canvas: Any) -> None:
        write(canvas, [ROW], 72, 700)
        write(canvas, others, 72, 500)
        write(canvas, [ROW], 72, 691)  # so near that PDFium leaves it out

    assert texts(read_pdf(made(draw))[0]) == [ROW, ROW, *others]


def test_a_row_that_stands_twice_far_behind_is_read_as_it_is() -> None:
    others = [f"Row {i} of some others in between" for i in range(8)]

    def draw(canvas: Any) -> None:
        write(canvas, [ROW, *others, ROW], 72, 700, 10)

    assert texts(read_pdf(made(draw))[0]) == [ROW, *others, ROW]


def test_words_of_several_text_objects_and_fonts() -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(72, 700, "in")
        width = canvas.stringWidth("in", "Helvetica", 10)
        canvas.setFont("Helvetica-Bold", 10)
        canvas.drawString(72 + width, 700, "side")
        write(canvas, ["all is bold here"], 72, 650, 10, "Helvetica-Bold")
        write(canvas, ["oblique"], 72, 600, 10, "Helvetica-Oblique")

    joined, bold, oblique = read_pdf(made(draw))[0].lines
    assert (joined.text, bold.text, oblique.text) == (
        "inside",
        "all is bold here",
        "oblique",
    )
    assert (bold.bold, oblique.bold) == (True, False)


def test_a_page_without_text_has_no_lines() -> None:
    def draw(canvas: Any) -> None:
        canvas.rect(72, 600, 100, 100)
        canvas.showPage()
        write(canvas, ["text"], 72, 700)

    empty, other = read_pdf(made(draw))
    assert not empty.lines and texts(other) == ["text"]
    assert (empty.width, empty.height) == pytest.approx((WIDTH, HEIGHT), abs=0.1)


def test_a_hyphen_at_a_lines_end_is_shown() -> None:
    rows = ["The water is trans-", "ported to the pump."]

    def draw(canvas: Any) -> None:
        write(canvas, rows, 72, 700, 10)

    assert texts(read_pdf(made(draw))[0]) == rows


def pieces_of(draw: Callable[[Any], None]) -> tuple[list[Piece], int]:
    import pypdfium2

    document = pypdfium2.PdfDocument(made(draw))
    page = document[0]
    text = page.get_textpage()
    return read_pieces(pypdfium2.raw, text.raw)


@pytest.mark.parametrize(
    ("angle", "quarters"), [(0, 0), (44, 0), (46, 1), (180, 2), (314, 3), (359, 0)]
)
def test_most_of_a_page_tells_its_turn(angle: float, quarters: int) -> None:
    def draw(canvas: Any) -> None:
        canvas.saveState()
        canvas.translate(300, 400)
        canvas.rotate(angle)
        write(canvas, ["most of the text of this page"], 0, 0)
        canvas.restoreState()
        write(canvas, ["a label"], 20, 20)

    pieces, turned = pieces_of(draw)
    assert turned == quarters
    assert pieces[0].style.angle == pytest.approx(angle, abs=0.1)
    assert pieces_of(lambda canvas: canvas.rect(0, 0, 9, 9)) == ([], -1)


def test_a_turned_label_at_the_end_of_the_file_does_not_turn_the_page() -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["mostofthetextisupright"], 72, 700)
        canvas.rotate(90)
        write(canvas, ["label"], 100, -560)

    pieces, turned = pieces_of(draw)
    assert [piece.text for piece in pieces] == ["mostofthetextisupright", "label"]
    assert turned == 0


def test_white_space_and_line_ends_stand_before_a_piece() -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["one two", "three"], 72, 700)

    pieces, _ = pieces_of(draw)
    assert [(piece.text, piece.space, piece.ended) for piece in pieces] == [
        ("one", False, False),
        ("two", True, False),
        ("three", True, True),
    ]
    one, two, three = pieces
    assert one.baseline == pytest.approx((72, 700), abs=0.1)
    assert one.box[0] == pytest.approx(72, abs=0.1) and one.box[2] < two.box[0]
    assert one.box[1] < 700 < one.box[3] and three.box[3] < one.box[1]


class Font:
    """PDFium's answers about characters of one font."""

    class FS_MATRIX:
        a = b = c = d = 0.0

    def __init__(
        self,
        name: str = "",
        weight: int = 400,
        flags: int = 0,
        angle: float = 0,
        size: float = 10,
    ) -> None:
        self.name, self.weight, self.flags, self.size = name, weight, flags, size
        self.turn = math.cos(math.radians(angle)), math.sin(math.radians(angle))

    def FPDFText_GetMatrix(self, page: Any, i: int, matrix: Any) -> None:
        cos, sin = self.turn
        matrix.a, matrix.b, matrix.c, matrix.d = 3 * cos, 3 * sin, -2 * sin, 2 * cos

    def FPDFText_GetFontInfo(
        self, page: Any, i: int, buffer: Any, length: int, flags: Any
    ) -> None:
        buffer.value, flags.value = self.name.encode()[: length - 1], self.flags

    def FPDFText_GetFontSize(self, page: Any, i: int) -> float:
        return self.size

    def FPDFText_GetFontWeight(self, page: Any, i: int) -> int:
        return self.weight


@pytest.mark.parametrize(
    ("font", "bold"),
    [
        (Font(), False),
        (Font(weight=699), False),
        (Font(weight=700), True),
        (Font(flags=1 << 18), True),
        (Font(flags=1 << 17 | 1 << 19), False),
        (Font("ABCDEF+Times-Bold"), True),
        (Font("NotoSans-DemiLight"), False),
        (Font("NotoSans-Demi"), True),
    ],
)
def test_type_is_bold_by_its_weight_its_flag_or_its_name(
    font: Font, bold: bool
) -> None:
    # Twice the size: the matrix scales its height.
    assert _style(font, None, 0)[:3] == (20, bold, 0)


def test_type_has_the_size_and_angle_of_its_matrix() -> None:
    assert _style(Font(angle=90), None, 0).angle == pytest.approx(90)
    assert _style(Font(angle=-90), None, 0).angle == pytest.approx(270)
    assert _style(Font(size=5.13), None, 0).size == 10.3
    assert _style(Font(size=0), None, 0).size == 0.1


class Text:
    """PDFium's answers about a page's characters."""

    def __init__(
        self, text: str, codes: list[int], objects: list[int] | None = None
    ) -> None:
        self.text, self.codes, self.objects = text, codes, objects or []

    def FPDFText_CountChars(self, page: Any) -> int:
        return len(self.codes)

    def FPDFText_GetText(self, page: Any, start: int, count: int, buffer: Any) -> int:
        units = self.text[start : start + count].encode("utf-16-le")
        ctypes.memmove(buffer, units, len(units))
        return len(units) // 2 + 1

    def FPDFText_GetUnicode(self, page: Any, i: int) -> int:
        return self.codes[i]

    def FPDFText_GetTextObject(self, page: Any, i: int) -> Any:
        return ctypes.c_void_p(self.objects[i])


@pytest.mark.parametrize(
    ("text", "codes", "expected"),
    [
        ("abc", [1, 2, 3], "abc"),  # a character each: the codes are not asked
        ("ab", [97, 0, 98], "a\ufffdb"),  # one without Unicode is left out of the text
        ("a\0b", [97, 0, 98], "a\ufffdb"),
        ("ab", [97, 1, 0x110000], "a\x01\ufffd"),
        ("ab", [97, 0x10FFFF, 98], "a\U0010ffffb"),
        ("", [], ""),
    ],
)
def test_a_page_has_a_character_for_each_of_the_files(
    text: str, codes: list[int], expected: str
) -> None:
    assert _text_of(Text(text, codes), None) == expected


class Characters(Font, Text):
    """PDFium's answers about characters of one text object, each five wide."""

    class FS_RECTF:
        left = bottom = right = top = 0.0

    def __init__(self, text: str) -> None:
        Font.__init__(self)
        Text.__init__(self, text, [*map(ord, text)], [7] * len(text))

    def FPDFText_GetLooseCharBox(self, page: Any, i: int, box: Any) -> None:
        box.left, box.bottom, box.right, box.top = 5 * i, 0, 5 * i + 5, 10

    def FPDFText_GetCharOrigin(self, page: Any, i: int, x: Any, y: Any) -> None:
        x.value, y.value = 5 * i, 2


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("one two", [("one", False, 0, 15), ("two", True, 20, 35)]),
        (" one", [("one", True, 5, 20)]),
        # PDFium's signs for a hyphen at a line's end.
        ("a\x02two", [("a-", False, 0, 10), ("two", False, 10, 25)]),
        ("a\ufffetwo", [("a-", False, 0, 10), ("two", False, 10, 25)]),
        ("\x02", [("-", False, 0, 5)]),
    ],
)
def test_pieces_are_words_with_their_hyphens(
    text: str, expected: list[tuple[str, bool, float, float]]
) -> None:
    pieces, _ = read_pieces(Characters(text), None)
    assert [
        (piece.text, piece.space, piece.box[0], piece.box[2]) for piece in pieces
    ] == expected
    assert [piece.baseline for piece in pieces] == [
        (left, 2) for *_, left, _ in expected
    ]


@pytest.mark.parametrize(
    ("objects", "expected"),
    [
        ([7], [(0, 1, 7)]),
        ([7, 7, 7], [(0, 3, 7)]),
        ([7, 8], [(0, 1, 7), (1, 2, 8)]),
        ([7, 8, 8, 9], [(0, 1, 7), (1, 3, 8), (3, 4, 9)]),
        ([7, 7, 7, 8], [(0, 3, 7), (3, 4, 8)]),
    ],
)
def test_a_word_is_parted_where_the_text_object_changes(
    objects: list[int], expected: list[tuple[int, int, int]]
) -> None:
    raw = Text("", [], objects)
    assert list(_drawn(raw, None, 0, len(objects))) == expected


class Bounds:
    """PDFium's answer about where objects stand; None has no place."""

    def FPDFPageObj_GetBounds(self, item: Any, *sides: Any) -> bool:
        for side, value in zip(sides, item or (), strict=False):
            side.value = value
        return item is not None


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ((10, 88, 110, 98), (0, -12)),  # the next row; types are 10 high
        ((40, 88, 140, 98), (30, -12)),
        ((10, 95.5, 110, 105.5), (0, -4.5)),
        ((10, 96.5, 110, 106.5), None),  # a shadow: less than 0.4 of the height away
        ((10, 96, 110, 106), None),  # 0.4 of it
        ((10, 103.5, 110, 113.5), None),
        ((10, 104.5, 110, 114.5), (0, 4.5)),
        ((10, 88, 110.2, 98), None),  # another width, another height
        ((10, 88, 110, 98.2), None),
        ((10, 88, 110.05, 98.05), (0, -12)),
        (None, None),
    ],
)
def test_a_text_repeats_another_in_another_row(
    second: Box | None, expected: tuple[float, float] | None
) -> None:
    step = _step(Bounds(), (10, 100, 110, 110), second)
    assert step == (expected and pytest.approx(expected, abs=1e-4))
    assert _step(Bounds(), None, second) is None


@pytest.mark.parametrize(("width", "repeats"), [(1, False), (1.25, True)])
def test_a_text_of_no_width_repeats_nothing(width: float, repeats: bool) -> None:
    step = _step(Bounds(), (10, 100, 10 + width, 110), (10, 88, 10 + width, 98))
    assert (step is not None) is repeats


def test_a_copy_stands_where_its_text_object_does() -> None:
    style = _Style(10, False, 0)
    first = Piece("row", style, (10, 98, 25, 108), (10, 100), 7, True, False)
    assert _moved(first, 30, -12, 8) == Piece(
        "row", style, (40, 86, 55, 96), (40, 88), 8, True, False
    )
