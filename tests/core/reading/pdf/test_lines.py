"""Pieces of text joined to lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, texts, write

from structrag.reading.pdf.lines import lines_of
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.pieces import TextPiece, Turn, _Style
from structrag.reading.pdf.reader import read_pdf

PAGE = (0, 0, 600, 800)  # left, bottom, right, top


def piece(
    text: str,
    left: float,
    down: float = 0,
    space: bool = True,
    size: float = 10,
) -> TextPiece:
    """A piece `down` below the row that stands 100 from the page's top; letters are half as wide as
    their size."""
    foot = 700 - down
    box = (left, foot - 2, left + 0.5 * size * len(text), foot + 8)
    return TextPiece(text, _Style(size, False, 0), box, (left, foot), 1, space, False)


def lines_in(pieces: list[TextPiece], *grids: Grid) -> list[Line]:
    return [line for line, _ in lines_of(pieces, Turn(0, PAGE), grids)]


@examples
def test_pieces_of_the_file_go_on_with_a_row(
    pieces: list[Any], expected: list[str]
) -> None:
    lines = lines_in([piece(*each) for each in pieces])
    assert [line.text for line in lines] == expected


@examples
def test_glyphs_are_read_by_their_places(shown: str, expected: str) -> None:
    glyphs = [piece(glyph, 60 + 5 * i, space=False) for i, glyph in enumerate(shown)]
    glyphs.reverse()  # a file may draw them in any order
    assert lines_in(glyphs)[0].text == expected


def test_letters_that_one_glyph_shows_stay_together() -> None:
    """As PDFium gives a ligature of two letters: in reverse, with one box."""
    be, alef, ta = piece("ب", 65), piece("ا", 65), piece("ت", 60)
    lines = lines_in([ta, alef, be])
    assert [line.text for line in lines] == ["بات"]


@pytest.mark.parametrize("rise", [3, 4.8, 6.5])
def test_raised_figures_belong_to_the_line_they_overlap(rise: float) -> None:
    def draw(canvas: Any) -> None:
        parts = [
            (60, 700, 10, "20 km"),
            (87.2, 700 + rise, 6, "2"),
            (90.6, 700, 10, ") in 10"),
            (118.4, 700 + rise, 6, "-3"),
            (125.8, 700, 10, "s, the 4"),
            (159.2, 700 + rise, 6, "th"),
            (60, 688, 10, "time."),
        ]
        for x, y, size, text in parts:
            write(canvas, [text], x, y, size)

    assert texts(read_pdf(made(draw))[0]) == ["20 km^2) in 10^-3 s, the 4th", "time."]


def test_columns_of_japanese_are_read_from_right_to_left() -> None:
    pytest.importorskip("reportlab")
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import CIDFont

    columns = ("水を運びます。浮きが上がると", "止まります。")

    def draw(canvas: Any) -> None:
        font = CIDFont("HeiseiMin-W3", "UniJIS-UCS2-V")
        pdfmetrics.registerFont(font)
        canvas.setFont(font.fontName, 11)
        for x, column in zip((480, 500), reversed(columns), strict=True):
            canvas.drawString(x, 780, column.encode("utf-16-be").decode("latin-1"))
        write(canvas, ["12"], 290, 30)  # the number of the page

    page = read_pdf(made(draw))[0]
    assert texts(page) == [*columns, "12"]
    assert page.width > page.height


@pytest.fixture
def dejavu() -> str:
    matplotlib = pytest.importorskip("matplotlib")
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    pdfmetrics.registerFont(
        TTFont(
            "DejaVu",
            Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf",
        )
    )
    return "DejaVu"


def test_hebrew_is_read_from_right_to_left(dejavu: str) -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont(dejavu, 12)
        canvas.drawRightString(500, 700, "שלום עולם"[::-1])  # drawn as it looks
        canvas.drawRightString(300, 700, "שמאל"[::-1])
        canvas.drawRightString(500, 680, "שורה שנייה"[::-1])

    assert texts(read_pdf(made(draw))[0]) == ["שלום עולם", "שמאל", "שורה שנייה"]


@examples
def test_pieces_of_a_row_are_joined(
    text: str, gap: float, down: float, size: float, expected: list[str]
) -> None:
    """A piece drawn later than "ab", which ends at 70; a line below is drawn between them."""
    other = piece(text, 70 + gap, down, size=size)
    lines = lines_in([piece("ab", 60), piece("x", 60, 50), other])
    assert [one.text for one in lines if one.text != "x"] == expected


@examples
def test_a_rule_parts_text_that_stands_beside_it(
    rows: tuple[float, float], expected: list[str]
) -> None:
    pieces = [piece("ab", 60), piece("cd", 75)]
    lines = lines_in(pieces, Grid((50, 72, 99), rows))
    assert [one.text for one in lines] == expected
