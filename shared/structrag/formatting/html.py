"""HTML documents to Markdown, by the layout that was read with them."""

from __future__ import annotations

import re

from structrag.errors import InvalidParameter
from structrag.formatting.heuristic import is_pipe_table
from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_line,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.records import Block, Document, Heading, Layout

_LINE_END = re.compile(r"\r\n|\r|\n")


def markdown_of_html(document: Document) -> Draft:
    """Markdown of a document that `read_text` made of HTML.

    Headings keep their levels, at most six. Tables keep their rows, with an empty header row where
    there was no header. Code is fenced. Images are their alternative text. Every letter and digit
    of the visible text is in the result, in order.

    Raises:
        InvalidParameter: the document has no layout.
    """
    layout = document.layout
    if layout is None:
        raise InvalidParameter(
            "document must have been read from HTML by structrag.read_text or "
            "structrag.read_file; it has no layout."
        )
    parts: list[str] = []
    unsure: list[str] = []
    for piece in _pieces(layout):
        raw = document.text[piece.start : piece.end]
        if not raw.strip():
            continue
        if isinstance(piece, Heading):
            parts.append(heading_line(piece.level, piece.title))
        else:
            parts.append(_block(piece, raw, unsure))
    if not layout.headings and document.text.strip():
        unsure.append("No headings were found; the text is one section.")
    return Draft(assembled(parts), tuple(unsure))


def _pieces(layout: Layout) -> list[Heading | Block]:
    return sorted((*layout.headings, *layout.blocks), key=lambda piece: piece.start)


def _block(block: Block, raw: str, unsure: list[str]) -> str:
    lines = [line for line in _LINE_END.split(raw) if line.strip()]
    if block.kind == "code":
        return fenced(_LINE_END.sub("\n", raw).rstrip().lstrip("\n"))
    if block.kind == "table":
        return _table(lines, unsure)
    if block.kind == "quote":
        return "\n".join(f"> {line.strip()}".rstrip() for line in escaped_lines(lines))
    if block.kind == "list":
        return "\n".join(escaped_lines([line.rstrip() for line in lines]))
    return "\n".join(escaped_lines([line.strip() for line in lines]))


def _table(lines: list[str], unsure: list[str]) -> str:
    rows = [line.strip() for line in lines]
    if is_pipe_table(rows):
        return "\n".join(escaped_line(row) for row in rows)
    bars = rows[0].count("|")
    if not all(row.startswith("|") and row.endswith("|") for row in rows):
        return "\n".join(escaped_lines(rows))
    if any(row.count("|") != bars for row in rows):
        unsure.append(
            f"The rows of the table beginning {rows[0][:60]!r} are not of one length."
        )
        bars = max(row.count("|") for row in rows)
    return "\n".join([f"|{'  |' * (bars - 1)}", f"|{' --- |' * (bars - 1)}", *rows])
