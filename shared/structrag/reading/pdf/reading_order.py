"""The order in which the lines of a page are read: columns, rows, and the cells of ruled tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from statistics import median

from structrag.reading.pdf.lines import is_rtl
from structrag.reading.pdf.pages import Grid, Line

_LEAST_LINES = 4  # on each side of a gutter
_LEAST_WORDS = 3  # of a column's typical line; the cells of a table are shorter
_FILLED = 0.65  # of the column's width, by its typical line
_MOST_ACROSS = 0.35  # of the lines may cross a gutter (titles, wide tables)
_OVER_THE_EDGE = 0.03  # of the lines may run over a gutter's edge
_GUTTER = 6.0  # points


def reading_order(lines: Sequence[Line], grids: Sequence[Grid]) -> tuple[list[Line], list[Grid]]:
    """The lines in reading order, and the grids that hold a table's text.

    A vertical gutter separates columns when at least four lines stand on each side, when these
    mostly fill their column and hold three words or more. Lines that cross the gutter divide the
    page: what is above them is read first. The lines of a row (same baseline) go left to right, or
    right to left where most letters of the page are of such a script. Turned lines come last, as
    they came.
    """
    upright = [line for line in lines if line.upright]
    tables = [grid for grid in grids if _holds_table(grid, upright)]
    inside = [next((k for k, grid in enumerate(tables) if grid.cell(line)), -1) for line in upright]
    right_to_left = is_rtl("".join(line.text for line in upright))
    items = [line for line, table in zip(upright, inside, strict=True) if table < 0]
    stand_ins: dict[Line, list[Line]] = {}
    for k, grid in enumerate(tables):
        cells = [line for line, table in zip(upright, inside, strict=True) if table == k]
        cells.sort(key=lambda line: (grid.cell(line) or (0, 0), line.top, line.left))
        place = Line(
            f"table {k}", 0.0, False, grid.columns[0], grid.columns[-1], grid.rows[0], grid.rows[-1]
        )
        stand_ins[place] = cells
        items.append(place)
    if right_to_left:
        items = [_mirrored(line) for line in items]
        stand_ins = {_mirrored(place): cells for place, cells in stand_ins.items()}
    ordered: list[Line] = []
    for line in _ordered(items, 0):
        ordered += stand_ins.get(line) or [_mirrored(line) if right_to_left else line]
    return ordered + [line for line in lines if not line.upright], tables


def _mirrored(line: Line) -> Line:
    return replace(line, left=-line.right, right=-line.left)


def _holds_table(grid: Grid, lines: Sequence[Line]) -> bool:
    """At least half of the cells have text, in two rows and two columns or more; a chart's grid has
    none."""
    cells = {cell for line in lines if (cell := grid.cell(line))}
    rows, columns = {row for row, _ in cells}, {column for _, column in cells}
    return (
        len(rows) > 1
        and len(columns) > 1
        and 2 * len(cells) >= (len(grid.rows) - 1) * (len(grid.columns) - 1)
    )


def _ordered(lines: list[Line], depth: int) -> list[Line]:
    gutter = _gutter(lines) if depth < 4 else None
    if gutter is None:
        return in_rows(lines)
    across = sorted(
        (line for line in lines if _divides(line, lines, gutter)), key=lambda line: line.top
    )
    ordered: list[Line] = []
    rest = [line for line in lines if line not in across]
    for border in [*across, None]:
        above = [line for line in rest if border is None or _middle(line) < _middle(border)]
        rest = [line for line in rest if border is not None and _middle(line) >= _middle(border)]
        for right in (False, True):
            ordered += _ordered(
                [line for line in above if (_centre(line) >= gutter) == right], depth + 1
            )
        if border is not None:
            ordered.append(border)
    return ordered


def _divides(line: Line, lines: Sequence[Line], gutter: float) -> bool:
    """Whether a line stands across the gutter, with nothing beside it; else it only runs over the
    edge of its column."""
    if not line.left < gutter < line.right:
        return False
    beside = (
        other.right <= gutter if _centre(line) >= gutter else other.left >= gutter
        for other in lines
        if other is not line
        and min(other.bottom, line.bottom) - max(other.top, line.top) > 0.5 * other.size
    )
    return not any(beside)


def _centre(line: Line) -> float:
    return (line.left + line.right) / 2


def _middle(line: Line) -> float:
    return (line.top + line.bottom) / 2


def in_rows(lines: Sequence[Line]) -> list[Line]:
    """Top to bottom, and left to right where lines stand on one row."""
    return [line for row in _rows(lines) for line in row]


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: (_middle(line), line.left)):
        if rows and _middle(line) - _middle(rows[-1][0]) <= 0.35 * max(
            1.0, min(line.size, rows[-1][0].size)
        ):
            rows[-1].append(line)
        else:
            rows.append([line])
    return [sorted(row, key=lambda line: line.left) for row in rows]


def _gutter(lines: Sequence[Line]) -> float | None:
    """The middle of the widest gap that fewest lines cross, if what is on both sides reads like
    columns."""
    if len(lines) < 2 * _LEAST_LINES:
        return None
    left, right = min(line.left for line in lines), max(line.right for line in lines)
    steps = max(1, int(right - left) + 1)
    change = [0] * (steps + 2)
    for line in lines:
        change[int(line.left - left)] += 1
        change[int(line.right - left) + 1] -= 1
    cover, total = [], 0
    for step in range(steps):
        total += change[step]
        cover.append(total)
    inner = range(int(0.15 * steps), int(0.85 * steps))
    fewest = min((cover[step] for step in inner), default=len(lines))
    if fewest > _MOST_ACROSS * len(lines):
        return None
    few = fewest + _OVER_THE_EDGE * len(lines)
    gaps = _stretches([step for step in inner if cover[step] <= few])
    for first, last in sorted(gaps, key=lambda gap: (gap[0] - gap[1], gap[0])):
        middle = left + (first + last + 1) / 2
        sides = (
            [line for line in lines if line.right <= middle],
            [line for line in lines if line.left >= middle],
        )
        wide = last - first + 1 >= _GUTTER - 1
        if (
            wide
            and all(_reads_like_column(side) for side in sides)
            and _divides_seldom(lines, middle)
        ):
            return middle
    return None


def _divides_seldom(lines: Sequence[Line], gutter: float) -> bool:
    """Between lines across the gutter there are four rows or more; wide spaces of justified rows
    meet by chance in fewer."""
    across = [any(_divides(line, row, gutter) for line in row) for row in _rows(lines)]
    parts = sum(not here and (i == 0 or across[i - 1]) for i, here in enumerate(across))
    return across.count(False) >= _LEAST_LINES * parts


def _stretches(steps: Sequence[int]) -> list[tuple[int, int]]:
    stretches: list[tuple[int, int]] = []
    for step in steps:
        if stretches and stretches[-1][1] == step - 1:
            stretches[-1] = (stretches[-1][0], step)
        else:
            stretches.append((step, step))
    return stretches


def _reads_like_column(lines: Sequence[Line]) -> bool:
    """Rows of text that fill the width; wide spaces in justified rows part lines, so rows are
    looked at, not lines."""
    rows = _rows(lines)
    if len(rows) < _LEAST_LINES:
        return False
    width = max(line.right for line in lines) - min(line.left for line in lines)
    inked = median(sum(line.right - line.left for line in row) for row in rows)
    return (
        inked >= _FILLED * width
        and median(sum(_words(line.text) for line in row) for row in rows) >= _LEAST_WORDS
    )


def _words(text: str) -> float:
    """Words; in scripts without spaces two characters count as one."""
    return max(len(text.split()), sum(character >= "\u0e00" for character in text) / 2)
