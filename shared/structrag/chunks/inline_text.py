"""What stands inside a line of Markdown or HTML: images, and cells as people read them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from html import unescape
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference

from structrag.sections.html_tokens import END, START, TEXT, attributes, tokens

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
_LOOSE_IMAGE = re.compile(r"!\[([^\]]*)\]\(\s*<?([^)>]*?)>?(?:\s+[\"'(]([^\"')]*)[\"')])?\s*\)")


class Image(NamedTuple):
    """One reference to an image; "" for what it does not say."""

    file: str  # the address as it is written
    alt: str
    title: str = ""

    def as_json(self) -> dict[str, str]:
        """Plain values for `extras`. Of an image written out in the text (`data:...`), `file` keeps the media type only."""
        file = self.file.partition(",")[0] if self.file.startswith("data:") else self.file
        named = {"file": file, "alt": self.alt}
        return {**named, "title": self.title} if self.title else named


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    """Inline rules, with every address taken as it is written: nothing is fetched, it is only named."""
    parser = MarkdownIt("commonmark")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]
    parser.normalizeLink = lambda url: url  # type: ignore[method-assign]
    return parser


def plain_cell(markup: str) -> str:
    """A table cell of Markdown as people read it, white space collapsed."""
    cell = " ".join(markup.replace("\\|", "|").split())
    if not _MARKUP.search(cell):
        return cell
    children = _parser().parseInline(cell)[0].children or []
    plain = "".join(
        token.content if token.type != "html_inline" else "" if _JOINING_TAG.match(token.content) else " "
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
    """The images of a stretch of Markdown outside code blocks, HTML `<img>` among them, in order; those in code spans are none."""
    if not may_have_images(markup):
        return []
    env: dict[str, Any] = {"references": references}
    images = []
    for token in _parser().parseInline(markup, env)[0].children or []:
        if token.type == "image":
            alt = "".join(child.content for child in token.children or [])
            images.append(Image(str(token.attrs["src"]), _one_line(alt), _one_line(str(token.attrs.get("title", "")))))
        elif token.type == "html_inline" and token.content[:4].lower() == "<img":
            images.append(_html_image(token.content, 0, len(token.content)))
    return images


def lone_images(markup: str, references: References) -> list[Image]:
    """The images of a block that holds nothing else; addresses with spaces, which CommonMark does not allow, are read too."""
    return markdown_images(markup, references) or [
        Image(match[2], _one_line(match[1]), _one_line(match[3] or "")) for match in _LOOSE_IMAGE.finditer(markup)
    ]


def html_figure(markup: str) -> tuple[list[Image], str] | None:
    """The images of a piece of HTML that shows nothing else but a `figcaption`, and that caption; None for any other piece."""
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
    """The spans of outermost `<table>` elements in a piece of HTML, and how many are left open at its end."""
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
    values = {name: unescape(source[slice(*spans[name])]) for name in ("src", "alt", "title") if name in spans}
    return Image(values.get("src", "").strip(), _one_line(values.get("alt", "")), _one_line(values.get("title", "")))


def _one_line(text: str) -> str:
    return " ".join(text.split())
