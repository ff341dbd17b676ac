"""HTML to visible text with headings, blocks and the way back.

Why the page is read by a tokenizer of our own (tokens.py): exact source offsets were the first
demand.

- selectolax (lexbor) and lxml read the 2.4 MB 10-K of our data at about 200 and 110 MB/s, but give
  no character offset of a text node. lxml keeps a line number, selectolax nothing.
- The standard library's HTMLParser has offsets (about 20 MB/s with getpos), but needs 40 s for the
  60 KB `"<a " * 20000`. What it makes of unclosed comments and quotes changed between patch
  releases of Python.
- This tokenizer runs at 85 MB/s, in linear time, with offsets by construction. The whole reader
  runs at 21 MB/s there and at 5.5 on dense Wikipedia tables. It needs no dependency and gives the
  same result on every Python.

Decisions: the text of form controls (option, button, textarea) and of svg and MathML is text,
`value` attributes are not. Elements with the attribute `hidden` are left out, unless the page shows
them on demand (a tab's panel, what a button controls); `display:none` is kept, except Inline XBRL's
`ix:header`, which is never shown. Text in a table cell is one line: lists, headings, `pre` and
tables inside a cell lose their line breaks, never their words. Tables of layout are read through.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from structrag.reading.html.flow import FlowPiece
from structrag.reading.html.page import PageReader
from structrag.reading.html.text import unescaped
from structrag.reading.html.tokens import (
    END,
    START,
    TEXT,
    Token,
    attribute_number,
    attributes,
    visible_tokens,
)
from structrag.reading.limits import check_characters
from structrag.records import Block, BlockKind, Heading, Layout, PlacedImage, SourceMap

_LINE_END = re.compile(r"\r\n|\n|\r")


def read_html(source: str, *, drop_navigation: bool = True) -> tuple[str, str, Layout]:
    """Read an HTML page or fragment as (visible text, title, layout).

    Example:
        >>> text, title, layout = read_html("<h1>Nova</h1><p>A phone.</p>")
        >>> text
        'Nova\\n\\nA phone.'
        >>> layout.headings[0].level
        1

    All offsets in the layout are characters of the visible text. Its source map leads back to
    `source`. Blocks and headings tile the text, white space joins what stands before it. The text
    neither begins nor ends with white space outside `pre`. `drop_navigation` leaves out `nav` and
    elements whose `role` is navigation. Signs such as ¶ that link to their own place are never
    text. Any string is read, broken markup included. A page without visible text gives "", one
    without a title the title "".
    """
    page = PageReader(source)
    tokens = visible_tokens(source, navigation=not drop_navigation)
    for kind, name, start, end in read_through(source, tokens):
        page.take(kind, name, start, end)
    flow = page.finish()
    check_characters(flow.out.length)
    text = "".join(flow.out.parts)
    headings, blocks = _split_pieces(flow.pieces, text)
    title = " ".join(unescaped(page.title or "").split())
    source_map = flow.out.source_map(len(source))
    images = tuple(_placed(source, span, source_map, len(text)) for span in flow.images)
    return text, title, Layout(tuple(headings), tuple(blocks), source_map, images)


def html_blocks_between(layout: Layout, start: int, end: int) -> list[Block]:
    """The blocks that tile `text[start:end]`, normally a section's own body.

    Blocks that reach over an edge are cut there. A body in which nothing was written is one block
    of kind "other", an empty one has none. O(log of all blocks + blocks returned).
    """
    if start >= end:
        return []
    blocks = layout.blocks
    first = max(bisect_right(blocks, start, key=_start) - 1, 0)
    if blocks and blocks[first].end <= start:
        first += 1
    last = bisect_left(blocks, end, key=_start)
    if first >= last:
        return [Block("other", start, end)]
    edges = [start, *(block.start for block in blocks[first + 1 : last]), end]
    return [
        _fit(block, edges[i], edges[i + 1])
        for i, block in enumerate(blocks[first:last])
    ]


def text_offset(source_map: SourceMap, source_offset: int) -> int:
    """The first text character that came from `source_offset` or later.

    If there is none, the text's length. This is the way back of `SourceMap.to_source`: a source
    span `[a, b)` lies at `[text_offset(m, a), text_offset(m, b))` of the text. For maps made by
    `read_html`.
    """
    run = bisect_left(source_map.source_starts, source_offset)
    if run == len(source_map.source_starts):
        return source_map.text_starts[-1] if source_map.text_starts else 0
    if run and source_map.exact[run - 1]:
        inside = (
            source_map.text_starts[run - 1]
            + source_offset
            - source_map.source_starts[run - 1]
        )
        return min(inside, source_map.text_starts[run])
    return source_map.text_starts[run]


def _placed(
    source: str, tag: tuple[int, int], source_map: SourceMap, length: int
) -> PlacedImage:
    """The image of a tag. One without alt text is placed at the text behind it, at the end of the
    page at the last character."""
    spans = attributes(source, *tag)

    def value(name: str) -> str:
        return unescaped(source[slice(*spans.get(name, (0, 0)))])

    alt = " ".join(value("alt").split())
    offset = text_offset(source_map, spans["alt"][0] if alt else tag[1])
    return PlacedImage(
        min(offset, max(length - 1, 0)),
        value("src").strip(),
        alt,
        " ".join(value("title").split()),
    )


def _split_pieces(
    pieces: list[FlowPiece], text: str
) -> tuple[list[Heading], list[Block]]:
    """Headings and blocks of the text, from each start to the next."""
    headings: list[Heading] = []
    blocks: list[Block] = []
    added = _added_to_depth([piece for piece in pieces if piece.kind is None])
    for i, piece in enumerate(pieces):
        end = pieces[i + 1].start if i + 1 < len(pieces) else len(text)
        if piece.kind is None:
            level = (
                piece.level if added is None or not piece.depth else piece.depth + added
            )
            title = " ".join(text[piece.start : piece.title_end].split())
            headings.append(Heading(level, title, piece.start, end))
        else:
            blocks.append(_block(piece, piece.kind, text, end))
    return headings, blocks


def _added_to_depth(headings: list[FlowPiece]) -> int | None:
    """What to add to a heading's depth of sections for its level.

    None: levels are the numbers of the h tags. Some authors write h1 in every nested `<section>`.
    Only where all headings inside sections are h1 does the depth count, one deeper if the page's
    own h1 stands before them.
    """
    inside = [heading for heading in headings if heading.depth]
    if not inside or any(heading.level != 1 for heading in inside):
        return None
    first = headings[0]
    return 1 if not first.depth and first.level == 1 else 0


def _block(piece: FlowPiece, kind: BlockKind, text: str, end: int) -> Block:
    cuts = piece.cuts
    if kind == "code":
        last = piece.start + len(text[piece.start : end].rstrip())
        cuts = [match.end() for match in _LINE_END.finditer(text, piece.start, last)]
    elif kind == "paragraph" and not piece.words:
        kind = "image"
    return Block(kind, piece.start, end, tuple(cuts), piece.header_end)


def _start(block: Block) -> int:
    return block.start


def _fit(block: Block, start: int, end: int) -> Block:
    """The block with other edges, without the cuts and header outside them."""
    if (start, end) == (block.start, block.end):
        return block
    cuts = tuple(cut for cut in block.cuts if start < cut < end)
    header_end = (
        block.header_end if start <= block.start and block.header_end <= end else 0
    )
    return replace(block, start=start, end=end, cuts=cuts, header_end=header_end)


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
    lowered = source.lower()
    if "heading" in lowered:
        tokens = _with_roles(source, tokens)
    if "<table" not in lowered:
        return tokens
    kept: list[Token | None] = list(tokens)
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
    if kind == TEXT:
        if cell is None:
            table.between.append(place)
        elif not source[start:end].isspace():
            cell.has_text = True
            cell.is_number &= "".join(source[start:end].split()).isdigit()
            cell.has_content |= cell.headings > 0
    elif name in _PARTS:
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
