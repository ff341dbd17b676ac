"""Tables of pipe rows or HTML: headers, rows, places (HiQA, section 3.2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from structrag.chunks.hiqa.inline_text import plain_cell
from structrag.reading.html.blocks import read_table
from structrag.text.tokens import count_tokens

PROSE_TOKENS = 10  # estimated; a longer cell is a passage to read, not a value
_BAR = re.compile(r"(?<!\\)\|")
_DELIMITER = re.compile(r"(?=[\s|:]*-)[\s|:-]+")


@dataclass(frozen=True, slots=True)
class TableRow:
    """A body row, `[start, end)` in the document's text.

    Example:
        >>> TableRow(24, 38, ("battery", "", "19 h")).cells[0]
        'battery'
    """

    start: int
    end: int
    cells: tuple[str, ...]  # blank ones included


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table at `[start, end)` of the document's text.

    Its rows tile `[header_end, end)`.

    Example:
        >>> text = "| phone | battery |\\n| --- | --- |\\n| Nova | 19 h |\\n"
        >>> pipe_table(text, 0, len(text), (), 34).headers
        ('phone', 'battery')
    """

    start: int
    end: int
    header_end: int
    headers: tuple[str, ...]  # of all header rows, each once, none blank
    rows: tuple[TableRow, ...]
    caption: str = ""  # an HTML table's own


def pipe_table(
    text: str,
    start: int,
    end: int,
    cuts: Sequence[int],
    header_end: int,
    *,
    markdown: bool = True,
) -> TextTable | None:
    """The table whose pipe rows are `text[start:end]`.

    None if there is no row below the header, as in tables made for layout. `cuts` are the starts of
    body rows behind the first, `header_end` the end of the header rows (0: there are none). If the
    header is missing or blank, the first row takes its place. With `markdown`, cells lose their
    inline markup.
    """
    body = header_end if start < header_end <= end else start
    clean = plain_cell if markdown else _collapsed
    rows = _rows(text, body, end, cuts, clean)
    headers = _header_cells(text[start:body], clean)
    if not headers and rows:
        headers = [cell for cell in rows[0].cells if cell]
        body = rows[0].end
        rows = rows[1:]
    if not headers or not any(any(row.cells) for row in rows):
        return None
    return TextTable(start, end, body, tuple(dict.fromkeys(headers)), tuple(rows))


def _rows(
    text: str, start: int, end: int, cuts: Sequence[int], clean: Callable[[str], str]
) -> list[TableRow]:
    """The rows that tile the body of a table."""
    inside = [cut for cut in cuts if start < cut < end]
    rows = []
    for first, last in pairwise([start, *inside, end]):
        if first < last:
            rows.append(TableRow(first, last, _cells(text[first:last], clean)))
    return rows


def _header_cells(text: str, clean: Callable[[str], str]) -> list[str]:
    """The cells of all header rows that are not blank."""
    headers: list[str] = []
    for line in text.splitlines():
        if not _DELIMITER.fullmatch(line):
            headers += filter(None, _cells(line, clean))
    return headers


def html_table(markup: str, offset: int) -> TextTable | None:
    """The table that a piece of HTML consists of, a caption included.

    None for anything else. The piece begins at `offset` of the document's text. Rows begin at their
    `<tr>`. A nested table belongs to its cell.
    """
    read = read_table(markup)
    if read is None:
        return None
    visible, block, starts = read
    shown = pipe_table(
        visible, block.start, block.end, block.cuts, block.header_end, markdown=False
    )
    if shown is None:
        return None
    end = offset + len(markup)
    starts = [offset + start for start in starts]
    rows = []
    for row, (first, last) in zip(shown.rows, pairwise([*starts, end]), strict=True):
        rows.append(TableRow(first, last, row.cells))
    caption = _collapsed(visible[: block.start])
    return TextTable(offset, end, starts[0], shown.headers, tuple(rows), caption)


def index_line(row: TableRow, *, cells: bool) -> str:
    """Return a row's line in the index text: its label and the cells that are passages, or with
    `cells` every cell."""
    indexed = []
    for i, cell in enumerate(row.cells):
        if cell and (cells or i == 0 or count_tokens(cell) > PROSE_TOKENS):
            indexed.append(cell)
    return " | ".join(indexed)


def table_body(
    lead: Sequence[str], table: TextTable, lines: Sequence[str], trail: Sequence[str]
) -> str:
    """The index text of a table or a part of it. It is what leads to it, column headers, the index
    lines of its rows, and what follows."""
    parts = [*lead, " | ".join(table.headers), *dict.fromkeys(lines), *trail]
    return "\n".join(part for part in parts if part)


def row_runs(
    sizes: Sequence[tuple[int, int]], room: tuple[int, int], first: int
) -> list[tuple[int, int]]:
    """Runs `(first, behind last)` of rows, each as long as fits.

    A run has at least one row. `sizes` are each row's tokens as text and in the index, `room` the
    most of both in a run. The first run's text already counts `first`.
    """
    runs = []
    begin, text, index = 0, first, 0
    for i, (row_text, row_index) in enumerate(sizes):
        if i > begin and (text + row_text > room[0] or index + row_index > room[1]):
            runs.append((begin, i))
            begin, text, index = i, 0, 0
        text += row_text
        index += row_index
    return [*runs, (begin, len(sizes))] if sizes else []


def _cells(line: str, clean: Callable[[str], str]) -> tuple[str, ...]:
    inner = line.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return tuple(clean(cell) for cell in _BAR.split(inner))


def _collapsed(text: str) -> str:
    return " ".join(text.split())
