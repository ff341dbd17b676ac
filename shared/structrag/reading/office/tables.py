"""Tables of office files as Markdown's pipe tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from structrag.reading.limits import check_characters, spend_characters

MOST_COLUMNS = 1_000  # spans and repeated cells beyond are not followed

AROUND_CELL = 3  # characters
_Covered = dict[int, tuple[str, int]]  # column -> text, rows to come
_SPACE = re.compile(r"[^\S\f]+")  # form feeds are marks of pages


@dataclass(slots=True)
class Cell:
    """A cell that may span columns and rows."""

    text: str = ""
    columns: int = 1
    rows: int = 1

    def grow(self, text: str) -> None:
        """Reach into one more row, with the text that the row has for it."""
        self.rows += 1
        if text:
            self.text = f"{self.text} {text}".strip()
            check_characters(
                self.rows * len(self.text)
            )  # each of its rows will have it


def spread(rows: Sequence[Sequence[Cell]]) -> list[list[str]]:
    """Rows of cells as a grid.

    A cell that spans rows has its text in each, so that a row can be read alone. A cell that spans
    columns has it in the first; the others are empty.

    Example:
        >>> spread([[Cell("Pump", rows=2), Cell("a")], [Cell("b")]])
        [['Pump', 'a'], ['Pump', 'b']]
    """
    grid = []
    above: _Covered = {}
    for row in rows:
        line: list[str] = []
        below: _Covered = {}
        for cell in row:
            _fill(line, above, below)
            width = max(1, min(cell.columns, MOST_COLUMNS - len(line)))
            for text in (cell.text, *[""] * (width - 1)):
                if cell.rows > 1:
                    below[len(line)] = text, cell.rows - 1
                line.append(text)
        _fill(line, above, below)
        spend_characters(AROUND_CELL * len(line) + _length(line))
        grid.append(line)
        above = below
    return grid


def _fill(line: list[str], above: _Covered, below: _Covered) -> None:
    """Append what cells of the rows above have in the next columns."""
    while (column := len(line)) in above:
        text, left = above[column]
        line.append(text)
        if left > 1:
            below[column] = text, left - 1


def check_table(rows: Sequence[Sequence[str]]) -> None:
    """Refuse a table before its text multiplies, or short rows are filled up to a long one."""
    places = len(rows) * max(map(len, rows), default=0)
    check_characters(AROUND_CELL * places + sum(map(_length, rows)))


def _length(row: Sequence[str]) -> int:
    return sum(map(len, row))


def pipe_table(rows: list[list[str]], header_rows: int = 1) -> str:
    """Rows as a pipe table without a line end; "" where no cell has text.

    The header is one line: texts of several header rows are joined by " / ", and with none it is
    empty. Empty rows and columns are left out; line ends in cells become spaces.

    Example:
        >>> print(pipe_table([["Year", "2024"], ["Sales", "5|6"]]))
        | Year | 2024 |
        | --- | --- |
        | Sales | 5\\|6 |
    """
    check_table(rows)
    cleaned = [
        [_SPACE.sub(" ", cell).strip(" ").replace("|", "\\|") for cell in row]
        for row in rows
    ]
    head = [row for row in cleaned[:header_rows] if any(row)]
    body = [row for row in cleaned[header_rows:] if any(row)]
    columns = list(zip_longest(*head, *body, fillvalue=""))
    kept = [column for column in columns if any(column)]
    if not kept:
        return ""
    header = [
        " / ".join(dict.fromkeys(filter(None, column[: len(head)]))) for column in kept
    ]
    lines = [header, ["---"] * len(kept), *zip(*kept, strict=True)]
    del lines[2 : 2 + len(head)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
