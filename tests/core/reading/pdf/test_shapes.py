"""Ruled tables by the lines and areas of a page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pdf_making import HEIGHT, WIDTH, made, texts, write

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Box, Grid
from structrag.reading.pdf.pieces import Turn
from structrag.reading.pdf.reader import read_pdf
from structrag.reading.pdf.shapes import (
    Point,
    _add_rules,
    _merged,
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


GRID = ("GRID", (0, 0), (-1, -1), 0.5, (0, 0, 0))


def test_a_ruled_table_with_cells_of_several_lines() -> None:
    cells = [
        ["Name", "Use", "Size"],
        ["Valve", "lets water\nthrough", "3"],
        ["Pump", "moves it", "12\nmm"],
    ]

    def draw(canvas: Any) -> None:
        ruled(canvas, cells, [GRID], [80, 90, 60])

    pages = read_pdf(made(draw))
    (grid,) = pages[0].grids
    assert (len(grid.columns), len(grid.rows)) == (4, 4)
    assert texts(pages[0]) == [
        "Name",
        "Use",
        "Size",
        "Valve",
        "lets water",
        "through",
        "3",
        "Pump",
        "moves it",
        "12",
        "mm",
    ]
    assert markdown_of_pages(pages).text.splitlines() == [
        "| Name | Use | Size |",
        "| --- | --- | --- |",
        "| Valve | lets water through | 3 |",
        "| Pump | moves it | 12 mm |",
    ]


def test_rules_part_cells_that_stand_close() -> None:
    style = [
        GRID,
        ("LEFTPADDING", (0, 0), (-1, -1), 1),
        ("RIGHTPADDING", (0, 0), (-1, -1), 1),
    ]
    cells = [
        ["1995", "1996", "1997"],
        ["2001", "2002", "2003"],
        ["3001", "3002", "3003"],
    ]

    def draw(canvas: Any) -> None:
        ruled(canvas, cells, style, [25, 25, 25])

    assert texts(read_pdf(made(draw))[0]) == [cell for row in cells for cell in row]


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


def test_the_grid_of_a_chart_is_no_table() -> None:
    def draw(canvas: Any) -> None:
        canvas.grid([100, 150, 200, 250, 300], [400, 450, 500, 550, 600])
        write(canvas, ["peak"], 160, 470)
        write(canvas, ["Time in hours"], 160, 380)

    (page,) = read_pdf(made(draw))
    assert page.grids == ()
    assert texts(page) == ["peak", "Time in hours"]


def test_two_tables_one_above_the_other_stay_two() -> None:
    cells = [["1995", "1996"], ["2001", "2002"]]

    def draw(canvas: Any) -> None:
        ruled(canvas, cells, [GRID], [60, 60], 600)
        ruled(canvas, cells, [GRID], [60, 60], 400)

    grids = read_pdf(made(draw))[0].grids
    assert [(len(grid.columns), len(grid.rows)) for grid in grids] == [(3, 3), (3, 3)]


def shapes_of(draw: Callable[[Any], None]) -> tuple[tuple[Box, ...], tuple[Grid, ...]]:
    import pypdfium2

    document = pypdfium2.PdfDocument(made(draw))
    page = document[0]
    return read_shapes(pypdfium2.raw, page.raw, Turn(0, (0, 0, WIDTH, HEIGHT)))


def rules(*rules: tuple[float, float, float]) -> list[_Rule]:
    return [_Rule(*rule) for rule in rules]


@pytest.mark.parametrize(
    ("stroke", "across", "down"),
    [
        (((10, 50), (15, 50)), [(50, 10, 15)], []),
        (((15, 50), (10, 50)), [(50, 10, 15)], []),
        (((10, 50), (14.9, 50)), [], []),  # short
        (((10, 50), (15, 50.5)), [(50.25, 10, 15)], []),
        (((10, 50), (15, 51)), [], []),  # sloping
        (((50, 10), (50, 15)), [], [(50, 10, 15)]),
        (((50, 15), (50, 10)), [], [(50, 10, 15)]),
        (((50, 10), (50.5, 15)), [], [(50.25, 10, 15)]),
        (((50, 10), (51, 15)), [], []),
        (((50, 10), (50, 14.9)), [], []),
    ],
)
def test_long_strokes_are_rules(
    stroke: tuple[Point, Point],
    across: list[tuple[float, float, float]],
    down: list[tuple[float, float, float]],
) -> None:
    level: list[_Rule] = []
    upright: list[_Rule] = []
    _add_rules([stroke], level, upright)
    assert (level, upright) == (rules(*across), rules(*down))


@pytest.mark.parametrize(
    ("parts", "merged"),
    [
        ([(50, 0, 10), (50, 10, 20)], [(50, 0, 20)]),
        # A gap that the eye does not see.
        ([(50, 0, 10), (50, 12.5, 20)], [(50, 0, 20)]),
        ([(50, 0, 10), (50, 12.6, 20)], [(50, 0, 10), (50, 12.6, 20)]),
        ([(50, 0, 20), (50, 5, 10)], [(50, 0, 20)]),  # one within the other
        # Three of which two touch.
        ([(50, 0, 10), (50, 20, 30), (50, 31, 40)], [(50, 0, 10), (50, 20, 40)]),
        # The edges of a thin rectangle.
        ([(50, 0, 10), (52.5, 5, 20)], [(51.25, 0, 20)]),
        ([(50, 0, 10), (52.6, 5, 20)], [(50, 0, 10), (52.6, 5, 20)]),
        # From the first.
        ([(52, 5, 20), (50, 0, 10), (48, 0, 3)], [(49, 0, 10), (52, 5, 20)]),
    ],
)
def test_rules_of_one_place_that_touch_are_one(
    parts: list[tuple[float, float, float]], merged: list[tuple[float, float, float]]
) -> None:
    assert _merged(rules(*parts)) == rules(*merged)


ACROSS = rules((10, 0, 100), (40, 0, 100), (70, 0, 100))
DOWN = rules((0, 10, 70), (50, 10, 70), (100, 10, 70))


@pytest.mark.parametrize(
    ("across", "down", "expected"),
    [
        (ACROSS, DOWN, [((0, 50, 100), (10, 40, 70))]),
        (ACROSS[:2], DOWN, [((0, 50, 100), (10, 40, 70))]),  # open below
        (ACROSS, DOWN[1:2], [((0, 50, 100), (10, 40, 70))]),  # open at both sides
        (ACROSS[::2], DOWN, []),  # one row
        (ACROSS, DOWN[::2], []),  # one column
        (ACROSS, [], []),
        ([], DOWN, []),
        # The middle rule ends before the others: 2.5 points are near enough.
        (
            ACROSS,
            rules((0, 10, 70), (102.5, 10, 70), (50, 10, 70)),
            [((0, 50, 102.5), (10, 40, 70))],
        ),
        (ACROSS, rules((0, 10, 70), (50, 42.6, 70)), [((0, 50, 100), (10, 40, 70))]),
        (ACROSS, rules((0, 10, 37.4), (50, 42.6, 67)), []),
        # The same twice, side by side.
        (
            [*ACROSS, *rules((10, 200, 300), (40, 200, 300), (70, 200, 300))],
            [*DOWN, *rules((200, 10, 70), (250, 10, 70), (300, 10, 70))],
            [((0, 50, 100), (10, 40, 70)), ((200, 250, 300), (10, 40, 70))],
        ),
        # One beside the other, and begun further up.
        (
            [*ACROSS, *rules((5, 200, 300), (60, 200, 300), (70, 200, 300))],
            [*DOWN, *rules((200, 5, 70), (250, 5, 70), (300, 5, 70))],
            [((200, 250, 300), (5, 60, 70)), ((0, 50, 100), (10, 40, 70))],
        ),
    ],
)
def test_rules_that_touch_form_grids(
    across: list[_Rule], down: list[_Rule], expected: list[tuple[Any, Any]]
) -> None:
    assert find_grids(across, down) == [Grid(*places) for places in expected]


@pytest.mark.parametrize(("rows", "found"), [(397, 1), (398, 0)])
def test_a_page_of_more_than_400_rules_is_a_drawing(rows: int, found: int) -> None:
    across = [_Rule(10 + 3 * i, 0, 100) for i in range(rows)]
    down = [_Rule(x, 10, 10 + 3 * rows) for x in (0, 50, 100)]
    assert len(find_grids(across, down)) == found


@pytest.mark.parametrize(
    ("fill", "stroke", "grids"), [(1, 0, 1), (0, 1, 1), (1, 1, 1), (0, 0, 0)]
)
def test_only_what_is_drawn_is_a_rule(fill: int, stroke: int, grids: int) -> None:
    def draw(canvas: Any) -> None:
        for x in (72, 152, 232):
            canvas.rect(x, 500, 1, 60, fill=fill, stroke=stroke)
        for y in (500, 530, 560):
            canvas.rect(72, y, 160, 1, fill=fill, stroke=stroke)

    assert len(shapes_of(draw)[1]) == grids


@pytest.mark.parametrize(("strokes", "grids"), [(2_493, 1), (2_494, 0), (2_500, 0)])
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


def test_pictures_stand_on_the_turned_page_also_within_forms() -> None:
    from PIL import Image
    from reportlab.lib.utils import ImageReader

    picture = ImageReader(Image.new("L", (40, 60), 200))

    def draw(canvas: Any) -> None:
        canvas.beginForm("empty")
        canvas.rect(0, 0, 10, 10)
        canvas.endForm()
        canvas.beginForm("inner")
        canvas.drawImage(picture, 0, 0, 40, 60)
        canvas.endForm()
        canvas.beginForm("outer")
        canvas.rect(0, 0, 10, 10)
        canvas.doForm("inner")
        canvas.endForm()
        canvas.drawImage(picture, 72, 500, 40, 60)
        canvas.translate(200, 300)
        canvas.doForm("outer")
        canvas.doForm("empty")

    (first, second), grids = shapes_of(draw)
    assert first == pytest.approx((72, HEIGHT - 560, 112, HEIGHT - 500), abs=0.1)
    # The outer form's bounds: half a line's width around its picture and rectangle.
    assert second == pytest.approx((199, HEIGHT - 361, 241, HEIGHT - 299), abs=1.1)
    assert grids == ()


def test_rules_of_a_turned_drawing_stand_where_they_are_seen() -> None:
    def draw(canvas: Any) -> None:
        canvas.translate(300, 100)
        canvas.rotate(90)  # to the right becomes up, and up to the left
        canvas.grid([0, 80, 200], [0, 30, 90])

    (grid,) = shapes_of(draw)[1]
    assert grid.columns == pytest.approx((210, 270, 300), abs=0.1)
    rows = (HEIGHT - 300, HEIGHT - 180, HEIGHT - 100)
    assert grid.rows == pytest.approx(rows, abs=0.1)


@pytest.mark.parametrize(("forms", "pictures"), [(1, 1), (6, 1), (7, 0)])
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
