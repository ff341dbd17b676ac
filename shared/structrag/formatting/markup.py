"""Documents of text markups and source code to Markdown, by their outline."""

from __future__ import annotations

from structrag.reading.drafts import Draft
from structrag.reading.escaping import (
    assembled,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.markup.code import SUFFIXES
from structrag.reading.sections import parse
from structrag.records import Document

_TEXTS = ("paragraph", "list", "quote", "image", "other")


def markdown_of_markup(document: Document) -> Draft:
    """Markdown of reStructuredText, AsciiDoc, LaTeX, code and their like.

    Headings keep their levels, at most six. Code, tables and mathematics stand in fences as they
    were written, source code with the lines of its definitions; other blocks are text.
    """
    text = document.text
    is_code = document.format in SUFFIXES
    parts = []
    outline = parse(document)
    for section in outline.sections:
        if section.path:
            parts.append(heading_line(section.level, section.title))
        if is_code:
            body = text[section.start : section.body_end].strip("\r\n")
            parts.append(fenced(body, document.format) if body.strip() else "")
            continue
        for block in outline.blocks(section):
            written = text[block.start : block.end].strip("\r\n")
            if block.kind in _TEXTS:
                parts.append("\n".join(escaped_lines(written.splitlines())))
            elif written.strip():
                parts.append(fenced(written))
    unsure = "No headings were found; the text is one section."
    has_note = len(outline.sections) == 1 and text.strip()
    return Draft(assembled(parts), (unsure,) if has_note else ())
