"""Tables without rules whose cells hold several lines."""

from __future__ import annotations

import re
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, prose, wrapped, write

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.reader import read_pdf
from structrag.reading.pdf.wrapped_tables import wrapped_tables


def table(
    canvas: Any,
    rows: list[list[str]],
    lefts: list[int],
    y: float,
    size: float = 10,
    blank: float = 0.6,
) -> float:
    """Rows of wrapped cells, drawn row by row, with a blank between as a part of the size."""
    for row in rows:
        ends = []
        for text, left, right in zip(row, lefts, [*lefts[1:], 540], strict=False):
            ends.append(
                write(canvas, wrapped(text, size, right - left - 12), left, y, size)
            )
        y = min(ends) - blank * size
    return y


@pytest.mark.parametrize("size", [8, 10, 12])
@pytest.mark.parametrize("columns", [2, 3, 4])
def test_cells_are_read_row_by_row(columns: int, size: float) -> None:
    head = ["Fault", "Cause", "Cure", "Part"][:columns]
    lefts = [60, 170, 330, 450][:columns]
    rows = [
        [prose(10 * i + j, 5 + (i + 3 * j) % 7).capitalize() for j in range(columns)]
        for i in range(5)
    ]

    def draw(canvas: Any) -> None:
        y = write(canvas, ["Faults"], 60, 780, 18, "Helvetica-Bold") - 10
        y = write(canvas, wrapped(prose(98, 40), size, 470), 60, y, size) - 14
        y = table(canvas, [head, *rows], lefts, y, size)
        write(canvas, wrapped(prose(99, 40), size, 470), 60, y - 10, size)

    text = markdown_of_pages(read_pdf(made(draw))).text
    for row in [head, *rows]:
        assert f"| {' | '.join(row)} |\n" in text
    assert prose(98, 40) in text
    assert prose(99, 40) in text


def test_columns_of_text_whose_paragraphs_happen_to_be_level_are_no_table() -> None:
    def draw(canvas: Any) -> None:
        for x, seed in ((60, 1), (310, 2)):
            y = 780.0
            for i in range(3):
                lines = wrapped(prose(seed + 10 * i, 80), 10, 225)
                y = write(canvas, lines[:12], x, y) - 6

    assert "|" not in markdown_of_pages(read_pdf(made(draw))).text


def tables(drawing: str) -> list[list[str]]:
    """The rows of the tables in a page drawn as text, cells parted by "|". Two spaces part cells;
    a star makes one bold."""
    lines = [
        Line(
            cell[0].replace("*", ""),
            10,
            "*" in cell[0],
            50.0 + 6 * cell.start(),
            50.0 + 6 * cell.end(),
            50.0 + 12 * row,
            60.0 + 12 * row,
        )
        for row, text in enumerate(drawing.strip("\n").split("\n"))
        for cell in re.finditer(r"\S+(?: \S+)*", text)
    ]
    drawn = []
    for grid in wrapped_tables(lines):
        cells: dict[tuple[int, int], str] = {}
        for line in lines:
            if place := grid.cell(line):
                cells[place] = f"{cells.get(place, '')} {line.text}".strip()
        drawn.append(
            [
                "|".join(cells.get((row, i), "") for i in range(len(grid.columns) - 1))
                for row in range(len(grid.rows) - 1)
            ]
        )
    return drawn


# A page, and the rows of the table in it.
WITH_BLANKS = (
    """
Fault    Cause of it        Cure

Noise    Air in the         Bleed the
         pump               pump slowly

Leak     Worn seal          Replace it
""",
    [
        "Fault|Cause of it|Cure",
        "Noise|Air in the pump|Bleed the pump slowly",
        "Leak|Worn seal|Replace it",
    ],
)
TWO_COLUMNS = (
    """
Fault    Cause of it

Noise    Air in the
         pump

Leak     Worn seal

Smell    Hot oil
""",
    ["Fault|Cause of it", "Noise|Air in the pump", "Leak|Worn seal", "Smell|Hot oil"],
)
WITH_EMPTY_CELLS = (
    """
Fault    Cause of it        Cure

Noise    Air in the         Bleed the
         pump               pump slowly

Leak                        Replace
                            the seal

Smell    Hot oil            Cool it
""",
    [
        "Fault|Cause of it|Cure",
        "Noise|Air in the pump|Bleed the pump slowly",
        "Leak||Replace the seal",
        "Smell|Hot oil|Cool it",
    ],
)
WITHOUT_BLANKS = (
    """
Noise    Air in the pump,
         bleed it soon
Leak     Worn seal
Smell    Hot oil, cool it
         now
""",
    [
        "Noise|Air in the pump, bleed it soon",
        "Leak|Worn seal",
        "Smell|Hot oil, cool it now",
    ],
)


@pytest.mark.parametrize(
    "page", [WITH_BLANKS, TWO_COLUMNS, WITH_EMPTY_CELLS, WITHOUT_BLANKS]
)
def test_the_rows_of_a_table(page: tuple[str, list[str]]) -> None:
    assert tables(page[0]) == [page[1]]


@examples
def test_what_is_no_table(page: str, changes: dict[str, str]) -> None:
    drawing = globals()[page][0]
    for before, after in changes.items():
        assert before in drawing
        drawing = drawing.replace(before, after)
    assert tables(drawing) == []
