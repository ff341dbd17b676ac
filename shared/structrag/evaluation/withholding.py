"""What the self-test keeps out of its index. That is headings wherever they stand, and the
sentences that it asks."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import regex

from structrag.evaluation.measure import Span, heading_spans, merge
from structrag.evaluation.references import DEFINITION, NUMBERED
from structrag.reading.outline import Outline
from structrag.records import Chunk

_WORDS = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_LINE = re.compile(r"[^\n]+")
_ADDRESS = re.compile(r"\]\([^()\s]*\)")
_MARKER = re.compile(r"\s*(?:[-*+•>|]\s+|\d+[.)]\s+)*")
# Of a line in a table of contents, read backwards.
_PAGE = re.compile(r"[\s|]*\d*[\s.·…|]*")
_LONGEST = 200  # characters of a line that may repeat a heading


def title_key(title: str) -> str:
    """The words of a title without its number, casefolded.

    Example:
        >>> title_key("3.2 Drop scopes") == title_key("Drop Scopes")
        True
    """
    match = NUMBERED.match(title)
    if match:
        title = title[match.end() :] or title  # a number alone is the title
    return " ".join(_WORDS.findall(title.casefold()))


def withheld_spans(
    outlines: Sequence[Outline], sentences: Iterable[Span]
) -> dict[str, list[tuple[int, int]]]:
    """By document the ranges of characters that are not indexed.

    They are sorted, and none overlap. They are front matter, heading lines, lines that hold nothing
    but the words of a heading of any of the documents (tables of contents), definitions of Markdown
    links, and `sentences`.
    """
    keys: set[str] = set()
    for outline in outlines:
        keys.update(title_key(section.title) for section in outline.sections[1:])
    keys.discard("")
    spans = list(sentences)
    for outline in outlines:
        document = outline.document
        spans.append((document.id, 0, outline.sections[0].body_start))
        spans += heading_spans(outline)
        spans += [
            (document.id, start, end) for start, end in _repeated(document.text, keys)
        ]
        if document.format == "markdown":
            spans += [
                (document.id, *match.span())
                for match in DEFINITION.finditer(document.text)
            ]
    return merge(spans)


def withheld_chunks(
    chunks: Iterable[Chunk], withheld: Mapping[str, Sequence[tuple[int, int]]]
) -> list[Chunk]:
    """The chunks, indexed by what is left of their own text. They have no heading path, and nothing
    that a splitter adds to the index. A chunk of which nothing is left is not among them."""
    left = []
    for chunk in chunks:
        body = _without(chunk, withheld.get(chunk.doc_id, ()))
        if body.strip():
            left.append(
                replace(chunk, context="", extras={**chunk.extras, "reduced": body})
            )
    return left


def _repeated(text: str, keys: Collection[str]) -> Iterator[tuple[int, int]]:
    for line in _LINE.finditer(text):
        if line.end() - line.start() <= _LONGEST:
            words = _without_marker(_ADDRESS.sub("]", line.group()))
            if title_key(words) in keys or title_key(_without_page(words)) in keys:
                yield line.span()


def _without_marker(line: str) -> str:
    match = _MARKER.match(line)
    return line[match.end() :] if match else line


def _without_page(line: str) -> str:
    match = _PAGE.match(line[::-1])
    return line[: len(line) - match.end()] if match else line


def _without(chunk: Chunk, spans: Sequence[tuple[int, int]]) -> str:
    """The chunk's text without what lies in the spans."""
    parts = []
    place = chunk.start
    for start, end in spans[
        bisect_right(spans, chunk.start, key=lambda span: span[1]) :
    ]:
        if start >= chunk.end:
            break
        parts.append(chunk.text[place - chunk.start : max(start, place) - chunk.start])
        place = max(place, end)
    parts.append(chunk.text[place - chunk.start :])
    return "\n".join(part for part in parts if part.strip())
