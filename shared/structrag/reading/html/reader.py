"""HTML: from a page to its visible text, the headings and blocks in it, and the way back to the
page.

Why the page is read by a tokenizer of our own (html_tokens.py): exact source offsets were the first
demand. selectolax (lexbor) and lxml read the 2.4 MB 10-K of our data at about 200 and 110 MB/s, but
give no character offset of a text node: lxml keeps a line number, selectolax nothing. The standard
library's HTMLParser has offsets (about 20 MB/s with getpos), but needs 40 s for the 60 KB `"<a " *
20000`, and what it makes of unclosed comments and quotes changed between patch releases of Python.
The tokenizer runs at 85 MB/s, in linear time, with offsets by construction; the whole reader at 21
MB/s there and 5.5 on dense Wikipedia tables. No dependency, and the same result on every Python.

Decisions: text of form controls (option, button, textarea) and of svg and MathML is text; `value`
attributes are not. Hidden elements (`hidden`, `display:none`) are kept, except Inline XBRL's
`ix:header`, which is never shown. Text in a table cell is one line: lists, headings, `pre` and
tables inside a cell lose their line breaks, never their words.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from dataclasses import replace
from html import unescape

from structrag.reading.html.flow import Piece
from structrag.reading.html.page import PageReader
from structrag.reading.html.tokens import attributes, visible_tokens
from structrag.records import Block, BlockKind, Heading, Layout, PlacedImage, SourceMap

_LINE_END = re.compile(r"\r\n|\n|\r")


def read_html(source: str, *, drop_navigation: bool = False) -> tuple[str, str, Layout]:
    """Return (visible text, document title or "", layout) of an HTML page or fragment.

    All offsets in the layout are characters of the visible text; its source map leads back to
    `source`. Blocks and headings tile the text, white space joins what stands before it; the text
    itself neither begins nor ends with white space outside `pre`. `drop_navigation` leaves out
    `nav`, `footer` and `aside`. Any string is read, broken markup included; a page without visible
    text gives "".
    """
    dropped = ["template", "ix:header"]
    if drop_navigation:
        dropped += ["nav", "footer", "aside"]
    page = PageReader(source)
    for kind, name, start, end in visible_tokens(source, dropped):
        page.take(kind, name, start, end)
    flow = page.finish()
    text = "".join(flow.out.parts)
    headings, blocks = _split_pieces(flow.pieces, text)
    title = " ".join(unescape(page.title or "").split())
    source_map = flow.out.source_map(len(source))
    images = tuple(_placed(source, span, source_map, len(text)) for span in flow.images)
    return text, title, Layout(tuple(headings), tuple(blocks), source_map, images)


def html_blocks_between(layout: Layout, start: int, end: int) -> list[Block]:
    """The blocks that tile `text[start:end]`, normally a section's own body; [] if it is empty.

    Blocks that reach over an edge are cut there. A body in which nothing was written is one block
    of kind "other". O(log of all blocks + blocks returned).
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
    return [_fit(block, edges[i], edges[i + 1]) for i, block in enumerate(blocks[first:last])]


def text_offset(source_map: SourceMap, source_offset: int) -> int:
    """The first text character that came from `source_offset` or later; the text's length if there
    is none.

    The other way round than `SourceMap.to_source`: a source span `[a, b)` lies at
    `[text_offset(m, a), text_offset(m, b))` of the text. For maps made by `read_html`.
    """
    run = bisect_left(source_map.source_starts, source_offset)
    if run == len(source_map.source_starts):
        return source_map.text_starts[-1] if source_map.text_starts else 0
    if run and source_map.exact[run - 1]:
        inside = source_map.text_starts[run - 1] + source_offset - source_map.source_starts[run - 1]
        return min(inside, source_map.text_starts[run])
    return source_map.text_starts[run]


def _placed(source: str, tag: tuple[int, int], source_map: SourceMap, length: int) -> PlacedImage:
    """The image of a tag. One without alt text is placed at the text behind it, at the end of the
    page at the last character."""
    spans = attributes(source, *tag)
    file, alt, title = (
        unescape(source[slice(*spans.get(name, (0, 0)))]) for name in ("src", "alt", "title")
    )
    offset = text_offset(source_map, spans["alt"][0] if alt.strip() else tag[1])
    return PlacedImage(
        min(offset, max(length - 1, 0)),
        file.strip(),
        " ".join(alt.split()),
        " ".join(title.split()),
    )


def _split_pieces(pieces: list[Piece], text: str) -> tuple[list[Heading], list[Block]]:
    """Headings and blocks of the whole text; each ends where the next one starts."""
    headings: list[Heading] = []
    blocks: list[Block] = []
    deeper = _section_levels([piece for piece in pieces if piece.kind is None])
    for i, piece in enumerate(pieces):
        end = pieces[i + 1].start if i + 1 < len(pieces) else len(text)
        if piece.kind is None:
            level = piece.level if deeper is None or not piece.depth else piece.depth + deeper
            title = " ".join(text[piece.start : piece.title_end].split())
            headings.append(Heading(level, title, piece.start, end))
        else:
            blocks.append(_block(piece, piece.kind, text, end))
    return headings, blocks


def _section_levels(headings: list[Piece]) -> int | None:
    """What to add to the depth of sections to get the level; None: levels are the numbers of the h
    tags.

    Some authors write h1 in every nested `<section>`. Only where all headings inside sections are
    h1 does the depth count, one deeper if the page's own h1 stands before them.
    """
    inside = [heading for heading in headings if heading.depth]
    if not inside or any(heading.level != 1 for heading in inside):
        return None
    first = headings[0]
    return 1 if not first.depth and first.level == 1 else 0


def _block(piece: Piece, kind: BlockKind, text: str, end: int) -> Block:
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
    """The block with other edges, and with what lies outside them forgotten."""
    if (start, end) == (block.start, block.end):
        return block
    cuts = tuple(cut for cut in block.cuts if start < cut < end)
    header_end = block.header_end if start <= block.start and block.header_end <= end else 0
    return replace(block, start=start, end=end, cuts=cuts, header_end=header_end)
