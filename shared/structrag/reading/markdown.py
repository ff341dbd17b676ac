"""Markdown: headings and blocks with exact offsets, by markdown-it-py's CommonMark block rules.

A Markdown file is mostly text that can neither be nor hide a heading, so a scan by one regular
expression visits only the lines that can: headings at the margin, fences, HTML, underlines. At the
margin their meaning is certain, because nothing but a fence or an HTML block can contain a line
that starts there. Where it is not certain (an underline, anything indented, a heading glued to
HTML) that stretch is parsed by markdown-it-py. `parsed_headings` is the same function by
markdown-it-py alone; the tests hold the two against each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from structrag.reading.html.blocks import TABLE_TAG, html_blocks
from structrag.reading.markdown_source import (
    fence_end,
    line_end,
    plain_source,
    unify_line_ends,
)
from structrag.records import Block, BlockKind, Heading

_SCAN = re.compile(
    r"""^(?:
      (?P<atx>\#{1,6})(?=[ \t\n]|\Z)
    | (?P<fence>`{3,}(?=[^`\n]*$)|~{3,})
    | (?P<html><)
    | (?P<indented>[ ]{1,3}(?:\#{1,6}(?=[ \t\n]|\Z)|`{3}|~{3}|<))
    | (?P<underline>[ ]{0,3}(?:=+|-+)[ \t]*$)
    )""",
    re.MULTILINE | re.VERBOSE,
)
_BLANK_LINE = re.compile(r"^[ \t]*$", re.MULTILINE)
_CLEAN_HEADING = re.compile(r"(?<=\n)[ \t]*\n(?=#{1,6}[ \t\n])")
_FRONT_MATTER = re.compile(
    r"(?P<mark>---|\+\+\+)[ \t]*\n(?P<body>(?:.*\n)*?)(?:(?P=mark)|\.\.\.)[ \t]*(?:\n|\Z)"
)
_FRONT_MATTER_LINE = re.compile(r"""[\w"'.-]+[ \t]*[:=]|\#|\[|\{|[ \t]*\Z""")
_FRONT_MATTER_TITLE = re.compile(r"^title[ \t]*[:=](?P<title>.*)$", re.MULTILINE)
_ANCHOR = re.compile(r"\{[ \t]*[#.:][^{}]*\}$")
_INLINE_MARKUP = re.compile(r"[\0*`\[<\\\n]|&[#\w]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_CODE_SPAN = re.compile(r"(?<!`)`(?!`)(?! )([^`\n\0]+)(?<! )`(?!`)")
_HTML_ENDS = (  # HTML blocks that blank lines do not end (CommonMark 4.6, kinds 1 to 5)
    (
        re.compile(r"<(?:script|pre|style|textarea)(?=[ \t>\n]|\Z)", re.IGNORECASE),
        re.compile(r"</(?:script|pre|style|textarea)>", re.IGNORECASE),
    ),
    (re.compile(r"<!--"), re.compile(r"-->")),
    (re.compile(r"<\?"), re.compile(r"\?>")),
    (re.compile(r"<!\[CDATA\["), re.compile(r"\]\]>")),
    (re.compile(r"<![A-Za-z]"), re.compile(r">")),
)

_PAGE_NUMBER = re.compile(
    r"\W*(?:page|seite|página|pagina|p\.)\s*\d+.{0,12}", re.IGNORECASE
)
_TITLE_WORDS = 8  # of a title above an underline that is not its own
_HTML_HEADING = re.compile(r"<h[1-6][\s>]", re.IGNORECASE)
_HTML_OR_OPAQUE = re.compile(
    r"^ {0,3}(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})|<h(?P<level>[1-6])(?=[\s>])[^<>]*>"
    r"|<(?P<opaque>!--|(?:pre|script|style|table|svg|textarea)\b)",
    re.MULTILINE | re.IGNORECASE,
)
_CLOSERS = {
    "!--": re.compile("-->"),
    **{
        name: re.compile(rf"</{name}\s*>", re.IGNORECASE)
        for name in ("pre", "script", "style", "table", "svg", "textarea")
    },
    **{
        str(level): re.compile(rf"</h{level}\s*>", re.IGNORECASE)
        for level in range(1, 7)
    },
}
_TAG = re.compile(r"<[^<>]*>")
_IMAGE_TAG = re.compile(
    r"<img\b[^<>]*?\balt=[\"']([^\"'<>]*)[\"'][^<>]*>", re.IGNORECASE
)
_HTML_TITLE = 2000  # characters of markup that are looked at for a title


class FrontMatter(NamedTuple):
    """What the front matter of a file says, and where it ends."""

    end: int  # offset behind the closing line; 0 without front matter
    title: str


def front_matter(text: str) -> FrontMatter:
    """The YAML (`---`) or TOML (`+++`) block that opens a file. Its first line must look like a
    setting."""
    if not text.startswith(("---", "+++")):
        return FrontMatter(0, "")
    block = _FRONT_MATTER.match(unify_line_ends(text))
    if block is None or not _FRONT_MATTER_LINE.match(block["body"].partition("\n")[0]):
        return FrontMatter(0, "")
    line = _FRONT_MATTER_TITLE.search(block["body"])
    title = line["title"].strip() if line else ""
    if len(title) > 1 and title[0] == title[-1] and title[0] in "\"'":
        title = title[1:-1].strip()
    return FrontMatter(block.end(), title)


def markdown_headings(text: str, start: int = 0) -> list[Heading]:
    """Headings outside every container, from `start` on, in order.

    Setext headings span both lines; a sentence, or several lines, above `---` are a paragraph and a
    rule. `<h1>` to `<h6>` at the start of a line are headings. The time is linear in the text.
    """
    source = plain_source(text)
    return _with_html_headings(source, start, _scanned_headings(source, start))


def parsed_headings(text: str, start: int = 0) -> list[Heading]:
    """`markdown_headings` by markdown-it-py alone: the reference for tests."""
    source = plain_source(text)
    tokens = _parser().parse(source[start:])
    headings = _headings_of(source, start, len(source), tokens)
    return _with_html_headings(source, start, headings)


def _scanned_headings(source: str, start: int) -> list[Heading]:
    headings: list[Heading] = []
    position = start
    anchor = start  # everything before it is settled, and no container is open there
    # An HTML block or paragraph that opens with a tag may reach this far.
    html_until = start
    while match := _SCAN.search(source, position):
        position = line_end(source, match.end())
        kind = match.lastgroup if match.start() >= html_until else "uncertain"
        if kind == "atx":
            anchor = match.start()
            headings.append(_atx_heading(source, match, position))
        elif kind == "fence":
            position = fence_end(source, match["fence"], position)
        elif kind == "html":
            position, html_until = _html_end(source, match.start())
        elif kind == "underline" and _is_blank_before(source, match.start(), start):
            continue  # a thematic break, or nothing at all
        else:
            position, parsed = _parse_until_clean(source, anchor, position)
            # The stretch may begin with the last heading, which is parsed again.
            while headings and headings[-1].start >= anchor:
                headings.pop()
            headings += parsed
            anchor = html_until = position
    return headings


@lru_cache(maxsize=2)
def _parser(*disabled: str) -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable("table")
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser.disable([*disabled])


@lru_cache(maxsize=1)
def _inline_parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def line_starts(source: str, offset: int) -> list[int]:
    """Where each line begins, and last where the text ends. `offset` is added to each. Only `\\n`
    ends a line."""
    starts = [offset]
    position = source.find("\n")
    while position >= 0:
        starts.append(offset + position + 1)
        position = source.find("\n", position + 1)
    starts.append(offset + len(source))
    return starts


def _atx_heading(source: str, match: re.Match[str], end: int) -> Heading:
    content = source[match.end() : end].strip(" \t\n")
    bare = content.rstrip("#")
    if not bare or bare[-1] in " \t":
        content = bare
    return Heading(len(match["atx"]), plain_title(content), match.start(), end)


def plain_title(markup: str) -> str:
    """A heading as people read it, without inline markup. A trailing `{ #anchor }` is removed too;
    of images the alternative text stays."""
    markup = markup.strip()
    if markup.endswith("}"):
        markup = _ANCHOR.sub("", markup).rstrip()
    if not _INLINE_MARKUP.search(_CODE_SPAN.sub("", markup)):
        return _CODE_SPAN.sub(r"\1", markup)
    title = ""
    for token in _inline_parser().parseInline(markup)[0].children or []:
        if token.type in ("softbreak", "hardbreak"):
            title += " "
        elif token.type != "html_inline":
            title += token.content
    return title.strip()


def _html_end(source: str, start: int) -> tuple[int, int]:
    """Where to scan on behind `<`, and where headings are certain again."""
    for opening, closing in _HTML_ENDS:
        if opened := opening.match(source, start):
            closed = closing.search(source, opened.end())
            end = line_end(source, closed.end()) if closed else len(source)
            return end, end
    blank = _BLANK_LINE.search(source, start)
    return line_end(source, start), blank.start() if blank else len(source)


def _is_blank_before(source: str, line_start: int, start: int) -> bool:
    """Whether the line before is blank. None behind `start` is blank too."""
    previous = (
        source.rfind("\n", start, line_start - 1) + 1
        if line_start - 1 > start
        else start
    )
    return not source[max(previous, start) : line_start].strip(" \t\n")


def _parse_until_clean(
    source: str, anchor: int, position: int
) -> tuple[int, list[Heading]]:
    """Parse from `anchor` to where no container is open.

    Returns that place and the headings. It is a heading behind `position`, or the end. Whether a
    container is open shows in a paragraph put behind the stretch: it is at the top or inside. If
    inside, try further, doubling.
    """
    reach = 1
    end = position
    while True:
        for _ in range(reach):
            boundary = _CLEAN_HEADING.search(source, end) if end < len(source) else None
            end = boundary.end() if boundary else len(source)
        stretch = source[anchor:end]
        tokens = _parser().parse(stretch + "\n\nx")
        if end == len(source) or _ends_at_top(tokens, stretch):
            return end, _headings_of(source, anchor, end, tokens)
        reach *= 2


def _ends_at_top(tokens: list[Token], stretch: str) -> bool:
    """Whether the paragraph put behind the stretch is outside containers."""
    line = stretch.count("\n") + 2
    closes = bool(tokens) and tokens[-1].type == "paragraph_close"
    return closes and tokens[-3].map == [line, line + 1]


def _headings_of(
    source: str, start: int, end: int, tokens: list[Token]
) -> list[Heading]:
    lines = line_starts(source[start:end], start)
    headings = []
    for i, token in enumerate(tokens):
        if token.type != "heading_open" or token.level > 0 or not token.map:
            continue
        first, last = (lines[min(row, len(lines) - 1)] for row in token.map)
        content = tokens[i + 1].content
        is_rule = token.markup == "-" and not _is_underlined(
            content, source[first:last]
        )
        if first < end and not is_rule:
            level = int(token.tag[1:])
            headings.append(Heading(level, plain_title(content), first, last))
    return headings


def _is_underlined(content: str, lines: str) -> bool:
    """Whether a paragraph above `---` is a title. It is one short line. One that ends as a sentence
    does, or that is long, has an underline of its own length."""
    if "\n" in content:
        return False
    underline = lines.strip().rpartition("\n")[2].strip()
    if len(underline) > 3 and abs(len(underline) - len(content)) < 3:
        return True
    bare = content.rstrip("\"'”’»)*_` ")
    if bare[-1:] in tuple(".,;:!…。，；：！、।؟۔") or _PAGE_NUMBER.fullmatch(bare):
        return False
    return len(content.split()) <= _TITLE_WORDS


def _with_html_headings(
    source: str, start: int, headings: list[Heading]
) -> list[Heading]:
    """The headings and those written as tags, in order."""
    if not _HTML_HEADING.search(source, start):
        return headings
    tags = list(_html_headings(source, start))
    spans = [(heading.start, heading.end) for heading in tags]
    others = [
        heading
        for heading in headings
        if not any(
            first < heading.end and heading.start < last for first, last in spans
        )
    ]
    return sorted(tags + others, key=lambda heading: heading.start)


def _html_headings(source: str, start: int) -> Iterator[Heading]:
    """`<h1>` to `<h6>` that begin a line, alone or behind other tags."""
    unclosed: set[str] = set()
    position = start
    while match := _HTML_OR_OPAQUE.search(source, position):
        position = match.end()
        kind = (match["opaque"] or match["level"] or "").lower()
        if match["fence"]:
            position = fence_end(source, match["fence"], position)
            continue
        stop = len(source) if match["opaque"] else position + _HTML_TITLE
        closing = None
        if kind not in unclosed:
            closing = _CLOSERS[kind].search(source, position, stop)
        if closing is None and match["opaque"]:
            unclosed.add(kind)
        elif closing is None:
            continue
        elif match["opaque"]:
            position = closing.end()
        else:
            first = max(source.rfind("\n", start, match.start()) + 1, start)
            inner = source[match.end() : closing.start()]
            title = plain_title(" ".join(_IMAGE_TAG.sub(r" \1 ", inner).split()))
            if title and _begins_line(source, start, first, match.start()):
                position = closing.end()
                last = line_end(source, position)
                rest = _TAG.sub("", source[position:last][:_HTML_TITLE])
                end = position if rest.strip() else last
                yield Heading(int(kind), title, first, end)


def _begins_line(source: str, start: int, first: int, place: int) -> bool:
    """Whether only tags stand before a heading's, and the line is no code or part of an item."""
    before = source[first:place][:_HTML_TITLE]
    if _TAG.sub("", before).strip():
        return False
    return before[:1] not in (" ", "\t") or not _is_blank_before(source, first, start)


_INK = re.compile(r"\S")
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
    # Link definitions cost a third of the time; where text is only cut they are paragraphs.
    tokens = _parser("reference").parse(source)
    blocks: list[Block] = []
    reach = 0  # up to where a table of HTML goes on over blank lines
    is_closed = True  # no table is left open
    for i, token in enumerate(tokens):
        if token.level > 0 or not token.map or token.nesting < 0:
            continue
        first, last = token.map
        last = min(last, len(lines) - 1)
        start, end = lines[first], lines[last]
        if start < reach:
            continue
        kind = _KINDS.get(token.type, "other")
        if kind == "paragraph":
            kind = _paragraph_kind(text[start - lines[0] : end - lines[0]].strip())
        if kind == "list":
            blocks += _list_blocks(tokens, i, lines, source)
        elif kind == "table":
            blocks.append(_pipe_block(lines, first, last))
        elif kind == "html":
            if is_closed:
                reach = _table_end(source, start - lines[0], end - lines[0]) + lines[0]
                is_closed = reach >= end
            closed = max(reach, end) - lines[0]
            blocks += html_blocks(source, start - lines[0], closed, lines[0])
        else:
            cuts = lines[first + 1 : last] if kind in ("code", "quote", "math") else []
            blocks.append(Block(kind, start, end, tuple(cuts)))
    return blocks


def _pipe_block(lines: list[int], first: int, last: int) -> Block:
    header_end = lines[min(first + 2, len(lines) - 1)]
    cuts = tuple(lines[first + 2 : last])
    return Block("table", lines[first], lines[last], cuts, header_end)


def _table_end(source: str, start: int, end: int) -> int:
    """Where HTML ends that begins at `start`: blank lines do not end an open table. Before its
    start if a table is never closed."""
    depth = 0
    for match in TABLE_TAG.finditer(source, start):
        if match.start() >= end and depth <= 0:
            break
        depth += -1 if match[1] else 1
        if depth <= 0 and match.end() > end:
            blank = _BLANK_LINE.search(source, match.end())
            end = blank.start() if blank else len(source)
    return end if depth <= 0 else start - 1


def _list_blocks(
    tokens: list[Token], i: int, lines: list[int], source: str
) -> list[Block]:
    """A list; each table in its items is a block of its own."""
    first, last = tokens[i].map or (0, 0)
    blocks: list[Block] = []
    items: list[int] = []
    position, quotes = lines[first], 0
    for number in range(i + 1, len(tokens)):  # a copy of the rest takes long
        token = tokens[number]
        if token.level == 0:
            break
        if token.type == "list_item_open" and token.level == 1 and token.map:
            items.append(lines[token.map[0]])
        quotes += token.nesting * token.type.startswith("blockquote")
        inner = [] if quotes else _tables_of(token, lines, source)
        if inner:
            if position < inner[0].start:
                blocks.append(Block("list", position, inner[0].start, tuple(items)))
            blocks += inner
            position, items = inner[-1].end, []
    following = _INK.search(source, position - lines[0], lines[last] - lines[0])
    if following:
        start = source.rfind("\n", 0, following.start()) + 1 + lines[0]
        blocks.append(Block("list", start, lines[last], tuple(items)))
    return blocks


def _tables_of(token: Token, lines: list[int], source: str) -> list[Block]:
    """The blocks of a table inside a list; of anything else none."""
    if token.type not in ("table_open", "html_block") or not token.map:
        return []
    first, last = token.map
    if token.type == "table_open":
        return [_pipe_block(lines, first, last)]
    start, end = lines[first] - lines[0], lines[last] - lines[0]
    inner = list(html_blocks(source, start, end, lines[0]))
    return inner if any(block.header_end for block in inner) else []


def _paragraph_kind(text: str) -> BlockKind:
    if text.startswith(("!", "[")) and _IMAGE_ONLY.fullmatch(text):
        return "image"
    is_math = text.startswith(("$$", "\\[", "\\begin{")) and text.endswith(
        ("$$", "\\]", "}")
    )
    return "math" if is_math else "paragraph"
