"""From a `Document` to its section tree, by its format: `parse`."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from functools import partial

from structrag.errors import InvalidParameter
from structrag.reading.formats import format_named
from structrag.reading.numbering import (
    Number,
    Value,
    is_back_matter,
    levels_of_numbers,
    numbers_of_titles,
)
from structrag.reading.outline import Outline, OutlineMemory, build_outline
from structrag.records import Document, Heading

__all__ = ["Outline", "check_document", "parse"]

_memory = OutlineMemory()


def check_document(value: object) -> None:
    """Raise InvalidParameter unless the value is a Document."""
    if not isinstance(value, Document):
        raise InvalidParameter(
            f"document must be a Document; got {type(value).__name__}. Use structrag.read_text."
        )


def parse(document: Document, *, plain_headings: bool = True) -> Outline:
    """The section tree of a document, by its format. With `plain_headings=False`, plain text has
    one root section and no guessed headings. An empty document has only the root. Headings numbered
    `1`, `1.2` but written at one level are nested by their numbers. The outlines of the last 256
    documents are cached, so the same object is not parsed twice.

    Raises:
        InvalidParameter: it is not a Document, or has `format="html"` but does not come from
            `read_text` or `read_file`.
    """
    check_document(document)
    guessed = plain_headings or document.format != "text"
    outline = _memory.find(document, guessed)
    if outline is None:
        outline = _parse(document, guessed)
        _memory.keep(outline, guessed)
    return outline


def _parse(document: Document, plain_headings: bool) -> Outline:
    text = document.text
    if document.format == "markdown":
        return _markdown_outline(document, headings_of_markdown(text))
    if document.format == "html":
        if document.layout is None:
            raise InvalidParameter(
                "Document.format is 'html' but the document has no layout; a Document holds "
                "visible text, so create it with structrag.read_text(html, format='html') or "
                "structrag.read_file(path)."
            )
        from structrag.reading.html.reader import html_blocks_between

        find_blocks = partial(html_blocks_between, document.layout)
        headings = nest_by_number(list(document.layout.headings))
        return build_outline(document, headings, find_blocks)
    registered = format_named(document.format)
    if registered and registered.is_markup:
        reader = registered.reader()
        return build_outline(
            document, reader.headings(text), partial(reader.blocks, text)
        )
    from structrag.reading.plain import plain_blocks
    from structrag.reading.plain import plain_headings as find_headings

    headings = find_headings(text) if plain_headings else []
    return build_outline(document, headings, partial(plain_blocks, text))


def headings_of_markdown(text: str) -> list[Heading]:
    """The headings of a Markdown text as written, front matter left out. Where there are none, bold
    lines that stand alone may be (`bold_headings`)."""
    from structrag.reading.bold_titles import bold_headings
    from structrag.reading.markdown import front_matter, markdown_headings

    start = front_matter(text).end
    return markdown_headings(text, start) or bold_headings(text, start)


def remember_headings(document: Document, headings: list[Heading]) -> None:
    """Spare the next `parse` of a Markdown document the search for headings. Its title took it
    already."""
    _memory.keep(_markdown_outline(document, headings), True)


def _markdown_outline(document: Document, headings: list[Heading]) -> Outline:
    from structrag.reading.markdown import front_matter
    from structrag.reading.markdown_blocks import markdown_blocks

    return build_outline(
        document,
        nest_by_number(headings),
        partial(markdown_blocks, document.text),
        body_start=front_matter(document.text).end,
    )


def flat_outline(document: Document) -> Outline:
    """The root of a document alone, without headings and blocks."""
    check_document(document)
    body_start = 0
    if document.format == "markdown":
        from structrag.reading.markdown import front_matter

        body_start = front_matter(document.text).end
    return build_outline(document, [], lambda start, end: [], body_start=body_start)


def nest_by_number(headings: list[Heading]) -> list[Heading]:
    """The headings with levels from their numbers, where these are needed.

    They are where every heading has the same level, a first one above all others aside (the title),
    at least half are numbered (`1.2`, `IV.`, `B.`, `Chapter 3`), and the numbers mostly ascend, as
    those of releases do not. A number whose parent is missing stands at the first level. So do
    unnumbered headings, but for those that stand among the sections of a chapter: they are below
    the section before them.
    """
    title = headings[:1] if _is_above_others(headings) else []
    rest = headings[len(title) :]
    if len(rest) < 2 or len({heading.level for heading in rest}) > 1:
        return headings
    numbers = numbers_of_titles([heading.title for heading in rest])
    if not _ascend(numbers):
        return headings
    depths = _depths(numbers, [heading.title for heading in rest])
    return title + [
        replace(heading, level=heading.level + depth - 1)
        for heading, depth in zip(rest, depths, strict=True)
    ]


def _ascend(numbers: list[Number]) -> bool:
    """Whether half are there, and most ascend in their families."""
    numbered = [number for number in numbers if number.family]
    rises, last = [], dict[str, Value]()
    restarts = len({number.family for number in numbered}) > 1
    for _, family, value in numbered:
        if family in last and not (restarts and value == (1,)):
            rises.append(last[family] < value)
        last[family] = value
    return 2 * len(numbered) >= len(numbers) and 2 * sum(rises) >= len(rises)


def _is_above_others(headings: list[Heading]) -> bool:
    """Whether the first heading is the title. It is alone at its level, which is the highest."""
    return len(headings) > 1 and all(
        heading.level > headings[0].level for heading in headings[1:]
    )


def _depths(numbers: list[Number], titles: list[str]) -> list[int]:
    """The depth of every heading, from 1. `numbers` have no family for those without one."""
    levels = levels_of_numbers(numbers)
    depths, coming = [], deque(number for number in numbers if number.family)
    for place, (number, title) in enumerate(zip(numbers, titles, strict=True)):
        if number.kind == "outer":  # an annex is in no article
            levels.open.clear()
        if number.family:
            coming.popleft()
            depths.append(levels.place(number.family, number.value, place))
            continue
        is_inside = bool(coming) and levels.is_inside(coming[0])
        if is_back_matter(title):
            levels.open.clear()
        depths.append(levels.level + 1 if is_inside else 1)
    return depths
