"""Tables: how many of their rows are header, and how they are written as pipe tables."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from structrag.reading.limits import check_characters, spend_characters

MOST_COLUMNS = 1_000  # spans and repeated cells beyond are not followed

AROUND_CELL = 3  # characters
_Covered = dict[int, tuple[str, int]]  # column -> text, rows to come
# All but a single blank; form feeds are marks of pages.
_SPACE = re.compile(r"[^\S\f](?:(?<! )|[^\S\f])[^\S\f]*")
SAMPLE = 40  # rows that tell what a column holds
_LONGEST_NUMBER = 40  # characters, with its unit
_NUMBER = re.compile(
    r"[^\w\s]{0,3}\s?\d[\d.,:/'\u2019\s\u2013-]*"
    r"(?:(?!(?:st|nd|rd|th)\b)[^\W\d_]{1,3}\.?)?(?:[\^_\[(]\d{1,2})?[^\w\s]{0,3}"
)
_YEAR = re.compile(
    r"(?:FY\s?)?(?:19|20)\d\d(?:\s?[-/\u2013]\s?\d{2,4})?(?:\s?[\^(\[*]\w{0,2}[)\]]?|[A-Z])?"
)


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


def spread(rows: Sequence[Sequence[Cell]], header_rows: int = 0) -> list[list[str]]:
    """Rows of cells as a grid.

    A cell that spans rows has its text in each, so that a row can be read alone. A cell that spans
    columns has it in the first; the others are empty, but those of the header rows, where a label
    stands above each column.

    Example:
        >>> spread([[Cell("Pump", rows=2), Cell("a")], [Cell("b")]])
        [['Pump', 'a'], ['Pump', 'b']]
    """
    grid = []
    above: _Covered = {}
    for number, row in enumerate(rows):
        line: list[str] = []
        below: _Covered = {}
        for cell in row:
            _fill(line, above, below)
            width = max(1, min(cell.columns, MOST_COLUMNS - len(line)))
            label = cell.text if number < header_rows and len(row) > 1 else ""
            for text in (cell.text, *[label] * (width - 1)):
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


def count_headers(rows: Sequence[Sequence[str]], named: int = 0) -> int:
    """How many of the leading rows are header.

    The first `named` are for certain. Else the first row is one if it has labels above numbers and
    two more rows follow; a year is a label above other numbers. A further row with labels is one
    below a title, below labels over several columns, or if its first cell is empty or goes on the
    one above. O(cells of the first 40 rows).

    Example:
        >>> count_headers([["", "2023"], ["North", "5"], ["South", "7"]])
        1
        >>> count_headers([["Region", "2023", ""], ["", "May", "June"], ["North", "5", "7"]], 1)
        2
    """
    sample = _sample(rows)
    below = enumerate(zip(*sample[1:], strict=True))
    figures = {i for i, cells in below if _most(is_number, cells)}
    has_figures = bool(figures)
    figures = figures or set(range(1, len(sample[0]))) if sample else set()
    is_spanned = any(a and a == b for a, b in pairwise(sample[0][1:])) if sample else 0
    count = named
    for i in range(named, len(sample) - 1 - (not named)):
        row = sample[i]
        is_header = any(row[column] for column in figures) and not any(
            is_number(row[column])
            and not (
                _YEAR.fullmatch(row[column])
                and not _most(_YEAR.fullmatch, (each[column] for each in sample[1:]))
            )
            for column in figures
        )
        if is_header and (
            _goes_on(sample[i - 1], row, has_figures)
            if i
            else has_figures or is_spanned
        ):
            count = i + 1
        elif count or len(set(filter(None, row))) > 1:
            break
    return count


def _sample(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """The first rows, of one length."""
    columns = zip_longest(*rows[:SAMPLE], fillvalue="")
    return [
        list(row)
        for row in zip(*(map(str.strip, cells) for cells in columns), strict=True)
    ]


def is_number(cell: str) -> bool:
    """Whether a cell holds a number or a date, with a unit or not."""
    return len(cell) < _LONGEST_NUMBER and bool(_NUMBER.fullmatch(cell))


def _most(is_so: Callable[[str], object], cells: Iterable[str]) -> bool:
    """Whether something holds for most cells with text."""
    filled = [bool(is_so(cell)) for cell in cells if cell.strip("-\u2013\u2014. ")]
    return 2 * sum(filled) > len(filled)


def _shares_corner(above: Sequence[str], row: Sequence[str]) -> bool:
    return "" in (above[0], row[0]) or above[0] == row[0]


def _goes_on(above: Sequence[str], row: Sequence[str], has_figures: bool) -> bool:
    """Whether a row with labels belongs to the header that the row above is of."""
    if any(
        a and b in ("", a) for a, b in pairwise(above[1:])
    ):  # labels of several columns
        return _shares_corner(above, row)
    is_below_title = set(filter(None, above)) == {above[0]}
    return has_figures and (is_below_title or row[0] in ("", above[0]))


def count_lead(rows: Sequence[Sequence[str]]) -> int:
    """How many rows above a table are text of its own: titles, and lines of fewer cells or with
    "# " above a first full row of labels.

    Example:
        >>> table = [["Region", "Sum", "Tax"], ["North", "5", "1"], ["South", "7", "2"]]
        >>> count_lead([["Sales"], ["Created", "May"], *table])
        2
    """
    sample = _sample(rows)
    sizes = [0 if row[0][:2] == "# " else sum(map(bool, row)) for row in sample]
    counts = Counter(size for size in sizes if size > 1)
    usual = max(counts, key=lambda size: (counts[size], size), default=1)
    for i, (row, size) in enumerate(zip(sample, sizes, strict=True)):
        if size and size >= usual - (not row[0]):
            is_apart = i and (not sizes[i - 1] or count_headers(sample[i:]))
            if max(sizes[:i], default=0) < 2:
                return i
            is_second = sizes[i - 1] > 1 and _shares_corner(sample[i - 1], row)
            return i - is_second if is_apart else 0
    return 0


def check_table(rows: Sequence[Sequence[str]]) -> None:
    """Refuse a table before its text multiplies, or short rows are filled up to a long one."""
    places = len(rows) * max(map(len, rows), default=0)
    check_characters(AROUND_CELL * places + sum(map(_length, rows)))


def _length(row: Sequence[str]) -> int:
    return sum(map(len, row))


def pipe_table(rows: Sequence[Sequence[str]], header_rows: int = 1) -> str:
    """Rows as a pipe table without a line end; "" where no cell has text.

    The header is one line: texts of several header rows (`count_headers` adds to those given) are
    joined by " / ", and with none it is empty. A label goes over the columns to its right that have
    labels below it. Empty rows and columns are left out; line ends in cells become spaces.

    Example:
        >>> print(pipe_table([["Year", "2024"], ["Sales", "5|6"]]))
        | Year | 2024 |
        | --- | --- |
        | Sales | 5\\|6 |
    """
    check_table(rows)
    header_rows = count_headers(rows, header_rows)
    cleaned = [
        [_SPACE.sub(" ", cell).strip(" ").replace("|", "\\|") for cell in row]
        for row in rows
    ]
    for above, row in pairwise(cleaned[:header_rows]):
        if len(set(filter(None, above))) > 1:  # no title
            for column in range(1, min(len(above), len(row))):
                if row[column]:
                    above[column] = above[column] or above[column - 1]
    check_table(cleaned)
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
