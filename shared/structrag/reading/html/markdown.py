"""What was read from HTML as blocks of Markdown."""

from __future__ import annotations

import re

from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.html.reader import read_html
from structrag.reading.tables import pipe_table
from structrag.records import Block, Heading, Layout

_LINE_END = re.compile(r"\r\n|\r|\n")


def page_draft(source: str) -> Draft:
    """A page as Markdown."""
    unsure: list[str] = []
    text, title, layout = read_html(source)
    parts = markdown_parts(text, layout, unsure)
    return Draft(assembled(parts), tuple(unsure), title=title)


def markdown_parts(text: str, layout: Layout, unsure: list[str]) -> list[str]:
    """Blocks of Markdown of what `read_html` read, "" for a blank one. Sentences on what may be
    wrong are appended to `unsure`."""
    parts: list[str] = []
    pieces: list[Heading | Block] = [*layout.headings, *layout.blocks]
    for piece in sorted(pieces, key=lambda piece: piece.start):
        raw = text[piece.start : piece.end]
        if not raw.strip():
            parts.append("")
        elif isinstance(piece, Heading):
            parts.append(heading_line(piece.level, piece.title))
        else:
            parts.append(_block(piece, raw, unsure))
    return parts


def _block(block: Block, raw: str, unsure: list[str]) -> str:
    lines = [line for line in _LINE_END.split(raw) if line.strip()]
    if block.kind == "code":
        return fenced(_LINE_END.sub("\n", raw).rstrip().lstrip("\n"))
    if block.kind == "table":
        header_rows = raw[: max(block.header_end - block.start, 0)].count("\n")
        if header_rows:
            header_rows -= 1
            del lines[header_rows]  # the rule below the header
        return _table(lines, header_rows, unsure)
    if block.kind == "quote":
        return "\n".join(f"> {line.strip()}".rstrip() for line in escaped_lines(lines))
    if block.kind == "list":
        return "\n".join(escaped_lines([line.rstrip() for line in lines]))
    return "\n".join(escaped_lines([line.strip() for line in lines]))


def _table(lines: list[str], header_rows: int, unsure: list[str]) -> str:
    rows = [line.strip().strip("|").split("|") for line in lines]
    if len(set(map(len, rows))) > 1:
        unsure.append(
            f"The rows of the table that begins with {lines[0][:60]!r} differ in length."
        )
    return pipe_table(rows, header_rows)
