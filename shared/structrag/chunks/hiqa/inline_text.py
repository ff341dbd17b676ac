"""What stands inside a line of Markdown or HTML: images, and cells as people read them."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference

from structrag.reading.html.tokens import END, START, TEXT, attributes, tokens

References = Mapping[str, Mapping[str, str]]  # normalised label -> {"href": ..., "title": ...}

_MARKUP = re.compile(r"[*`\[<\\&~]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])")
_JOINING_TAG = re.compile(
    r"</?(?:a|abbr|b|bdi|bdo|cite|code|del|dfn|em|font|i|ins|kbd|mark|q|s|samp|small|span|strong|sub|sup|tt|u|var|wbr)(?=[\s/>])",
    re.IGNORECASE,
)  # tags inside a word; any other one is the edge of a word
_DEFINITION = re.compile(
    r"""^[ ]{0,3}\[(?P<label>(?:[^\[\]\\\n]|\\.)+)\]:[ \t]*(?:<(?P<angled>[^<>\n]*)>|(?P<bare>\S+))"""
    r"""(?:[ \t]+(?:"(?P<title>[^"\n]*)"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*$""",
    re.MULTILINE,
)
_IMAGE = re.compile(
    r"""(?P<escape>\\.)
    | (?P<ticks>`+)
    | (?P<tag><img(?=[\s/>])(?:[^<>"']|"[^"]*"|'[^']*')*>)
    | !\[ (?P<alt>(?:[^\[\]\\]|\\.|\[[^\[\]]{0,200}\]){0,10000}) \]
      (?: \( \s* (?: <(?P<angled>[^<>\n]*)> | (?P<bare>(?:[^\s()\\]|\\.|\([^\s()]*\))*) | (?P<loose>[^()<>"'\n]{1,300}?) )
             (?: \s+ (?: "(?P<double>[^"]{0,1000})" | '(?P<single>[^']{0,1000})' | \((?P<round>[^()]{0,1000})\) ) )? \s* \)
        | \[ (?P<label>[^\[\]]{0,300}) \]
      )?""",
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)  # the loose form, an address with spaces, is not CommonMark but common
_BESIDE_IMAGES = re.compile(
    r"(?:\s|\[\s*\](?:\([^()]*\)|\[[^\[\]]*\])|\{[^{}]*\}|</?[a-z][^<>]*>)*", re.IGNORECASE
)


class Image(NamedTuple):
    """One reference to an image; "" for what it does not say."""

    file: str  # the address as it is written
    alt: str
    title: str = ""

    def as_json(self) -> dict[str, str]:
        """Plain values for `extras`. Of an image written out in the text (`data:...`), `file` keeps
        the media type only."""
        file = self.file.partition(",")[0] if self.file.startswith("data:") else self.file
        named = {"file": file, "alt": self.alt}
        return {**named, "title": self.title} if self.title else named


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    return MarkdownIt("commonmark")


def plain_cell(markup: str) -> str:
    """A table cell of Markdown as people read it, white space collapsed. Above 2,000 characters the
    markup stays."""
    cell = " ".join(markup.replace("\\|", "|").split())
    if len(cell) > 2000 or not _MARKUP.search(cell):
        return cell
    children = _parser().parseInline(cell)[0].children or []
    plain = "".join(
        token.content
        if token.type != "html_inline"
        else ""
        if _JOINING_TAG.match(token.content)
        else " "
        for token in children
    )
    return " ".join(plain.split()) or cell


def link_definitions(text: str) -> References:
    """The link reference definitions of a Markdown text, first one of a label first."""
    found: dict[str, dict[str, str]] = {}
    for match in _DEFINITION.finditer(text):
        target = {"href": match["angled"] or match["bare"] or "", "title": match["title"] or ""}
        found.setdefault(normalizeReference(match["label"]), target)
    return found


def may_have_images(markup: str) -> bool:
    """Whether it is worth looking for images."""
    return "![" in markup or "<img" in markup or "<IMG" in markup


def markdown_images(markup: str, references: References) -> list[Image]:
    """The images of a stretch of Markdown, HTML `<img>` among them, in order; those in code spans
    are none. Linear in the text."""
    return (
        [image for _, _, image in _placed_images(markup, references)]
        if may_have_images(markup)
        else []
    )


def lone_images(markup: str, references: References) -> list[Image]:
    """The images of a paragraph that holds nothing else, links around them and `{attributes}`
    behind them aside; else none."""
    placed = _placed_images(markup, references) if may_have_images(markup) else []
    edges = [0, *(edge for start, end, _ in placed for edge in (start, end)), len(markup)]
    rest = "".join(markup[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))
    return [image for _, _, image in placed] if _BESIDE_IMAGES.fullmatch(rest) else []


def _placed_images(markup: str, references: References) -> list[tuple[int, int, Image]]:
    """Images with their spans."""
    runs: dict[int, list[int]] = {}  # where runs of so many backticks begin
    for run in re.finditer("`+", markup):
        runs.setdefault(len(run[0]), []).append(run.start())
    placed = []
    position = 0
    while match := _IMAGE.search(markup, position):
        position = match.end()
        image = None
        if match["ticks"]:
            same = runs.get(len(match["ticks"]), [])
            closing = bisect_left(same, position)
            position = same[closing] + len(match["ticks"]) if closing < len(same) else position
        elif match["tag"]:
            image = _html_image(markup, *match.span())
        elif not match["escape"]:
            image = _markdown_image(match, references)
            position = position if image else match.start() + 2
        if image:
            placed.append((match.start(), match.end(), image))
    return placed


def _markdown_image(match: re.Match[str], references: References) -> Image | None:
    alt = plain_cell(match["alt"])
    file = next(
        (match[name] for name in ("angled", "bare", "loose") if match[name] is not None), None
    )
    if file is not None:
        title = match["double"] or match["single"] or match["round"] or ""
        return Image(file.strip(), alt, _one_line(title))
    target = references.get(normalizeReference(match["label"] or match["alt"]))
    return Image(target["href"], alt, _one_line(target["title"])) if target else None


def html_figure(markup: str) -> tuple[list[Image], str] | None:
    """The images of a piece of HTML that shows nothing else but a `figcaption`, and that caption;
    None for any other piece."""
    images: list[Image] = []
    caption: list[str] = []
    depth = 0
    for kind, name, start, end in tokens(markup):
        if kind == TEXT:
            words = unescape(markup[start:end]).split()
            if words and not depth:
                return None
            caption += words
        elif name == "figcaption":
            depth = max(0, depth + (1 if kind == START else -1))
        elif name == "img" and kind == START:
            images.append(_html_image(markup, start, end))
    return (images, " ".join(caption)) if images else None


def html_tables(markup: str) -> tuple[list[tuple[int, int]], int]:
    """The spans of outermost `<table>` elements in a piece of HTML, and how many are left open at
    its end."""
    spans = []
    depth = opened = 0
    for kind, name, start, end in tokens(markup):
        if name != "table":
            continue
        if kind == START:
            opened = opened if depth else start
            depth += 1
        elif kind == END and depth:
            depth -= 1
            if not depth:
                spans.append((opened, end))
    return spans, depth


def _html_image(source: str, start: int, end: int) -> Image:
    spans = attributes(source, start, end)
    values = {
        name: unescape(source[slice(*spans[name])])
        for name in ("src", "alt", "title")
        if name in spans
    }
    return Image(
        values.get("src", "").strip(),
        _one_line(values.get("alt", "")),
        _one_line(values.get("title", "")),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
