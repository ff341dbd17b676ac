"""Sheets of cells as Markdown: regions of filled cells are tables, with their places."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

from structrag.reading.limits import spend_characters
from structrag.reading.office.placed import PlacedText
from structrag.reading.tables import SAMPLE, count_lead, is_number

_MOST_CUTS = 12  # how often a region is cut into smaller ones
_MOST_COVERED = 1_000_000  # places of merged cells in a sheet
_EMPTY_SHARE = 20  # a table may have this many times more places than cells

Place = tuple[int, int]  # (row, column), from 1


@dataclass(slots=True)
class _Region:
    """A rectangle of a sheet and the rows of its cells."""

    rows: dict[int, list[int]]  # row -> columns, both ascending
    cuts: int = 0

    @property
    def left(self) -> int:
        return min(columns[0] for columns in self.rows.values())

    @property
    def right(self) -> int:
        return max(columns[-1] for columns in self.rows.values())


@dataclass(slots=True)
class Sheet:
    """One sheet: fill `cells`, `merge`, then `write`."""

    placed: PlacedText
    title: str
    hidden: bool
    cells: dict[Place, str] = field(default_factory=dict)
    _covered: int = 0  # places of merged cells
    _last_row: int = 0
    _last_column: int = 0

    def label(self, row: int = 0, left: int = 0, right: int = 0) -> str:
        """The name of a place in it."""
        place = f" {_letters(left)}{row}" if row else ""
        if right > left:
            place += f":{_letters(right)}{row}"
        label = f"sheet {self.title}{place}{' (hidden)' * self.hidden}"
        spend_characters(len(label))
        return label

    def fill(self, place: Place, text: str) -> None:
        """Put a text into a cell; none where it is blank."""
        if text.strip():
            self.cells[place] = text
            self._last_row = max(self._last_row, place[0])
            self._last_column = max(self._last_column, place[1])

    def merge(self, start: Place, end: Place) -> None:
        """A cell over several rows has its text in each, and reaches over its columns."""
        if start not in self.cells:
            return
        rows = range(start[0], min(end[0], self._last_row) + 1)
        columns = range(start[1], min(end[1], self._last_column) + 1)
        self._covered += len(rows) * len(columns)
        if self._covered > _MOST_COVERED:
            return
        for row in rows:
            for column in columns:
                text = self.cells[start] if column == start[1] else ""
                self.cells.setdefault((row, column), text)

    def write(self) -> None:
        """Append the regions of its cells."""
        rows: dict[int, list[int]] = {}
        for row, column in sorted(self.cells):
            rows.setdefault(row, []).append(column)
        for region in _regions(rows):
            self._write(region)

    def _write(self, region: _Region) -> None:
        rows = list(region.rows)
        left, right = region.left, region.right
        lead = count_lead([self._texts(row, left, right) for row in rows[:SAMPLE]])
        for row in rows[:lead]:
            self._line(row, region)
        rows = rows[lead:]
        count = sum(len(region.rows[row]) for row in rows)
        if (
            left == right
            or count == len(rows)
            or len(rows) * (right - left + 1) > _EMPTY_SHARE * count + 1_000
        ):
            for row in rows:
                self._line(row, region)
        elif rows:
            grid = [self._texts(row, left, right) for row in rows]
            has_header = len(rows) > 1 and not all(
                map(is_number, filter(None, grid[0]))
            )
            labels = [self.label(row, left, right) for row in rows]
            self.placed.table(grid, labels, int(has_header))

    def _texts(self, row: int, left: int, right: int) -> list[str]:
        return [self.cells.get((row, column), "") for column in range(left, right + 1)]

    def _line(self, row: int, region: _Region) -> None:
        columns = region.rows[row]
        self.placed.enter(self.label(row, columns[0], columns[-1]))
        texts = filter(None, (self.cells[row, column].strip() for column in columns))
        self.placed.paragraph("; ".join(texts))


def _regions(rows: dict[int, list[int]]) -> Iterable[_Region]:
    """The cells cut along empty rows, then along empty columns, and again."""
    stack = [_Region(rows)] if rows else []
    while stack:
        region = stack.pop()
        parts = _cut_rows(region) if region.cuts % 2 == 0 else _cut_columns(region)
        if region.cuts > _MOST_CUTS or (len(parts) == 1 and region.cuts):
            yield region
            continue
        for part in reversed(parts):
            part.cuts = region.cuts + 1
            stack.append(part)


def _cut_rows(region: _Region) -> list[_Region]:
    parts = []
    for _, group in groupby(enumerate(region.rows), lambda pair: pair[1] - pair[0]):
        parts.append(_Region({row: region.rows[row] for _, row in group}))
    return parts


def _cut_columns(region: _Region) -> list[_Region]:
    columns = sorted({column for row in region.rows.values() for column in row})
    parts: list[_Region] = []
    number = {}
    for i, column in enumerate(columns):
        if not i or column > columns[i - 1] + 1:
            parts.append(_Region({}))
        number[column] = len(parts) - 1
    for row, found in region.rows.items():
        for column in found:
            parts[number[column]].rows.setdefault(row, []).append(column)
    return parts


def _letters(column: int) -> str:
    letters = ""
    while column:
        column, rest = divmod(column - 1, 26)
        letters = chr(65 + rest) + letters
    return letters


def clock(seconds: int) -> str:
    """A duration as h:mm:ss.

    Example:
        >>> clock(-131_400)
        '-36:30:00'
    """
    minutes, second = divmod(abs(seconds), 60)
    return f"{'-' * (seconds < 0)}{minutes // 60}:{minutes % 60:02}:{second:02}"


def digits(number: float) -> str:
    """A number as people write it: up to 15 digits, and all of a long whole number.

    Example:
        >>> digits(0.1 + 0.2), digits(12345678901234568.0)
        ('0.3', '12345678901234568')
    """
    is_whole = abs(number) < 1e21 and number == int(number)
    return str(int(number)) if is_whole else format(number, ".15g")
