"""HTML inside Markdown: its tables are blocks that can be cut before their rows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from structrag.reading.html.reader import read_html
from structrag.reading.html.tokens import START, tokens
from structrag.records import Block

TABLE_TAG = re.compile(r"<(/?)table(?=[\s>/])", re.IGNORECASE)
TAGS_ONLY = re.compile(r"(?:\s*<[^<>!]{1,200}>){0,20}\s*")


def html_blocks(source: str, start: int, end: int, offset: int) -> Iterator[Block]:
    """Blocks that tile `source[start:end]`, shifted by `offset`. The first row of a table is its
    header, if no more rows are. Tags alone go with a table beside them."""
    edges = [start]
    for edge in (start + edge for span in _tables(source[start:end]) for edge in span):
        if not TAGS_ONLY.fullmatch(source, edges[-1], edge):
            edges.append(edge)
    if len(edges) > 1 and TAGS_ONLY.fullmatch(source, edges[-1], end):
        edges.pop()
    for first, last in pairwise([*edges, end]):
        markup, place = source[first:last], first + offset
        table = read_table(markup)
        if table:
            cuts = tuple(place + cut for cut in table[2])
            yield Block("html", place, last + offset, cuts, cuts[0])
        else:
            ends = (match.end() + place for match in re.finditer(r"\n(?!\Z)", markup))
            yield Block("html", place, last + offset, tuple(ends))


def read_table(markup: str) -> tuple[str, Block, list[int]] | None:
    """The visible text of markup that is one table with its caption, its block in it, and where in
    the markup the rows begin that the table can be cut before. None for anything else."""
    if not TABLE_TAG.search(markup):
        return None
    visible, _, layout = read_html(markup)
    tables = [block for block in layout.blocks if block.kind == "table"]
    if len(tables) != 1 or layout.headings or layout.blocks[-1] is not tables[0]:
        return None
    starts = list(map(layout.source_map.to_source, tables[0].cuts))
    # Rows that the page shows in another order, or without a place of their own, are no slices.
    if not starts or any(a >= b for a, b in pairwise([0, *starts, len(markup)])):
        return None
    return visible, tables[0], starts


def _tables(markup: str) -> Iterator[tuple[int, int]]:
    """The spans of outermost `<table>` elements."""
    depth = opened = 0
    for kind, name, start, end in tokens(markup) if "<" in markup else ():
        if name == "table" and kind == START:
            opened = opened if depth else start
            depth += 1
        elif name == "table" and depth:
            depth -= 1
            if not depth:
                yield opened, end
