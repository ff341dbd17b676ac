"""Tables without rules whose cells hold several lines."""

from __future__ import annotations

from typing import Any

import pytest
from pdf_making import made, prose, wrapped, write

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.reader import read_pdf

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


def table(
    canvas: Any, rows: list[list[str]], lefts: list[int], y: float, size: float = 10
) -> float:
    """Rows of wrapped cells with a blank between, drawn row by row."""
    for row in rows:
        ends = []
        for text, left, right in zip(row, lefts, [*lefts[1:], 540], strict=False):
            ends.append(
                write(canvas, wrapped(text, size, right - left - 12), left, y, size)
            )
        y = min(ends) - 0.6 * size
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
