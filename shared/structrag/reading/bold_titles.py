"""Bold lines that stand for headings. Some converters of PDF files write them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from structrag.reading.markdown import line_starts, plain_title
from structrag.reading.markdown_source import plain_source
from structrag.records import Heading

# A line of bold runs and nothing else: `**2 Methods**`, `**2** **Methods**`.
BOLD_LINE = re.compile(r" {0,3}(?:\*\*[^*\s](?:[^*]*[^*\s])?\*\*[ \t]*)+$")
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_LENGTH, _WORDS = 100, 12  # most of a title
_MOST = 0.5  # of all paragraphs that may be such lines
_FEWEST = 2  # one alone is emphasis


def bold_headings(text: str, start: int = 0) -> list[Heading]:
    """Bold lines as headings of level 1.

    For a Markdown text without any heading. Such a line is a paragraph of its own between blank
    lines, short, no sentence (no `.`, `:`, `,`, `;` or `!` at its end), and text follows, or a
    line that is one too and numbered. There are at least two, and no more than paragraphs of text.
    Else there are none.

    Example:
        >>> headings = bold_headings("**1 Pumps**\\n\\nThey leak.\\n\\n**2 Taps**\\n\\nThey drip.")
        >>> [heading.title for heading in headings]
        ['1 Pumps', '2 Taps']
    """
    if "**" not in text:
        return []
    paragraphs = list(_paragraphs(text, start))
    titles = [_title(text[first:last]) for first, last in paragraphs]
    headings = []
    for place, (title, (first, last)) in enumerate(
        zip(titles, paragraphs, strict=True)
    ):
        following = titles[place + 1] if place + 1 < len(titles) else None
        is_followed = following == "" or bool(following and following[0].isdigit())
        if title and is_followed:
            headings.append(Heading(1, title, first, last))
    if len(headings) < _FEWEST or len(headings) > _MOST * len(paragraphs):
        return []
    return headings


def _title(paragraph: str) -> str:
    """The title that a bold line holds; "" for anything else."""
    line = paragraph.rstrip("\r\n")
    if "\n" in line or not BOLD_LINE.match(line):
        return ""
    title = " ".join(plain_title(line).split())
    if (
        len(title) > _LENGTH
        or len(title.split()) > _WORDS
        or title[-1:] in tuple(".:,;!")
    ):
        return ""
    return title if any(map(str.isalpha, title)) else ""


def _paragraphs(text: str, start: int) -> Iterator[tuple[int, int]]:
    """The spans of lines between blank ones, line ends included. Fenced code is one span."""
    source = plain_source(text)
    lines = line_starts(source[start:], start)
    first = None
    fence = ""
    for begin, end in pairwise(lines):
        line = source[begin:end]
        opening = _FENCE.match(line)
        mark = opening[0].strip() if opening else ""
        if not fence:
            fence = mark
        elif mark.startswith(fence):
            fence = ""
        if line.strip() or fence:
            first = begin if first is None else first
        elif first is not None:
            yield first, begin
            first = None
    if first is not None:
        yield first, lines[-1]
