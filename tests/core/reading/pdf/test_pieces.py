"""Pieces of text as a PDF holds them."""

from __future__ import annotations

from typing import Any

import pytest
from pdf_making import HEIGHT, WIDTH, made, prose, texts, wrapped, write

from structrag.reading.pdf.pieces import Turn
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
    assert (joined.text, bold.text, oblique.text) == ("inside", "all is bold here", "oblique")
    assert (bold.bold, oblique.bold) == (True, False)


def test_a_page_without_text_has_no_lines() -> None:
    def draw(canvas: Any) -> None:
        canvas.rect(72, 600, 100, 100)
        canvas.showPage()
        write(canvas, ["text"], 72, 700)

    empty, other = read_pdf(made(draw))
    assert not empty.lines and texts(other) == ["text"]
    assert (empty.width, empty.height) == pytest.approx((WIDTH, HEIGHT), abs=0.1)
