"""Tables, pipe rows or HTML: headers, rows and their places in the text (HiQA, section 3.2, table
metadata)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from structrag.chunks.hiqa.inline_text import plain_cell
from structrag.text.tokens import count_tokens

PROSE_TOKENS = 10  # estimated; a longer cell is a passage to read, not a value
_BAR = re.compile(r"(?<!\\)\|")
_DELIMITER = re.compile(r"[\s|:-]*-[\s|:-]*")


@dataclass(frozen=True, slots=True)
class Row:
    """A body row, `[start, end)` in the document's text; blank cells are kept."""

    start: int
    end: int
    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table at `[start, end)` of the document's text; its rows tile `[header_end, end)`."""

    start: int
    end: int
    header_end: int
    headers: tuple[str, ...]  # of all header rows, each once, none blank
    rows: tuple[Row, ...]
    caption: str = ""  # an HTML table's own


def pipe_table(
    text: str, start: int, end: int, cuts: Sequence[int], header_end: int, *, markdown: bool = True
) -> Table | None:
    """The table whose pipe rows are `text[start:end]`; None if there is no row below the header, as
    in tables made for layout.

    `cuts` are the starts of body rows behind the first, `header_end` the end of the header rows (0:
    there are none). Where the header is missing or blank, the first row stands for it. With
    `markdown`, cells lose their inline markup.
    """
    body = header_end if start < header_end <= end else start
    edges = [body, *(cut for cut in cuts if body < cut < end), end]
    clean = plain_cell if markdown else _collapsed
    rows = [Row(a, b, _cells(text[a:b], clean)) for a, b in pairwise(edges) if a < b]
    lines = [line for line in text[start:body].splitlines() if not _DELIMITER.fullmatch(line)]
    return _table(start, end, body, [_cells(line, clean) for line in lines], rows, "")


def html_table(markup: str, offset: int) -> Table | None:
    """The one table of a piece of HTML that begins at `offset` of the document's text; None for
    anything else.

    Rows begin at their `<tr>`. A nested table belongs to the cell that it stands in.
    """
    from structrag.reading.html.reader import read_html

    visible, _, layout = read_html(markup)
    tables = [block for block in layout.blocks if block.kind == "table"]
    if len(tables) != 1 or layout.headings or layout.blocks[-1] is not tables[0]:
        return None
    shown = tables[0]
    found = pipe_table(
        visible, shown.start, shown.end, shown.cuts, shown.header_end, markdown=False
    )
    if found is None:
        return None
    starts = [offset + layout.source_map.to_source(row.start) for row in found.rows]
    end = offset + len(markup)
    if any(a >= b for a, b in pairwise([offset, *starts, end])):
        return None
    rows = tuple(
        Row(a, b, row.cells)
        for (a, b), row in zip(pairwise([*starts, end]), found.rows, strict=True)
    )
    caption = _collapsed(visible[: shown.start])
    return Table(offset, end, starts[0] if starts else end, found.headers, rows, caption)


def index_line(row: Row, *, cells: bool) -> str:
    """What a row gives to the index text: its label and cells that are passages to read, or with
    `cells` every cell."""
    kept = [
        cell
        for i, cell in enumerate(row.cells)
        if cell and (cells or not i or count_tokens(cell) > PROSE_TOKENS)
    ]
    return " | ".join(kept)


def table_body(
    lead: Sequence[str], table: Table, lines: Sequence[str], trail: Sequence[str]
) -> str:
    """The index text of a table or a part of it: what leads to it, column headers, index lines of
    its rows, what follows."""
    parts = [*lead, " | ".join(table.headers), *dict.fromkeys(lines), *trail]
    return "\n".join(part for part in parts if part)


def row_runs(
    sizes: Sequence[tuple[int, int]], room: tuple[int, int], first: int
) -> list[tuple[int, int]]:
    """Runs `(first, behind last)` of rows, each as long as fits, at least one row.

    `sizes` are each row's tokens as text and in the index, `room` the most of both in a run; the
    first run's text already counts `first`.
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


def _table(
    start: int, end: int, body: int, heads: Sequence[tuple[str, ...]], rows: list[Row], caption: str
) -> Table | None:
    headers = [cell for head in heads for cell in head if cell]
    if not headers and rows:
        headers = [cell for cell in rows[0].cells if cell]
        body = rows[0].end
        rows = rows[1:]
    if not headers or not any(any(row.cells) for row in rows):
        return None
    return Table(start, end, body, tuple(dict.fromkeys(headers)), tuple(rows), caption)


def _cells(line: str, clean: Callable[[str], str]) -> tuple[str, ...]:
    inner = line.strip()
    inner = inner[1:] if inner.startswith("|") else inner
    inner = inner[:-1] if inner.endswith("|") and not inner.endswith("\\|") else inner
    return tuple(clean(cell) for cell in _BAR.split(inner))


def _collapsed(text: str) -> str:
    return " ".join(text.split())
