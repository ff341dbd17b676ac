"""HTML tables: their cells are collected, then written as pipe rows."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile

from structrag.reading.html.text import MappedText
from structrag.reading.html.tokens import attribute_number, attributes
from structrag.reading.limits import spend_characters
from structrag.reading.tables import SAMPLE, count_headers

_MOST_BOLD = 4  # rows from the first on that are headers by their type
_TAGS = re.compile(r"(?:[ \t\r\n]|&nbsp;|<(?!/?t)[^<>]*>)*", re.IGNORECASE)
_BOLD = re.compile(r"<(?:b|strong)[\s>]|font-weight:\s?(?:bold|[6-9]00)", re.IGNORECASE)
MAX_COLUMNS = 100  # a wider table, and spans beyond this column, are not aligned


@dataclass(slots=True)
class PageCell:
    """A cell of a table.

    Example:
        >>> PageCell(MappedText(), header=True).colspan
        1
    """

    text: MappedText
    header: bool = False  # by its tag, its row group or its type
    colspan: int = 1
    rowspan: int = 1
    column: int = 0  # set when the table is laid out


@dataclass(slots=True)
class PageRow:
    """A table row that begins at `source` in the page.

    Example:
        >>> PageRow(source=120).cells
        []
    """

    source: int
    cells: list[PageCell] = field(default_factory=list)


class Table:
    """An open table.

    Example:
        >>> table = Table()
        >>> table.open_row(0).cells
        []
        >>> table.in_cell
        False
    """

    def __init__(self) -> None:
        self.caption: MappedText = MappedText()
        self.rows: list[PageRow] = []
        self.row: PageRow | None = None
        self.cell: MappedText | None = None  # where text goes; None between cells
        # The open cell was made for text that stands outside cells.
        self.stray: bool = False
        self.in_head = False
        # Open tables inside the cell; their text stays in the cell, and the cell open.
        self.inner: int = 0

    @property
    def in_cell(self) -> bool:
        """Whether text that comes now belongs to a cell of the markup."""
        return self.cell is not None and not self.stray

    def open_row(self, place: int) -> PageRow:
        """`<tr>` at `place`."""
        self.row = row = PageRow(place)
        self.rows.append(row)
        self.cell = None
        return row

    def open_cell(
        self, source: str, start: int, end: int, *, header: bool
    ) -> MappedText:
        """`<td>` or `<th>`, in a new row if none is open."""
        row = self.row or self.open_row(start)
        colspan, rowspan = _spans(source, start, end)
        header |= self.in_head
        if not header and len(self.rows) <= _MOST_BOLD:
            tags = _TAGS.match(source, end)
            header = bool(_BOLD.search(source, start, tags.end() if tags else end))
        cell = PageCell(MappedText(), header, colspan, rowspan)
        row.cells.append(cell)
        self.cell, self.stray = cell.text, False
        return cell.text

    def open_stray(self) -> MappedText:
        """A place for text outside cells. It is the caption before the first row, else a cell of
        its own."""
        self.cell = cell = (
            self.open_cell("", 0, 0, header=False) if self.rows else self.caption
        )
        self.stray = True
        return cell

    def close_row(self) -> None:
        """`</tr>`, or the end of a row group."""
        self.row = self.cell = None


def has_text(table: Table) -> bool:
    """Whether any cell shows something."""
    return any(cell.text.length for row in table.rows for cell in row.cells)


def write_rows(table: Table, out: MappedText) -> tuple[list[int], int]:
    """Append a table to `out` as pipe rows.

    Returns the starts of the rows that it can be cut before, and the header's end.

    Rows and columns in which no cell shows anything are left out. A cell stands in its first row
    and column, the others that it spans are empty, but a label of the header stands above each of
    its columns. The leading rows made of `th` cells or bold text, or inside `thead`, are header
    rows, and those that `count_headers` adds. If no other row follows, only the first one is, and
    only if there are two.
    """
    _place(table.rows)
    rows, columns = _shown(table.rows)
    n_headers = _count_headers(rows, columns)
    spend_characters(2 * len(rows) * min(len(columns), MAX_COLUMNS))
    cuts: list[int] = []
    header_end = 0
    for i, row in enumerate(rows):
        if i:
            out.insert("\n")
        if i and i == n_headers:
            out.insert("| " + " | ".join(["---"] * len(columns)) + " |\n")
            header_end = out.length
        if i and i >= n_headers:
            cuts.append(out.length)
        _write_row(row, columns, out, is_header=i < n_headers)
    return cuts, header_end


def _shown(rows: list[PageRow]) -> tuple[list[PageRow], dict[int, int]]:
    """The rows that show something, and such columns by number. The second maps a column to its
    place among those that are shown."""
    shown_rows = []
    used: set[int] = set()
    for row in rows:
        shown = {cell.column for cell in row.cells if cell.text.length}
        if shown:
            shown_rows.append(row)
            used |= shown
    return shown_rows, {column: i for i, column in enumerate(sorted(used))}


def _write_row(
    row: PageRow, columns: dict[int, int], out: MappedText, *, is_header: bool
) -> None:
    edge = "|"
    is_aligned = len(columns) <= MAX_COLUMNS
    filled = 0
    for cell in row.cells:
        for i, place in enumerate(_places(row, cell, columns, is_header=is_header)):
            out.insert(edge + " |" * (place - filled) * is_aligned + " ", row.source)
            if i:
                spend_characters(cell.text.length)
                out.insert("".join(cell.text.parts))
            else:
                out.extend(cell.text)
            filled, edge = place + 1, " |"
    out.insert(edge + " |" * (len(columns) - filled) * is_aligned, row.source)


def _places(
    row: PageRow, cell: PageCell, columns: dict[int, int], *, is_header: bool
) -> list[int]:
    """The shown columns that a cell's text stands in. A label above the whole table is its title
    and stands in the first."""
    if not cell.text.length:
        return []
    last = min(cell.column + cell.colspan, MAX_COLUMNS)
    spanned = range(cell.column + 1, last if is_header and len(row.cells) > 1 else 0)
    return [columns[column] for column in (cell.column, *spanned) if column in columns]


def _place(rows: list[PageRow]) -> None:
    """Give every cell the first free column, as HTML's table model does."""
    taken: dict[int, int] = {}  # column -> the last row that a cell from above covers
    for i, row in enumerate(rows):
        column = 0
        for cell in row.cells:
            while taken.get(column, -1) >= i:
                column += 1
            cell.column = column
            if cell.rowspan > 1:
                spanned = range(column, min(column + cell.colspan, MAX_COLUMNS))
                taken.update(dict.fromkeys(spanned, i + cell.rowspan - 1))
            column += cell.colspan


def _count_headers(rows: list[PageRow], columns: dict[int, int]) -> int:
    named = sum(1 for _ in takewhile(partial(_is_header, rows[0]), rows))
    if named == len(rows):
        return 1
    if len(columns) > MAX_COLUMNS:
        return named
    grid = []
    for row in rows[:SAMPLE]:
        texts = [""] * len(columns)
        for cell in row.cells:
            for place in _places(row, cell, columns, is_header=True):
                texts[place] = "".join(cell.text.parts)
        grid.append(texts)
    return max(named, count_headers(grid, min(named, SAMPLE)))


def _is_header(first: PageRow, row: PageRow) -> bool:
    """Whether all cells are labels, and not the title of the rows below."""
    shown = [cell for cell in row.cells if cell.text.length]
    is_wide = len(row.cells) > 1 or row.cells[0].colspan > 1
    is_group = row is not first and is_wide and shown[-1] is row.cells[0]
    return all(cell.header for cell in shown) and not is_group


def _spans(source: str, start: int, end: int) -> tuple[int, int]:
    """colspan and rowspan of a cell's start tag, within the standard's limits."""
    if "span" not in source[start:end].lower():
        return 1, 1
    spans = attributes(source, start, end)
    columns = attribute_number(source, spans, "colspan")
    rows = attribute_number(source, spans, "rowspan")
    return min(max(columns, 1), 1000), min(rows, 65534)  # 0 rows are as one
