"""Images in Markdown or HTML, and tables of pipe rows or HTML: headers, rows, places, and cells as
people read them (HiQA, section 3.2)."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference

from structrag.reading.html.blocks import read_table
from structrag.reading.html.reader import read_html
from structrag.reading.html.text import unescaped
from structrag.reading.html.tokens import START, TEXT, tokens
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


# Normalised label -> {"href": ..., "title": ...}
References = Mapping[str, Mapping[str, str]]

_LONGEST_CELL = 2000  # characters; in a longer cell the markup stays
_MARKUP = re.compile(r"[*`\[<\\&~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
# Tags inside a word; any other one is the edge of a word.
_JOINING_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strong"
    r"|sub|sup|tt|u|var|wbr)(?=[\s/>])",
    re.IGNORECASE,
)
_DEFINITION = re.compile(
    r"""^[ ]{0,3}\[(?P<label>(?:[^\[\]\\\n]|\\.)+)\]:[ \t]*"""
    r"""(?:<(?P<angled>[^<>\n]*)>|(?P<bare>\S+))"""
    r"""(?:[ \t]+(?:"(?P<title>[^"\n]*)"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$""",
    re.MULTILINE,
)
# The loose form, an address with spaces, is not CommonMark but common.
_IMAGE = re.compile(
    r"""(?P<escape>\\.)
    | (?P<ticks>`+)
    | (?P<tag><img(?=[\s/>])(?:[^<>"']|"[^"]*"|'[^']*')*>)
    | !\[ (?P<alt>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,10000}) \]
      (?: \( \s* (?!\s)  # white space that could be divided in many ways takes quadratic time
             (?: <(?P<angled>[^<>\n]*)>
               | (?P<bare>(?:[^\s()\\]|\\.|\([^\s()]*\))*)
               | (?P<loose>[^()<>"'\n]{1,300}?(?<!\s))
             )
             (?: \s+
               (?: "(?P<double>[^"]{0,1000})"
                 | '(?P<single>[^']{0,1000})'
                 | \((?P<round>[^()]{0,1000})\)
               )
             )? \s* \)
        | \[ (?P<label>[^\[\]]{0,300}) \]
      )?""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_BESIDE_IMAGES = re.compile(
    r"(?:\s|\[\s*\](?:\([^()]*\)|\[[^\[\]]*\])|\{[^{}]*\}|</?[a-z][^<>]*>)*",
    re.IGNORECASE,
)


class Image(NamedTuple):
    """One reference to an image; "" is what it does not say.

    Example:
        >>> Image("nova.png", "The Nova").as_json()
        {'file': 'nova.png', 'alt': 'The Nova'}
    """

    file: str  # the address as it is written
    alt: str
    title: str = ""

    def as_json(self) -> dict[str, str]:
        """Plain values for `extras`. Of an image written out in the text (`data:...`), `file` keeps
        the media type only."""
        file = (
            self.file.partition(",")[0] if self.file.startswith("data:") else self.file
        )
        values = {"file": file, "alt": self.alt}
        if self.title:
            values["title"] = self.title
        return values


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def plain_cell(markup: str) -> str:
    """A table cell of Markdown as people read it.

    White space is collapsed. In a cell above 2,000 characters the markup stays.

    Example:
        >>> plain_cell(" **Nova**  [phone](nova.html) ")
        'Nova phone'
    """
    cell = _one_line(markup.replace("\\|", "|"))
    if len(cell) > _LONGEST_CELL or not _MARKUP.search(cell):
        return cell
    parts = []
    for token in _parser().parseInline(cell)[0].children or []:
        if token.type != "html_inline":
            parts.append(token.content)
        elif not _JOINING_TAG.match(token.content):
            parts.append(" ")
    return _one_line("".join(parts)) or cell


def link_definitions(text: str) -> References:
    """The link reference definitions of a Markdown text. The first one of a label counts."""
    targets: dict[str, dict[str, str]] = {}
    for match in _DEFINITION.finditer(text):
        target = {
            "href": match["angled"] or match["bare"] or "",
            "title": match["title"] or "",
        }
        targets.setdefault(normalizeReference(match["label"]), target)
    return targets


def may_have_images(markup: str) -> bool:
    """Return True if a text is worth searching for images."""
    return "![" in markup or "<img" in markup or "<IMG" in markup


def markdown_images(markup: str, references: References) -> list[Image]:
    """Return the images of a stretch of Markdown, in order, with HTML `<img>` and without code
    spans. Linear in the text."""
    return [image for _, _, image in _placed_images(markup, references)]


def lone_images(markup: str, references: References) -> list[Image]:
    """Return the images of a paragraph of nothing else, else none. Links around them and
    `{attributes}` after them are allowed."""
    placed = _placed_images(markup, references)
    rest = []
    position = 0
    for start, end, _ in placed:
        rest.append(markup[position:start])
        position = end
    rest.append(markup[position:])
    if not _BESIDE_IMAGES.fullmatch("".join(rest)):
        return []
    return [image for _, _, image in placed]


def _placed_images(markup: str, references: References) -> list[tuple[int, int, Image]]:
    """Images with their spans."""
    if not may_have_images(markup):
        return []
    runs: dict[int, list[int]] = {}  # where runs of so many backticks begin
    for run in re.finditer("`+", markup):
        runs.setdefault(len(run[0]), []).append(run.start())
    placed = []
    position = 0
    while match := _IMAGE.search(markup, position):
        position = match.end()
        image = None
        if match["ticks"]:
            # A code span ends at the next run of as many backticks; without one it is none.
            same = runs.get(len(match["ticks"]), [])
            closing = bisect_left(same, position)
            position = (
                same[closing] + len(match["ticks"]) if closing < len(same) else position
            )
        elif match["tag"]:
            image = _html_image(match[0])
        elif not match["escape"]:
            image = _markdown_image(match, references)
            position = position if image else match.start() + 2
        if image:
            placed.append((match.start(), match.end(), image))
    return placed


def _markdown_image(match: re.Match[str], references: References) -> Image | None:
    alt = plain_cell(match["alt"])
    for form in ("angled", "bare", "loose"):
        if match[form] is not None:
            title = match["double"] or match["single"] or match["round"] or ""
            return Image(match[form].strip(), alt, _one_line(title))
    target = references.get(normalizeReference(match["label"] or match["alt"]))
    return Image(target["href"], alt, _one_line(target["title"])) if target else None


def html_figure(markup: str) -> tuple[list[Image], str] | None:
    """The images of a piece of HTML, and their `figcaption`. None for a piece without images, or
    that shows anything else."""
    images: list[Image] = []
    caption: list[str] = []
    depth = 0
    for kind, name, start, end in tokens(markup):
        if kind == TEXT:
            words = unescaped(markup[start:end]).split()
            if words and not depth:
                return None
            caption += words
        elif name == "figcaption":
            depth = max(0, depth + (1 if kind == START else -1))
        elif name == "img" and kind == START:
            images += filter(None, [_html_image(markup[start:end])])
    return (images, " ".join(caption)) if images else None


def _html_image(tag: str) -> Image | None:
    for image in read_html(tag)[2].images:
        return Image(image.file, image.alt, image.title)
    return None


def _one_line(text: str) -> str:
    return " ".join(text.split())
