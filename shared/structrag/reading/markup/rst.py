"""reStructuredText: its sections as docutils finds them, and its blocks.

Titles are underlined, or over- and underlined; each new kind of line is one level deeper. What is
indented, literal, a table or the content of a directive holds no titles.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from unicodedata import combining, east_asian_width

from structrag.reading.markup.lines import (
    Element,
    Lines,
    by_word,
    code,
    elements,
    filled,
    indented,
    items,
    lines_of,
    paragraph,
    tiled,
)
from structrag.records import BlockKind, Heading

_RULE = re.compile(r"([!-/:-@\[-`{-~])\1*")
_TABLE_RULE = re.compile(r"=[ =]*")
_BULLET = re.compile(r"[-+*•‣⁃](?:[ ]|$)")
_NUMBER = re.compile(r"(\(?)(\d+|[A-Za-z#]|[ivxlcdm]+|[IVXLCDM]+)([.)])(?:[ ]|$)")
_FIELD = re.compile(r":(?![: ])(?:[^:\\]|\\.|:(?![ `]|$))*(?<! ):(?:[ ]|$)")
_OPTION = re.compile(
    r"(?:-\w|--?[A-Za-z][\w-]*|/[A-Z])(?:(?:, |[ =,])[^\s=,]+){0,8}?[ ]{2,}\S"
)
_GRID = re.compile(r"\+-[-+]+-\+")
_GRID_HEADER = re.compile(r"\+=[=+]+=\+")
_SIMPLE = re.compile(r"=+(?:[ ]+=+)+")
_DIRECTIVE = re.compile(r"\.\.[ ]+(?:\|[^|]*\|[ ]+)?([\w:.+-]+?)[ ]?::(?:[ ]|$)")
_EXPLICIT = re.compile(r"(?:\.\.|__)(?:[ ]|$)")
_ROW = re.compile(r"[ ]+\*[ ]+-")
_KINDS: dict[str, BlockKind] = by_word(
    code="code code-block sourcecode parsed-literal doctest testcode productionlist raw",
    math="math",
    image="image figure",
    table="table list-table csv-table",
    quote="epigraph",
)


def headings(text: str) -> list[Heading]:
    """The section titles, in order; levels by the order in which their lines first occur.

    A title that skips a level, an error to docutils, is a heading all the same.
    """
    lines = lines_of(text)
    styles: dict[str, int] = {}
    found = []
    for i, element in elements(lines, _element):
        if element.title is not None:
            level = styles.setdefault(element.style, len(styles) + 1)
            span = lines[i].start, lines[element.stop - 1].end
            found.append(Heading(level, element.title, *span))
    return found


def title(text: str) -> str:
    """The first title, if no other one is of its level; else ""."""
    found = headings(text)
    outer = [heading.title for heading in found if heading.level == 1]
    return outer[0] if len(outer) == 1 else ""


def _element(lines: Lines, i: int, before: Element | None) -> Element:
    line = lines[i].text
    if before and before.note == "literal":
        stop = indented(lines, i)
        if line[0] != " " and not line[0].isalnum():  # a quoted literal block
            stop = paragraph(lines, i, lambda other: other[0] != line[0])
        if stop > i:
            return code(i, stop)
    if line[0] == " ":
        return Element(indented(lines, i), "quote")
    if _RULE.fullmatch(line):
        titled = _ruled(lines, i) or _titled(lines, i)
        return titled or _marked(lines, i, line) or _text(lines, i)
    if not line[0].isalnum():
        element = _marked(lines, i, line)
        if element:
            return element
    elif _is_numbered(lines, i):
        return items(lines, i, partial(_is_numbered, lines))
    return _titled(lines, i) or _text(lines, i)


def _text(lines: Lines, i: int) -> Element:
    """A paragraph, or a term with its indented definition."""
    is_term = i + 1 < len(lines) and lines[i + 1].text[:1] == " "
    if is_term:
        return Element(indented(lines, i + 1))
    stop = paragraph(lines, i, lambda line: line[0] == " ")
    last = lines[stop - 1].text
    return Element(stop, note="literal" if last.endswith("::") else "")


def _titled(lines: Lines, i: int) -> Element | None:
    """A title with a line below it."""
    below = lines[i + 1].text if i + 1 < len(lines) else ""
    title = lines[i].text
    if not _RULE.fullmatch(below) or len(below) < min(4, _width(title)):
        return None
    return Element(i + 2, title=_tidy(title), style=below[0])


def _ruled(lines: Lines, i: int) -> Element | None:
    """What begins with a line of one character: an overlined title or a transition."""
    rule, *following = (line.text for line in lines[i : i + 3])
    title = following[0] if following else ""
    is_long = len(rule) >= 4
    if not title:
        return Element(i + 1, "other") if is_long else None
    if _RULE.fullmatch(title):
        return Element(i + 2, "other") if is_long else None
    below = following[1] if len(following) > 1 else ""
    if below != rule or (not is_long and _width(title) > len(rule)):
        return Element(i + 1 + len(following)) if is_long else None
    return Element(i + 3, title=_tidy(title), style=rule[0] * 2)


def _is_item(lines: Lines, begins: Callable[[str], object], i: int) -> bool:
    return bool(begins(lines[i].text))


def _is_numbered(lines: Lines, i: int) -> bool:
    """Whether a number begins an item: not if text of its own paragraph follows."""
    if not _NUMBER.match(lines[i].text):
        return False
    following = lines[i + 1].text if i + 1 < len(lines) else ""
    return not following or following[0] == " " or bool(_NUMBER.match(following))


def _marked(lines: Lines, i: int, line: str) -> Element | None:
    """What begins with a mark: lists, tables, directives, comments, doctests."""
    if _EXPLICIT.match(line):
        return _explicit(lines, i)
    if line.startswith(">>>"):
        return code(i, paragraph(lines, i))
    for begins in (_BULLET.match, _FIELD.match, _OPTION.match):
        if begins(line):
            return items(lines, i, partial(_is_item, lines, begins))
    if _is_numbered(lines, i):
        return items(lines, i, partial(_is_numbered, lines))
    if line.startswith("| ") or line == "|":
        return Element(paragraph(lines, i, lambda other: other[0] not in "| "))
    if _GRID.fullmatch(line):
        stop = paragraph(lines, i, lambda other: other[0] not in "+|")
        rows = [j for j in range(i + 1, stop) if lines[j - 1].text.startswith("+-")]
        header = [
            j + 1 for j in range(i, stop) if _GRID_HEADER.fullmatch(lines[j].text)
        ]
        return _table(i, stop, [*header, *rows], header[0] if header else 0)
    if _SIMPLE.fullmatch(line):
        return _simple_table(lines, i)
    return None


def _table(i: int, stop: int, rows: list[int], header: int) -> Element:
    cuts = tuple(sorted({row for row in rows if max(i + 1, header) <= row < stop}))
    return Element(stop, "table", cuts, header)


def _simple_table(lines: Lines, i: int) -> Element:
    """From its first line of `=` to the last: the third, or one before a blank line."""
    length = len(lines[i].text)
    rules = []
    for j in range(i + 1, len(lines)):
        if not _TABLE_RULE.fullmatch(lines[j].text):
            continue
        if len(lines[j].text) != length:
            return Element(j + 1)
        rules.append(j)
        if len(rules) == 2 or j + 1 == len(lines) or not lines[j + 1].text:
            break
    stop = rules[-1] + 1 if rules else len(lines)
    header = rules[0] + 1 if len(rules) > 1 else 0
    rows = [j for j in range(i + 1, stop) if lines[j].text[:1] not in ("", " ", "=")]
    return _table(i, stop, rows, header)


def _explicit(lines: Lines, i: int) -> Element:
    """A directive, a comment, a target or a note, with all that is indented below it."""
    stop = max(i + 1, indented(lines, i + 1))
    if i + 1 < len(lines) and not lines[i + 1].text and lines[i].text == "..":
        stop = i + 1  # an empty comment ends at once
    directive = _DIRECTIVE.match(lines[i].text)
    if not directive:
        return Element(stop, "other")
    kind = _KINDS.get(directive[1].lower(), "other")
    if kind == "table":
        body = filled(lines, i + 1)
        while body < stop and lines[body].text.lstrip().startswith(":"):
            body = filled(lines, body + 1)
        rows = [j for j in range(body, stop) if _ROW.match(lines[j].text)]
        return _table(i, stop, rows or list(range(body + 1, stop)), 0)
    return code(i, stop, kind)


def _width(title: str) -> int:
    if title.isascii():
        return len(title)
    return sum(
        0 if combining(c) else 2 if east_asian_width(c) in "WF" else 1 for c in title
    )


def _tidy(title: str) -> str:
    return " ".join(title.split())


# The blocks that tile `text[start:end]`, a section's own body.
blocks = partial(tiled, _element)
