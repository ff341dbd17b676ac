"""Tables without ruled lines: rows whose cells stand in columns. They are taken for a table only
when everything fits."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import pairwise
from statistics import median
from typing import NamedTuple

from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.rows import Row

_LEAST_ROWS = 3
_CELL_GAP = 1.0  # of the font size
_COLUMN_GAP = 4.0  # points between two columns
_ALIGNED = 3.0  # points
_MOST_WORDS = 6.0  # of a typical cell
_LARGER = 1.2  # times the size above: a title, not the next row
Span = tuple[float, float]  # left and right edge
LABEL = re.compile(r"[^\w\s]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]")


class Stretch(NamedTuple):
    """Consecutive rows `[start, end)` that are a table, or may be one."""

    start: int
    end: int
    cells: list[list[str]] | None  # None: it may be a table, but not for certain


def find_tables(rows: Sequence[Row]) -> list[Stretch]:
    """Stretches of rows that are a table or look like one.

    Tables have at least three rows and two columns. It is one if at least 60 % of the rows have the
    full number of cells, every cell stands in one column, the columns are at least 4 points apart
    and aligned at the left, the right or the middle, cells are short, and no row goes on in the row
    below it.
    """
    stretches: list[Stretch] = []
    start = 0
    while start < len(rows):
        end = _end_of_cells(rows, start)
        stretch = rows[start:end]
        if len(stretch) >= _LEAST_ROWS and not _is_list(stretch):
            cells = _table(stretch)
            wrapped = end < len(rows) and _goes_on(stretch, rows[end])
            if cells or _looks_like_table(stretch):
                stretches.append(Stretch(start, end, None if wrapped else cells))
        start = max(end, start + 1)
    return stretches


def _end_of_cells(rows: Sequence[Row], start: int) -> int:
    """Where the rows with cells that begin at `start` end."""
    end = start
    while end < len(rows) and _has_cells(rows[end]):
        if end > start and not _follows(rows[end - 1], rows[end]):
            break
        end += 1
    return end


def _looks_like_table(rows: Sequence[Row]) -> bool:
    return all(len(row.cells) > 2 for row in rows) and not _is_justified(rows)


def _has_cells(row: Row) -> bool:
    gaps = [b.left - a.right for a, b in pairwise(row.cells)]
    return bool(gaps) and min(gaps) >= _CELL_GAP * row.size


def _follows(above: Row, below: Row) -> bool:
    if above.page != below.page or below.size > _LARGER * above.size:
        return False
    return 0 < below.top - above.top <= 3 * max(above.size, below.size)


def _is_list(rows: Sequence[Row]) -> bool:
    """Labels beside text: bullets, (a), 1."""
    return all(
        len(row.cells) == 2 and LABEL.fullmatch(row.cells[0].text.strip())
        for row in rows
    )


def _is_justified(rows: Sequence[Row]) -> bool:
    """Rows that all reach both edges. Their gaps are justified text's wide spaces."""
    lefts = [row.left for row in rows]
    rights = [row.right for row in rows]
    return max(lefts) - min(lefts) <= _ALIGNED and max(rights) - min(rights) <= _ALIGNED


def _table(rows: Sequence[Row]) -> list[list[str]] | None:
    """The cells' texts by row. None if this is no table for certain."""
    cells = [cell for row in rows for cell in row.cells]
    columns = columns_of([(cell.left, cell.right) for cell in cells], _COLUMN_GAP)
    ends = [right for _, right in columns]
    if _full_rows(rows, len(ends)) < 0.6 * len(rows):
        return None
    table = _placed(rows, ends)
    if table is None or not all(map(_is_aligned, zip(*table, strict=True))):
        return None
    if median(len(cell.text.split()) for cell in cells) > _MOST_WORDS:
        return None
    return [
        [" ".join(cell.text.split()) if cell else "" for cell in row] for row in table
    ]


def _full_rows(rows: Sequence[Row], columns: int) -> int:
    return sum(len(row.cells) == columns for row in rows)


def _placed(
    rows: Sequence[Row], ends: Sequence[float]
) -> list[list[Line | None]] | None:
    """The cells by row. None if two of a row stand in one column."""
    table = []
    for row in rows:
        placed: list[Line | None] = [None] * len(ends)
        for cell in row.cells:
            k = bisect_left(ends, cell.left)
            if placed[k] is not None:
                return None
            placed[k] = cell
        table.append(placed)
    return table


def columns_of(cells: Iterable[Span], gap: float) -> list[Span]:
    """The columns that cells stand in; between two of these there are `gap` points or more."""
    columns: list[Span] = []
    for left, right in sorted(cells):
        if columns and left < columns[-1][1] + gap:
            columns[-1] = (columns[-1][0], max(columns[-1][1], right))
        else:
            columns.append((left, right))
    return columns


def _is_aligned(column: Iterable[Line | None]) -> bool:
    """Whether most cells share their left edge, right edge or middle."""
    cells = [cell for cell in column if cell is not None]
    lefts = [cell.left for cell in cells]
    rights = [cell.right for cell in cells]
    middles = [(cell.left + cell.right) / 2 for cell in cells]
    return any(_is_together(places) for places in (lefts, rights, middles))


def _is_together(places: Sequence[float]) -> bool:
    usual = median(places)
    return sum(abs(place - usual) <= _ALIGNED for place in places) >= 0.8 * len(places)


def _goes_on(rows: Sequence[Row], below: Row) -> bool:
    """Whether the row below holds the second line of a cell. It begins in a later column, close
    under the last row."""
    last = rows[-1]
    if not _follows(last, below) or below.top - last.top > 1.4 * last.size:
        return False
    if len(below.cells) >= len(last.cells):
        return False
    lefts = [cell.left for cell in last.cells[1:]]
    return all(
        any(abs(cell.left - left) <= _ALIGNED for left in lefts) for cell in below.cells
    )
