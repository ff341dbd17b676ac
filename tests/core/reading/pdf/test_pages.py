"""Places of lines in the grid of a ruled table."""

from __future__ import annotations

import pytest

from structrag.reading.pdf.pages import Grid, Line, Page

GRID = Grid((10, 50, 90), (100, 120, 160))  # two columns and two rows


def line(left: float, width: float, top: float) -> Line:
    return Line("text", 10, False, left, left + width, top, top + 10)


@pytest.mark.parametrize(
    ("left", "width", "column"),
    [
        # Two points behind its left edge a line must be inside.
        (8, 30, 0),
        (7.9, 30, None),
        (47.9, 30, 0),
        (48, 30, 1),
        (87.9, 30, 1),
        (88, 30, None),
        # Of a narrow line it is the middle.
        (9, 2, 0),
        (8.9, 2, None),
        (48.9, 2, 0),
        (49, 2, 1),
        (8.5, 3, 0),
    ],
)
def test_a_line_stands_in_the_column_in_which_it_begins(
    left: float, width: float, column: int | None
) -> None:
    assert GRID.cell(line(left, width, 125)) == (
        None if column is None else (1, column)
    )


@pytest.mark.parametrize(
    ("top", "row"),
    [(94.9, None), (95, 0), (114.9, 0), (115, 1), (154.9, 1), (155, None)],
)
def test_a_line_stands_in_the_row_of_its_middle(top: float, row: int | None) -> None:
    assert GRID.cell(line(60, 30, top)) == (None if row is None else (row, 1))


def test_a_grid_with_one_cell_and_one_with_three_rows() -> None:
    assert Grid((10, 50), (100, 120)).cell(line(20, 10, 105)) == (0, 0)
    assert Grid((10, 50), (100, 120, 140, 160)).cell(line(20, 10, 145)) == (2, 0)


def test_a_line_is_upright_unless_it_is_said() -> None:
    assert line(20, 10, 100).upright


def test_equal_lines_grids_and_pages_count_once_in_a_set() -> None:
    def all_three() -> list[Line | Grid | Page]:
        grid = Grid((10, 50), (100, 120))
        return [line(20, 10, 105), grid, Page((line(20, 10, 105),), 595, 842)]

    assert len({*all_three(), *all_three()}) == 3
