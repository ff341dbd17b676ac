"""Ruled tables by the lines and areas of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import HEIGHT, WIDTH, made, texts, write

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Box, Grid
from structrag.reading.pdf.pieces import Turn
from structrag.reading.pdf.reader import read_pdf
from structrag.reading.pdf.shapes import (
    _Rule,
    find_grids,
    read_shapes,
)

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


def ruled(
    canvas: Any,
    cells: list[list[str]],
    style: list[Any],
    widths: list[float],
    y: float = 500,
) -> None:
    from reportlab.platypus import Table

    table = Table(cells, colWidths=widths, style=style)
    table.wrapOn(canvas, 400, 400)
    table.drawOn(canvas, 72, y)


def test_a_table_of_shaded_cells_open_at_its_sides() -> None:
    style = [
        ("INNERGRID", (0, 0), (-1, -1), 0.5, (0, 0, 0)),
        ("LINEABOVE", (0, 0), (-1, 0), 1, (0, 0, 0)),
        ("LINEBELOW", (0, -1), (-1, -1), 1, (0, 0, 0)),
    ]

    def draw(canvas: Any) -> None:
        ruled(canvas, [["a", "b"], ["c", "d"]], style, [80, 80])

    assert (
        markdown_of_pages(read_pdf(made(draw))).text
        == "| a | b |\n| --- | --- |\n| c | d |\n"
    )


def shapes_of(draw: Callable[[Any], None]) -> tuple[tuple[Box, ...], tuple[Grid, ...]]:
    import pypdfium2

    document = pypdfium2.PdfDocument(made(draw))
    page = document[0]
    return read_shapes(pypdfium2.raw, page.raw, Turn(0, (0, 0, WIDTH, HEIGHT)))


def rules(*rules: tuple[float, float, float]) -> list[_Rule]:
    return [_Rule(*rule) for rule in rules]


@examples
def test_rules_that_touch_form_grids(
    across: list[Any], down: list[Any], expected: list[tuple[Any, Any]]
) -> None:
    assert find_grids(rules(*across), rules(*down)) == [
        Grid(*places) for places in expected
    ]


@examples
def test_a_page_of_5000_strokes_is_a_drawing(strokes: int, grids: int) -> None:
    """A line is two of a path's segments; the table has twelve, and is drawn first."""

    def draw(canvas: Any) -> None:
        canvas.grid([72, 152, 232], [500, 530, 560])
        write(canvas, ["text has no strokes"] * 20, 72, 450)
        path = canvas.beginPath()
        for _ in range(strokes):
            path.moveTo(300, 300)
            path.lineTo(301, 301)
        canvas.drawPath(path)

    assert len(shapes_of(draw)[1]) == grids


@examples
def test_a_picture_is_seen_within_six_forms(forms: int, pictures: int) -> None:
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    picture = ImageReader(Image.new("L", (40, 60), 200))

    def draw(canvas: Any) -> None:
        for i in range(forms):
            canvas.beginForm(f"form{i}")
            if i:
                canvas.doForm(f"form{i - 1}")
            else:
                canvas.drawImage(picture, 0, 0, 40, 60)
            canvas.endForm()
        canvas.doForm(f"form{forms - 1}")

    assert len(shapes_of(draw)[0]) == pictures


def test_the_grid_of_a_chart_is_no_table() -> None:
    def draw(canvas: Any) -> None:
        canvas.grid([100, 150, 200, 250, 300], [400, 450, 500, 550, 600])
        write(canvas, ["peak"], 160, 470)
        write(canvas, ["Time in hours"], 160, 380)

    (page,) = read_pdf(made(draw))
    assert page.grids == ()
    assert texts(page) == ["peak", "Time in hours"]


@examples
def test_only_what_is_drawn_is_a_rule(fill: int, stroke: int, grids: int) -> None:
    def draw(canvas: Any) -> None:
        for x in (72, 152, 232):
            canvas.rect(x, 500, 1, 60, fill=fill, stroke=stroke)
        for y in (500, 530, 560):
            canvas.rect(72, y, 160, 1, fill=fill, stroke=stroke)

    assert len(shapes_of(draw)[1]) == grids
