"""Tags that stand for something else: tables of layout and of code, headings by their role."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from structrag.reading.html.tokens import (
    END,
    START,
    TEXT,
    Token,
    attribute_number,
    attributes,
)

_NEEDED = re.compile(r"<table|heading", re.IGNORECASE)
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_PARTS = ("tr", "td", "th", "tbody", "thead", "tfoot", "caption", "colgroup", "col")
# Of tables with a row for each line of code, as forges and highlighters write them.
_CODE_CLASS = re.compile(
    r"blob-code|hljs-ln|code-line|line-code|js-file-line", re.IGNORECASE
)


@dataclass(slots=True)
class _Cell:
    first: int  # place of its start tag among the tokens
    is_number: bool = True  # nothing but digits and blanks
    has_text: bool = False
    is_code: bool = False
    headings: int = 0
    has_content: bool = False  # text behind a heading


@dataclass(slots=True)
class _TableRole:
    first: int
    parts: list[int] = field(default_factory=list)  # places of its own tags
    between: list[int] = field(default_factory=list)  # of text outside cells
    pres: list[int] = field(default_factory=list)
    gutters: list[tuple[int, int]] = field(default_factory=list)  # cells of numbers
    names: Counter[str] = field(default_factory=Counter)
    cell: _Cell | None = None
    has_code: bool = False
    has_numbers: bool = False  # or says of its cells that they are lines of code
    others: int = 0  # cells that hold neither code nor numbers alone
    is_layout: bool = False
    has_headings: bool = False  # several in one cell
    cells: int = 0  # of the row
    wide_rows: int = 0  # with more than one cell
    titled: bool = False  # a cell holds a heading

    def close_cell(self, place: int) -> None:
        cell, self.cell = self.cell, None
        if cell is None:
            return
        self.is_layout |= cell.has_content
        self.has_headings |= cell.headings > 1
        self.titled |= cell.headings > 0
        self.cells += 1
        self.wide_rows += self.cells == 2
        if cell.is_code:
            self.has_code = True
        elif cell.is_number:
            self.gutters.append((cell.first, place))
            self.has_numbers |= cell.has_text
        else:
            self.others += 1


def read_through(source: str, tokens: Iterable[Token]) -> Iterable[Token]:
    """The tokens, with what stands for something else under its name.

    A table of layout (its role says so, a cell holds headings with text below them, or it is one
    column with headings, and it is no grid of such cells) becomes blocks. A table of numbered lines
    of code becomes `pre`, without the numbers. An element of the role "heading" becomes `h1` to
    `h6` by its `aria-level`.
    """
    if not _NEEDED.search(source):
        return tokens
    kept: list[Token | None] = list(_with_roles(source, tokens))
    tables: list[_TableRole] = []
    for place, token in enumerate(kept):
        if token is None:
            continue
        kind, name = token[:2]
        if name == "table":
            if kind == START:
                tables.append(_TableRole(place))
            elif tables:
                table = tables.pop()
                table.close_cell(place)
                if _rewrite(source, kept, table, place) and tables and tables[-1].cell:
                    tables[-1].cell.has_content |= table.is_layout
        elif tables:
            _take(source, tables[-1], place, token)
    return [token for token in kept if token is not None]


def _take(source: str, table: _TableRole, place: int, token: Token) -> None:
    kind, name, start, end = token
    cell = table.cell
    if name in _PARTS:
        table.parts.append(place)
        table.names[name] += kind == START
        if name in ("td", "th", "tr"):
            table.close_cell(place)
        if name == "tr":
            table.cells = 0
        if kind == START and name in ("td", "th"):
            is_code = bool(_CODE_CLASS.search(source, start, end))
            table.has_numbers |= is_code
            table.cell = _Cell(place, is_code=is_code)
    elif kind == TEXT:
        if cell is None:
            table.between.append(place)
        elif not source[start:end].isspace():
            cell.has_text = True
            cell.is_number &= "".join(source[start:end].split()).isdigit()
            cell.has_content |= cell.headings > 0
    elif name == "pre":
        table.pres.append(place)
        if cell:
            cell.is_code = not cell.is_number or cell.is_code
            cell.is_code |= kind == START and "code" in source[start:end].lower()
    elif name in _HEADINGS and kind == END and cell:
        cell.headings += 1


def _rewrite(
    source: str, kept: list[Token | None], table: _TableRole, last: int
) -> bool:
    """Put other tags for a table's own, if it is none of data."""
    _, _, start, end = kept[table.first]  # type: ignore[misc]
    role = _value(source, attributes(source, start, end).get("role"))
    rows = table.names["tr"]
    if table.has_code and table.has_numbers and not table.others:
        for first, after in table.gutters:
            kept[first:after] = [None] * (after - first)
        if rows > 1:
            _as_code(kept, table, last)
            return False
    elif role not in ("presentation", "none"):
        is_data = any(table.names[name] for name in ("th", "thead", "caption"))
        is_grid = table.wide_rows > 1 and not table.has_headings
        is_column = table.titled and not table.wide_rows and rows > 1
        if is_data or is_grid or not (table.is_layout or is_column):
            return False
    for place in (table.first, *table.parts, last):
        _rename(kept, place, "div")
    return True


def _as_code(kept: list[Token | None], table: _TableRole, last: int) -> None:
    """One `pre`, with a line for each row."""
    is_first = True
    for place in (*table.parts, *table.between, *table.pres):
        token = kept[place]
        if token is None:
            continue
        kind, name, start, end = token
        is_row = name == "tr" and kind == START
        kept[place] = (START, "br", start, end) if is_row and not is_first else None
        is_first &= not is_row
    _rename(kept, table.first, "pre")
    _rename(kept, last, "pre")


def _rename(kept: list[Token | None], place: int, name: str) -> None:
    token = kept[place]
    if token is not None:
        kept[place] = (token[0], name, *token[2:])


def _with_roles(source: str, tokens: Iterable[Token]) -> Iterator[Token]:
    """The tokens, with headings by their role as `h1` to `h6`."""
    name_left, depth, level = "", 0, ""
    for kind, name, start, end in tokens:
        if depth and name == name_left:
            depth += 1 if kind == START else -1
            if not depth:
                yield END, level, start, end
                continue
        elif not depth and kind == START and "heading" in source[start:end].lower():
            spans = attributes(source, start, end)
            if _value(source, spans.get("role")) == "heading":
                has_level = "aria-level" in spans
                number = attribute_number(source, spans, "aria-level")
                shown = name[1:] if name in _HEADINGS else "2"
                level = f"h{min(max(number, 1), 6)}" if has_level else f"h{shown}"
                name_left, depth = name, 1
                yield START, level, start, end
                continue
        yield kind, name, start, end


def _value(source: str, span: tuple[int, int] | None) -> str:
    return source[slice(*span)].strip().lower() if span else ""
