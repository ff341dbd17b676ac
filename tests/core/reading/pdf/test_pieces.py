"""Pieces of text as a PDF holds them."""

from __future__ import annotations

from typing import Any

import pytest
from pdf_making import HEIGHT, WIDTH, made, prose, texts, wrapped, write

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
