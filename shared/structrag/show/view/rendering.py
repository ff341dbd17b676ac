"""How Markdown looks on the page: which characters are marks, and what the rest is set as. The text
stays whole, so that every place on the page is a place of the document."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from structrag.reading.outline import Outline
from structrag.records import Block

WIDEST = 40  # characters of a table's column that count for its share of the width
NARROWEST = 10
LINE = 64  # characters that a line of the page holds: a smaller table is not stretched

_INLINE = re.compile(
    r"(?P<code>(?<!`)`(?!`)[^`\n]{1,300}`(?!`))"
    r"|(?P<image>!\[[^\]\n]{0,300}\]\([^)\s]{0,500}\))"
    r"|(?P<link>\[[^\]\[\n]{1,300}\]\([^)\s]{1,500}\))"
    r"|(?P<strong>\*\*(?=\S)[^*\n]{1,500}(?<=\S)\*\*)"
    r"|(?P<em>(?<![\w*])\*(?=[^\s*])[^*\n]{1,500}(?<=[^\s*])\*(?![\w*]))"
    r"|(?P<escape>\\[!-/:-@\[-`{-~])"
)
_BULLET = re.compile(r"^[ \t]*(?P<sign>[-*+])[ \t]+(?=\S)", re.MULTILINE)
_QUOTE = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
_FENCE = re.compile(r"^[ \t]*(?:`{3,}|~{3,})[^\n]*\n?", re.MULTILINE)
_CLOSING = re.compile(r"(?<![ \t])[ \t]+#+[ \t]*$")
_RULE = re.compile(
    r"^[ \t]*(?:\|[ \t]*)?:?-+:?[ \t]*(?:\|[ \t]*(?:(?::-*:?|-+:?)[ \t]*)?)*$"
)
_PIPE = re.compile(r"(?<!\\)\|")


class Look(NamedTuple):
    """A span of the text and what it is set as. A "mark" is not shown, a "cell" takes `width` %."""

    start: int
    end: int
    kind: str
    width: int = 0


def looks(outline: Outline) -> list[Look]:
    """The looks of a document in Markdown, in order; of another format none.

    Spans of one kind do not overlap. Raw HTML, formulas and whatever else is not known for certain
    stand as they are.
    """
    document = outline.document
    if document.format != "markdown":
        return []
    found: list[Look] = []
    for section in outline.sections:
        if section.level:
            found += _heading(document.text, section.start, section.body_start)
        for block in outline.blocks(section):
            found += _block(document.text, block)
    return sorted(set(found))


def _heading(text: str, start: int, end: int) -> Iterator[Look]:
    line = text[start:end].partition("\n")[0]
    marks = re.match(r"[ \t]*#{1,6}[ \t]+", line)
    if marks:
        yield Look(start, start + marks.end(), "mark")
        closing = _CLOSING.search(line, marks.end())
        if closing:
            yield Look(start + closing.start(), start + closing.end(), "mark")
    yield from _inline(line, start)


def _block(text: str, block: Block) -> Iterator[Look]:
    body = text[block.start : block.end]
    if block.kind == "code":
        for fence in _FENCE.finditer(body):
            yield Look(block.start + fence.start(), block.start + fence.end(), "mark")
    elif block.kind == "table" and "|" in body:
        yield from _table(body, block.start)
    else:
        for bullet in _BULLET.finditer(body):
            sign = block.start + bullet.start("sign")
            yield Look(sign, sign + 1, "bullet")
        for quote in _QUOTE.finditer(body):
            yield Look(block.start + quote.start(), block.start + quote.end(), "mark")
        yield from _inline(body, block.start)


def _inline(body: str, start: int) -> Iterator[Look]:
    for match in _INLINE.finditer(body):
        kind = str(match.lastgroup)
        first, last = start + match.start(), start + match.end()
        if kind == "escape":
            yield Look(first, first + 1, "mark")
            continue
        before = {"strong": 2, "image": 2}.get(kind, 1)
        inner = match.group().rindex("](") if kind in ("link", "image") else None
        after = first + inner if inner is not None else last - before
        yield Look(first, first + before, "mark")
        if first + before < after:
            yield Look(first + before, after, kind)
            if kind in ("link", "strong", "em"):
                yield from _inline(
                    body[match.start() + before : after - start], first + before
                )
        yield Look(after, last, "mark")


def _table(body: str, start: int) -> Iterator[Look]:
    rows: list[list[tuple[int, int]]] = []
    place = start
    for line in body.splitlines(keepends=True):
        content = line.rstrip("\r\n")
        if _RULE.match(content) and "-" in content:
            yield Look(place, place + len(line), "mark")
        elif "|" in content:
            rows.append(list(_cells(content, place)))
            pipes = [place + pipe.start() for pipe in _PIPE.finditer(content)]
            yield from (Look(pipe, pipe + 1, "mark") for pipe in pipes)
            yield from _inline(content, place)
        place += len(line)
    columns: list[list[tuple[int, int]]] = []
    for row in rows:
        columns += ([] for _ in row[len(columns) :])
        for cells, cell in zip(columns, row, strict=False):
            cells.append(cell)
    widths = [
        min(WIDEST, max(NARROWEST, 2 + max(last - first for first, last in cells)))
        for cells in columns
    ]
    for cells, width in zip(columns, widths, strict=True):
        share = int(99 * width / max(sum(widths), LINE))
        yield from (Look(first, last, "cell", share) for first, last in cells)


def _cells(line: str, place: int) -> Iterator[tuple[int, int]]:
    """The spans between the pipes of a row; what is empty outside the outer ones is none."""
    borders = [pipe.start() for pipe in _PIPE.finditer(line)]
    edges = [-1, *borders, len(line)]
    for number, (before, after) in enumerate(pairwise(edges)):
        outer = number == 0 or number == len(edges) - 2
        if after > before + 1 and not (outer and not line[before + 1 : after].strip()):
            yield place + before + 1, place + after
