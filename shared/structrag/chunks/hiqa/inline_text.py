"""Images in Markdown or HTML, and cells as people read them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference

from structrag.reading.html.reader import read_html
from structrag.reading.html.text import unescaped
from structrag.reading.html.tokens import START, TEXT, tokens

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
