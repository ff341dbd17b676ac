"""From a `Document` to its section tree, by its format: `parse`. Also the headings of Markdown that
marks none, as some converters write it, and the warning of a long document without any."""

from __future__ import annotations

import re
from collections import deque
from dataclasses import replace
from functools import partial
from typing import Any

from structrag.errors import InvalidParameter, warn_user
from structrag.reading.formats import format_named
from structrag.reading.html.text import MappedText
from structrag.reading.markdown import plain_title
from structrag.reading.markdown_source import plain_source
from structrag.reading.numbering import (
    MARK,
    Number,
    Value,
    is_back_matter,
    is_label,
    levels_of_numbers,
    numbers_of_titles,
)
from structrag.reading.outline import Outline, OutlineMemory, build_outline
from structrag.reading.plain import plain_blocks, plain_headings
from structrag.reading.plain_titles import is_clean, is_short_title
from structrag.records import Document, Heading, Layout

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


def _parse(document: Document, guess: bool) -> Outline:
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
        headings = nest_by_number(
            list(document.layout.headings) or _of_paragraphs(text, document.layout)
        )
        return build_outline(document, headings, find_blocks)
    registered = format_named(document.format)
    if registered and registered.is_markup:
        reader = registered.reader()
        return build_outline(
            document, reader.headings(text), partial(reader.blocks, text)
        )
    headings = plain_headings(text) if guess else []
    return build_outline(document, headings, partial(plain_blocks, text))


def _of_paragraphs(text: str, layout: Layout) -> list[Heading]:
    """The headings that the paragraphs of a page would have as plain text."""
    parts = (
        text[block.start : block.end]
        if block.kind == "paragraph"
        else _inked(text[block.start : block.end])
        for block in layout.blocks
    )
    return plain_headings("".join(parts), is_marked_up=True)


def headings_of_markdown(text: str) -> list[Heading]:
    """The headings of a Markdown text as written, front matter left out. Where there are none, what
    would be a heading in plain text (`unmarked_headings`)."""
    from structrag.reading.markdown import front_matter, markdown_headings

    start = front_matter(text).end
    return markdown_headings(text, start) or unmarked_headings(text, start)


def remember_headings(document: Document, headings: list[Heading]) -> None:
    """Spare the next `parse` of a Markdown document the search for headings. Its title took it
    already."""
    _memory.keep(_markdown_outline(document, headings), True)


def replace_facts(document: Document, **facts: Any) -> Document:
    """The document with another title or metadata, and with the outline remembered for it."""
    changed = replace(document, **facts)
    outline = _memory.find(document, True)
    if outline is not None:
        _memory.keep(replace(outline, document=changed), True)
    return changed


def _markdown_outline(document: Document, headings: list[Heading]) -> Outline:
    from structrag.reading.markdown import front_matter, markdown_blocks

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
        if number.family:
            coming.popleft()
            depths.append(levels.place(number.family, number.value, place))
            continue
        is_inside = bool(coming) and levels.is_inside(coming[0])
        if is_back_matter(title):
            levels.open.clear()
        depths.append(levels.level + 1 if is_inside else 1)
    return depths


# A line of bold runs and nothing else: `**2 Methods**`, `**2** **Methods**`.
_BOLD_LINE = re.compile(r"(?:\*\*[^*\s](?:[^*\n]*[^*\s])?\*\*[ \t]*)+")
# Lines between blank ones. Fenced code is a part of one.
_PARAGRAPH = re.compile(
    r"""^(?:[ ]{0,3}(?P<fence>`{3,}|~{3,}).*(?:\n(?![ ]{0,3}(?P=fence)).*)*(?:\n.*)?\n?
    |[^\S\n]*\S.*\n?)+""",
    re.MULTILINE | re.VERBOSE,
)
# Marks of bold text and the full stop before, escapes.
_UNSEEN = re.compile(
    r"[.*\\](?:(?<=\.)\*\*[ \t]*\Z|(?<=\*)\*(?:[ \t]*\Z)?|(?<=\\)(?=[!-/:-@\[-`{-~]))"
)
_INK = re.compile(r"\S[^\r\n]*")
_ITEM = re.compile(r"\d{1,9}[.)][ \t]")
_LIST = re.compile(rf"\n{_ITEM.pattern}.*\n{_ITEM.pattern}")
_INDENTED = re.compile(r"\s{0,9}\n[ \t]{2,9}\S")  # goes on with an item
_NO_TEXT = re.compile(
    r"[|>`~<]|!?\["
)  # begin tables, quotes, code, HTML, notes, pictures


def unmarked_headings(text: str, start: int = 0) -> list[Heading]:
    """The headings of a Markdown text that marks none.

    They are those that the words would have as plain text, and bold lines between blank lines:
    short, no sentences (unless numbered), with text below, or a line that is one too and numbered.
    Where there are bold lines, all are of level 1.

    Example:
        >>> headings = unmarked_headings("**Pumps**\\n\\nThey leak.\\n\\n**Taps**\\n\\nThey drip.")
        >>> [heading.title for heading in headings]
        ['Pumps', 'Taps']
    """
    view = MappedText()
    has_lists = _LIST.search(f"\n{text}", start)
    spans = [match.span() for match in _PARAGRAPH.finditer(plain_source(text), start)]
    bodies = [text[first:last].strip() for first, last in spans]
    titles = [_bold_title(body) for body in bodies]
    around = zip(spans, bodies, ["", *titles], titles, [*titles[1:], "-"], strict=False)
    has_bold = False
    for (first, last), words, above, title, below in around:
        end = first + len(text[first:last].rstrip())
        item = _ITEM.match(words)
        is_item = item and (
            _INDENTED.match(text, last)
            or (has_lists and not is_clean(words[item.end() :]))
        )
        if is_item or _NO_TEXT.match(words):
            view.add(_inked(text[first:end]), first, end, exact=True)
            first = end
        marked = "*" in words or "\\" in words
        for mark in _UNSEEN.finditer(text, first, end) if marked else ():
            view.add(text[first : mark.start()], first, mark.start(), exact=True)
            first = mark.end()
        view.add(text[first:end], first, end, exact=True)
        is_title = (
            title
            and not (is_label(above) or is_label(title))
            and (not below or below[0].isdigit())
        )
        has_bold |= bool(is_title)
        view.insert("\n---\n\n" if is_title else "\n\n", last - 1)
    source_map = view.source_map(len(text))
    headings = []
    for heading in plain_headings("".join(view.parts), is_marked_up=True):
        first, last = source_map.span(heading.start, heading.end)
        while first > start and text[first - 1] in "*\\":
            first -= 1
        level = 1 if has_bold else heading.level
        title = plain_title(heading.title)
        headings.append(Heading(level, title, first, min(last, len(text))))
    return headings


def _inked(text: str) -> str:
    """Something of the same size that holds no title."""
    return _INK.sub(lambda line: "|" * len(line[0]), text)


def _bold_title(paragraph: str) -> str:
    """The title that a bold line holds; "" for anything else."""
    if not _BOLD_LINE.fullmatch(paragraph):
        return ""
    title = plain_title(paragraph)
    if MARK.match(title):
        title = title.removesuffix(".")
    return title if is_short_title(title) else ""


LONG = 8_000  # characters, about three pages; less may well have no heading

_READ_HERE = (
    "If it has headings, read it with reader='docling', or let HiQAFormatter write its Markdown "
    "with a language model."
)
MARKED_NOWHERE = (
    "It marks no headings; HiQAFormatter with a language model may recognise some in "
    "its text."
)
READ_ELSEWHERE = (
    "Many loaders drop headings: load the file with StructragLoader (LangChain), StructragReader "
    "(LlamaIndex) or structrag.read_file. docs/loaders.md says which loaders keep them."
)


def is_flat(document: Document) -> bool:
    """Whether a document has no section but the root."""
    return len(parse(document).sections) == 1


def warn_if_flat(document: Document, kind: str) -> None:
    """Warn once of a long document without headings that was read here."""
    if len(document.text) >= LONG and is_flat(document):
        warn_of_flat(kind, _READ_HERE if kind == "PDF" else MARKED_NOWHERE)


def warn_of_flat(kind: str, cure: str) -> None:
    """The warning; equal ones are shown once by Python's own rules."""
    warn_user(
        f"A long {kind} has no heading, so its chunks have no heading path. {cure}",
    )
