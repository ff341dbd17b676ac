"""Tables without ruled lines: rows whose cells stand in columns. Taken for a table only when
everything fits."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
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
_LABEL = re.compile(r"[^\w\s]|\(?(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,5})[.)]")


class Stretch(NamedTuple):
    """Consecutive rows `[start, end)`, with the cells of each where they are a table for certain."""

    start: int
    end: int
    cells: list[list[str]] | None  # None: it may be one, but not for certain


def find_tables(rows: Sequence[Row]) -> list[Stretch]:
    """Stretches of a page's rows that are a table or look like one; tables have at least three rows
    and two columns.

    A table: at least 60 % of the rows have the full number of cells, every cell stands in one
    column, the columns are at least 4 points apart and aligned at the left, the right or the
    middle, cells are short, no row goes on in the row below it.
    """
    found: list[Stretch] = []
    start = 0
    while start < len(rows):
        end = start
        while (
            end < len(rows)
            and _has_cells(rows[end])
            and (end == start or _follows(rows[end - 1], rows[end]))
        ):
            end += 1
        if end - start >= _LEAST_ROWS and not _is_list(rows[start:end]):
            cells = _table(rows[start:end])
            wrapped = end < len(rows) and _goes_on(rows[start:end], rows[end])
            if cells and not wrapped:
                found.append(Stretch(start, end, cells))
            elif cells or (
                all(len(row.cells) > 2 for row in rows[start:end])
                and not _is_justified(rows[start:end])
            ):
                found.append(Stretch(start, end, None))
        start = max(end, start + 1)
    return found


def _has_cells(row: Row) -> bool:
    gaps = [b.left - a.right for a, b in pairwise(row.cells)]
    return bool(gaps) and min(gaps) >= _CELL_GAP * row.size


def _follows(above: Row, below: Row) -> bool:
    return above.page == below.page and 0 < below.top - above.top <= 3 * max(above.size, below.size)


def _is_list(rows: Sequence[Row]) -> bool:
    """Labels beside text: bullets, (a), 1."""
    return all(len(row.cells) == 2 and _LABEL.fullmatch(row.cells[0].text.strip()) for row in rows)


def _is_justified(rows: Sequence[Row]) -> bool:
    """Rows that all reach both edges: the gaps are the wide spaces of justified text."""
    return all(
        max(edges) - min(edges) <= _ALIGNED
        for edges in zip(*((row.left, row.right) for row in rows), strict=True)
    )


def _table(rows: Sequence[Row]) -> list[list[str]] | None:
    columns = _columns([cell for row in rows for cell in row.cells])
    counts = Counter(len(row.cells) for row in rows)
    if len(columns) < 2 or counts[len(columns)] < 0.6 * len(rows):
        return None
    table = []
    members: list[list[Line]] = [[] for _ in columns]
    for row in rows:
        texts = [""] * len(columns)
        for cell in row.cells:
            k = next(k for k, (left, right) in enumerate(columns) if left <= cell.left <= right)
            if texts[k]:
                return None
            texts[k] = " ".join(cell.text.split())
            members[k].append(cell)
        table.append(texts)
    if not all(_is_aligned(cells) for cells in members):
        return None
    return (
        table
        if median(len(cell.text.split()) for row in rows for cell in row.cells) <= _MOST_WORDS
        else None
    )


def _columns(cells: Sequence[Line]) -> list[tuple[float, float]]:
    """Where columns stand: what is left when cells that overlap sideways are put together."""
    columns: list[tuple[float, float]] = []
    for cell in sorted(cells, key=lambda cell: cell.left):
        if columns and cell.left < columns[-1][1] + _COLUMN_GAP:
            columns[-1] = (columns[-1][0], max(columns[-1][1], cell.right))
        else:
            columns.append((cell.left, cell.right))
    return columns


def _is_aligned(cells: Sequence[Line]) -> bool:
    places = zip(
        *((cell.left, cell.right, (cell.left + cell.right) / 2) for cell in cells), strict=True
    )
    return any(
        sum(abs(x - median(xs)) <= _ALIGNED for x in xs) >= 0.8 * len(xs)
        for xs in map(list, places)
    )


def _goes_on(rows: Sequence[Row], below: Row) -> bool:
    """Whether the row below holds the second line of a cell: it begins in a later column, close
    under the last row."""
    last = rows[-1]
    close = _follows(last, below) and below.top - last.top <= 1.4 * last.size
    return (
        close
        and len(below.cells) < len(last.cells)
        and all(
            any(abs(cell.left - other.left) <= _ALIGNED for other in last.cells[1:])
            for cell in below.cells
        )
    )
