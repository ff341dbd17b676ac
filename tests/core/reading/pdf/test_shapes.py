"""Ruled tables by the lines and areas of a page."""

from __future__ import annotations

from typing import Any

import pytest
from pdf_making import made, texts, write

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.reader import read_pdf

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


def ruled(
    canvas: Any, cells: list[list[str]], style: list[Any], widths: list[float], y: float = 500
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
    style = [GRID, ("LEFTPADDING", (0, 0), (-1, -1), 1), ("RIGHTPADDING", (0, 0), (-1, -1), 1)]
    cells = [["1995", "1996", "1997"], ["2001", "2002", "2003"], ["3001", "3002", "3003"]]

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

    assert markdown_of_pages(read_pdf(made(draw))).text == "| a | b |\n| --- | --- |\n| c | d |\n"


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
