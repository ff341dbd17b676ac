"""Markdown: the blocks of a section's body, by markdown-it-py's CommonMark rules."""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.token import Token

from structrag.reading.markdown import line_starts
from structrag.reading.markdown_source import plain_source
from structrag.records import Block, BlockKind

_IMAGE_ONLY = re.compile(
    r"(?:\[?!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])(?:\]\([^)]*\))?\s*)+"
)


def markdown_blocks(text: str, start: int, end: int) -> list[Block]:
    """The blocks that tile `text[start:end]`.

    The span must begin outside every container, as a section's own body does. List items, table
    rows and code lines are given as `cuts`. Blank lines belong to the block before them, at the
    start to the first one. Nothing but blank lines is one paragraph; an empty span has no block.
    """
    source = plain_source(text[start:end])
    blocks = _parse(source, line_starts(source, start), text[start:end])
    if not blocks:
        return [Block("paragraph", start, end)] if end > start else []
    starts = [start, *(block.start for block in blocks[1:]), end]
    tiles = []
    for block, first, last in zip(blocks, starts[:-1], starts[1:], strict=True):
        if first < last:
            cuts = tuple(cut for cut in block.cuts if first < cut < last)
            tiles.append(
                Block(block.kind, first, last, cuts, block.header_end, block.start)
            )
    return tiles


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Without link definitions, which cost a third of the time. They are paragraphs like others
    where text is only cut."""
    parser = (
        MarkdownIt("commonmark", {"maxNesting": 100})
        .enable("table")
        .disable("reference")
    )
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser


_KINDS: dict[str, BlockKind] = {
    "paragraph_open": "paragraph",
    "heading_open": "paragraph",
    "bullet_list_open": "list",
    "ordered_list_open": "list",
    "table_open": "table",
    "fence": "code",
    "code_block": "code",
    "blockquote_open": "quote",
    "html_block": "html",
    "hr": "other",
}


def _parse(source: str, lines: list[int], text: str) -> list[Block]:
    tokens = _parser().parse(source)
    blocks = []
    for i, token in enumerate(tokens):
        if token.level > 0 or not token.map or token.nesting < 0:
            continue
        first, last = token.map
        start, end = lines[first], lines[min(last, len(lines) - 1)]
        kind = _KINDS.get(token.type, "other")
        if kind == "paragraph":
            kind = _paragraph_kind(text[start - lines[0] : end - lines[0]].strip())
        if kind == "list":
            blocks.append(Block(kind, start, end, _item_starts(tokens, i, lines)))
        elif kind == "table":
            header_end = lines[min(first + 2, len(lines) - 1)]
            blocks.append(
                Block(kind, start, end, tuple(lines[first + 2 : last]), header_end)
            )
        else:
            cuts = (
                lines[first + 1 : last]
                if kind in ("code", "html", "quote", "math")
                else []
            )
            blocks.append(Block(kind, start, end, tuple(cuts)))
    return blocks


def _item_starts(tokens: list[Token], i: int, lines: list[int]) -> tuple[int, ...]:
    starts = []
    for number in range(i + 1, len(tokens)):  # a copy of the rest takes long
        token = tokens[number]
        if token.level == 0:
            break
        if token.type == "list_item_open" and token.level == 1 and token.map:
            starts.append(lines[token.map[0]])
    return tuple(starts)


def _paragraph_kind(text: str) -> BlockKind:
    if text.startswith(("!", "[")) and _IMAGE_ONLY.fullmatch(text):
        return "image"
    is_math = text.startswith(("$$", "\\[", "\\begin{")) and text.endswith(
        ("$$", "\\]", "}")
    )
    return "math" if is_math else "paragraph"
