"""Markdown: the blocks of a section's own body.

Paragraphs, code, lists, quotes, pipe tables and rules that start at the margin are told apart line
by line. A body with anything whose meaning depends on more than that is parsed by markdown-it-py.
`parsed_blocks` is the same function by markdown-it-py alone; the tests hold the two against each
other.
"""

from __future__ import annotations

import re
from functools import lru_cache

from markdown_it import MarkdownIt
from markdown_it.rules_block.html_block import HTML_SEQUENCES
from markdown_it.token import Token

from structrag.reading.markdown import line_starts, unify_line_ends
from structrag.records import Block, BlockKind

_IMAGE_ONLY = re.compile(r"(?:\[?!\[[^\]]*\](?:\([^)]*\)|\[[^\]]*\])(?:\]\([^)]*\))?\s*)+")
_FENCE = re.compile(r"(`{3,})[^`]*$|(~{3,})")
_RULE = re.compile(r"(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(
    r"(?:[-*+]|\d{1,9}[.)]) {1,4}(?=[^ \t])"
)  # an item whose text begins on its own line
_MARKER = re.compile(r"(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")  # anything that may be an item
_HEADING = re.compile(r"#{1,6}(?:[ \t]|$)")
_DELIMITER_ROW = re.compile(r"\|(?: *:?-+:? *\|)+ *$")
_UNDERLINE = re.compile(
    r"[-=:|][-=:| \t]*$"
)  # may be a heading's underline or a table's delimiter row
_PLAIN = re.compile(
    r"[^\s#>`~<\-*+_=|:0-9]"
)  # first characters that make a line text and nothing else


class _Uncertain(Exception):
    """The lines alone do not tell."""


def markdown_blocks(text: str, start: int, end: int) -> list[Block]:
    """The blocks that tile `text[start:end]`, which must begin outside every container (a section's
    own body does).

    List items, table rows and code lines are given as `cuts`. Blank lines belong to the block
    before them, at the start to the first one. Nothing but blank lines is one paragraph; an empty
    span has no block.
    """
    source = unify_line_ends(text[start:end])
    lines = line_starts(source, start)
    try:
        found = _scan(source.split("\n"), lines)
    except _Uncertain:
        found = _parse(source, lines)
    return _tiled(found, start, end)


def parsed_blocks(text: str, start: int, end: int) -> list[Block]:
    """`markdown_blocks` by markdown-it-py alone: the reference."""
    source = unify_line_ends(text[start:end])
    return _tiled(_parse(source, line_starts(source, start)), start, end)


def _tiled(found: list[Block], start: int, end: int) -> list[Block]:
    if not found:
        return [Block("paragraph", start, end)] if end > start else []
    starts = [start, *(block.start for block in found[1:]), end]
    return [
        Block(
            block.kind,
            starts[i],
            starts[i + 1],
            tuple(cut for cut in block.cuts if starts[i] < cut < starts[i + 1]),
            block.header_end,
            block.start,
        )
        for i, block in enumerate(found)
        if starts[i] < starts[i + 1]
    ]


def _scan(rows: list[str], lines: list[int]) -> list[Block]:
    """Blocks by lines. Raises _Uncertain where a line's meaning depends on more than what is known
    here."""
    if _blank(rows[-1]):
        rows = rows[:-1]
    found: list[Block] = []
    i = 0
    while i < len(rows):
        row = rows[i]
        if _blank(row):
            i += 1
            continue
        first = row[0]
        kind: BlockKind
        cuts: list[int] = []
        if _PLAIN.match(row):
            stop, kind = _paragraph_end(rows, i), "paragraph"
        elif first in "`~" and _FENCE.match(row):
            stop, kind = _fence_end(rows, i), "code"
        elif first == ">":
            stop, kind = _quote_end(rows, i), "quote"
        elif first == "<" and (sequence := _html_sequence(row, in_paragraph=False)):
            stop, kind = _html_end(rows, i, sequence[1]), "html"
        elif first in "*-_" and _RULE.match(row):
            stop, kind = i + 1, "other"
        elif _ITEM.match(row):
            stop, cuts = _list_end(rows, i, lines)
            kind = "list"
        elif first == "|" and i + 1 < len(rows) and _DELIMITER_ROW.match(rows[i + 1]):
            stop, kind = _table_end(rows, i), "table"
        elif row.startswith("    "):
            stop, kind = _indented_end(rows, i), "code"
        else:
            stop, kind = _paragraph_end(rows, i), "paragraph"
        found.append(
            _block(
                kind, i, stop, lines, "\n".join(rows[i:stop]) if kind == "paragraph" else "", cuts
            )
        )
        i = stop
    return found


def _blank(row: str) -> bool:
    return not row or not row.strip(" \t")


def _paragraph_end(rows: list[str], i: int) -> int:
    for j in range(i, len(rows)):
        row = rows[j]
        if _PLAIN.match(row):
            continue
        if _blank(row):
            return j
        if row[0] in " \t":
            indent = len(row) - len(row.lstrip(" "))
            if j > i and (
                indent >= 4 or (indent < 4 and row[indent] != "\t" and _PLAIN.match(row[indent:]))
            ):
                continue
            raise _Uncertain
        if j > i and (_FENCE.match(row) or row[0] == ">" or _html_sequence(row, in_paragraph=True)):
            return j
        if j > i and _ITEM.match(row):
            if row[0].isdigit() and int(re.match(r"\d+", row)[0]) != 1:  # type: ignore[index]
                continue
            if _RULE.match(row):
                raise _Uncertain
            return j
        if (
            _FENCE.match(row)
            or _HEADING.match(row)
            or _MARKER.match(row)
            or _RULE.match(row)
            or _UNDERLINE.match(row)
        ):
            raise _Uncertain
    return len(rows)


def _fence_end(rows: list[str], i: int) -> int:
    opening = _FENCE.match(rows[i])
    mark = (opening[1] or opening[2]) if opening else ""
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*$")
    return next((j + 1 for j in range(i + 1, len(rows)) if closing.match(rows[j])), len(rows))


def _quote_end(rows: list[str], i: int) -> int:
    for j in range(i, len(rows)):
        if not rows[j].startswith(">"):
            if _blank(rows[j]) and not _blank(rows[j - 1][1:]):
                return j
            raise _Uncertain
    return len(rows)


def _html_sequence(
    row: str, *, in_paragraph: bool
) -> tuple[re.Pattern[str], re.Pattern[str], bool] | None:
    """How the HTML block that the row opens begins and ends, if it opens one."""
    return next(
        (s for s in HTML_SEQUENCES if (s[2] or not in_paragraph) and s[0].search(row)), None
    )


def _html_end(rows: list[str], i: int, closing: re.Pattern[str]) -> int:
    for j in range(i, len(rows)):
        row = rows[j].lstrip(" \t")
        if closing.search(row):
            return j + 1 if row else j
    return len(rows)


def _indented_end(rows: list[str], i: int) -> int:
    last = i
    for j in range(i, len(rows)):
        if rows[j].startswith("    "):
            last = last if _blank(rows[j]) else j
        elif not _blank(rows[j]):
            if "\t" in rows[j][:4]:
                raise _Uncertain
            break
    return last + 1


def _table_end(rows: list[str], i: int) -> int:
    head, delimiters = rows[i].strip(), rows[i + 1].strip()
    if (
        not head.endswith("|")
        or "\\" in head
        or "`" in head
        or head.count("|") != delimiters.count("|")
    ):
        raise _Uncertain
    for j in range(i + 2, len(rows)):
        if _blank(rows[j]):
            return j
        if not rows[j].startswith("|"):
            raise _Uncertain
    return len(rows)


def _list_end(rows: list[str], i: int, lines: list[int]) -> tuple[int, list[int]]:
    """Behind the last line of a list at the margin, and the starts of its items."""
    items: list[int] = []
    offset = 0  # where the current item's text begins
    kind = ""
    after_blank = True
    for j in range(i, len(rows)):
        row = rows[j]
        if _blank(row):
            after_blank = True
            continue
        indent = len(row) - len(row.lstrip(" "))
        if row[indent] == "\t":
            raise _Uncertain
        if indent == 0:
            item = _ITEM.match(row)
            mark = item[0].rstrip(" ")[-1] if item else ""
            if item and (mark == kind or not items) and not _RULE.match(row):
                kind, offset = mark, item.end()
                items.append(lines[j])
            elif not after_blank or _MARKER.match(row) or _UNDERLINE.match(row):
                raise _Uncertain
            else:
                return j, items
        elif indent < offset:
            raise _Uncertain
        after_blank = False
    return len(rows), items


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Without link definitions, which cost a third of the time and are paragraphs like others where
    text is only cut."""
    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table").disable("reference")
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


def _parse(source: str, lines: list[int]) -> list[Block]:
    tokens = _parser().parse(source)
    found = []
    for i, token in enumerate(tokens):
        if token.level == 0 and token.map and token.nesting >= 0:
            kind = _KINDS.get(token.type, "other")
            first, last = token.map
            text = source[lines[first] - lines[0] : lines[min(last, len(lines) - 1)] - lines[0]]
            items = _item_starts(tokens, i, lines) if kind == "list" else []
            found.append(
                _block(kind, first, last, lines, text if kind == "paragraph" else "", items)
            )
    return found


def _item_starts(tokens: list[Token], i: int, lines: list[int]) -> list[int]:
    starts = []
    for token in tokens[i + 1 :]:
        if token.level == 0:
            break
        if token.type == "list_item_open" and token.level == 1 and token.map:
            starts.append(lines[token.map[0]])
    return starts


def _block(
    kind: BlockKind, first: int, last: int, lines: list[int], text: str, items: list[int]
) -> Block:
    """The block of rows `[first, last)`; `text` is a paragraph's, `items` are a list's."""
    start, end = lines[first], lines[min(last, len(lines) - 1)]
    if kind == "paragraph":
        kind = _paragraph_kind(text.strip())
    if kind == "list":
        return Block(kind, start, end, tuple(items))
    if kind == "table":
        header_end = lines[min(first + 2, len(lines) - 1)]
        return Block(kind, start, end, tuple(lines[first + 2 : last]), header_end)
    cuts = lines[first + 1 : last] if kind in {"code", "html", "quote", "math"} else []
    return Block(kind, start, end, tuple(cuts))


def _paragraph_kind(text: str) -> BlockKind:
    if text.startswith(("!", "[")) and _IMAGE_ONLY.fullmatch(text):
        return "image"
    return "math" if text.startswith("$$") and text.endswith("$$") else "paragraph"
