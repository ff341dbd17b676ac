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
from dataclasses import replace

from structrag.reading.html.flow import FlowPiece
from structrag.reading.html.page import PageReader
from structrag.reading.html.roles import read_through
from structrag.reading.html.text import unescaped
from structrag.reading.html.tokens import attributes, visible_tokens
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
