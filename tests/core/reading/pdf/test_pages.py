"""Places of lines in the grid of a ruled table."""

from __future__ import annotations

from structrag.reading.pdf.pages import Grid, Line, Page


def line(left: float, width: float, top: float) -> Line:
    return Line("text", 10, False, left, left + width, top, top + 10)


def test_a_line_is_upright_unless_it_is_said() -> None:
    assert line(20, 10, 100).upright


def test_equal_lines_grids_and_pages_count_once_in_a_set() -> None:
    def all_three() -> list[Line | Grid | Page]:
        grid = Grid((10, 50), (100, 120))
        return [line(20, 10, 105), grid, Page((line(20, 10, 105),), 595, 842)]

    assert len({*all_three(), *all_three()}) == 3
