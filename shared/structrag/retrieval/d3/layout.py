"""The outline that is routed over: which paragraphs each section holds."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structrag.index.selection import Selection
from structrag.index.snapshot import Reader
from structrag.text.arrays import BoolArray, IntArray, running_totals
from structrag.text.heading_path import is_same_title


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A section, or part of a long one, in the outline.

    Attributes:
        doc_id, section_id: Where it is.
        doc_title: The document's title.
        path: Heading titles, outermost first; () for the text before the first heading.
        summary: "" for a heading without a body of its own.
        start, end: Its heading and its own text, without what is below it: the characters `[start,
            end)` of the document.
        rows: Its own paragraphs: rows of the paragraph index.
        tokens: Of its own paragraphs.
        pseudo: Whether it is a run of paragraphs of a document without headings.
        part, parts: Which part of its section it is, from 1, and of how many; 0, 0: all of it.
    """

    doc_id: str
    section_id: str
    doc_title: str
    path: tuple[str, ...]
    summary: str
    start: int
    end: int
    rows: range
    tokens: int
    pseudo: bool = False
    part: int = 0
    parts: int = 0


@dataclass(frozen=True, slots=True)
class SectionLayout:
    """The sections of an index, and the paragraph rows of each part."""

    changes: int  # of the index when this was put together
    sections: tuple[OutlineSection, ...]  # by row of the section store
    # (number of parts, 2): the paragraph rows [first, last) of each.
    parts: IntArray
    tokens: IntArray  # (number of paragraphs,): how many each has
    # document -> its first paragraph row, and where its paragraphs start and end, in characters
    documents: Mapping[str, tuple[int, IntArray, IntArray]]

    def section_of(self, paragraph: int) -> int:
        """The place in `sections` of the one that holds a paragraph row. It is the last one with
        paragraphs at or before it."""
        return (
            bisect_left(
                self.sections, paragraph + 1, key=lambda section: section.rows.start
            )
            - 1
        )


def build_layout(sections: Reader, parts: Reader, paragraphs: Reader) -> SectionLayout:
    """The layout of three stores that hold the same documents."""
    tokens: list[int] = []
    # document -> its first row, and where its paragraphs start
    starts: dict[str, tuple[int, list[int]]] = {}
    ends: dict[str, list[int]] = {}
    for row in range(len(paragraphs)):
        chunk = paragraphs.chunk(row)
        starts.setdefault(chunk.doc_id, (row, []))[1].append(chunk.start)
        ends.setdefault(chunk.doc_id, []).append(chunk.end)
        tokens.append(chunk.n_tokens)
    sums = running_totals(tokens)

    after = 0  # where the paragraphs of a document without any would be

    def rows(doc_id: str, start: int, end: int) -> tuple[int, int]:
        first, places = starts.get(doc_id, (after, []))
        return first + bisect_left(places, start), first + bisect_left(places, end)

    titles = {
        doc_id: sections.document(doc_id).title for doc_id in sections.document_ids
    }
    outline = []
    for row in range(len(sections)):
        chunk = sections.chunk(row)
        first, last = rows(*chunk.span)
        after = last
        outline.append(
            OutlineSection(
                chunk.doc_id,
                chunk.section_id,
                titles[chunk.doc_id],
                chunk.path,
                str(chunk.extras.get("summary", "")),
                chunk.start,
                chunk.end,
                range(first, last),
                int(sums[last] - sums[first]),
                bool(chunk.extras.get("pseudo")),
                *chunk.extras.get("part", (0, 0)),
            )
        )
    spans = [rows(*part.span) for part in map(parts.chunk, range(len(parts)))]
    return SectionLayout(
        sections.changes,
        tuple(outline),
        np.array(spans, dtype=np.int64).reshape(-1, 2),
        np.array(tokens, dtype=np.int64),
        {
            doc_id: (first, np.array(places), np.array(ends[doc_id]))
            for doc_id, (first, places) in starts.items()
        },
    )


def paths_of(sections: Sequence[OutlineSection]) -> list[tuple[str, ...]]:
    """The whole paths, never empty. Where there are several documents, the document's title (or id)
    comes first."""
    with_title = len({section.doc_id for section in sections}) > 1
    paths: list[tuple[str, ...]] = []
    for section in sections:
        path = section.path
        title = section.doc_title
        if with_title:
            title = title or section.doc_id
            if not is_same_title(title, path[:1]):
                path = (title, *path)
        paths.append(path or (title or "Beginning",))
    return paths


def document_names(
    sections: Sequence[OutlineSection],
) -> dict[str, tuple[tuple[str, ...], int]]:
    """Document -> what to call it, and how many titles that says.

    The number, 0 or 1, is that of the leading titles of its paths which the name has already. A
    document is called by the title that all its paths begin with, else by its own title, else,
    where there are several documents, by its id; () where there is none of these. Where there are
    several documents and the two titles differ, by both.
    """
    first_titles: dict[str, set[str]] = {}
    titles: dict[str, str] = {}
    for section in sections:
        first = ("",) if section.pseudo else section.path[:1]
        first_titles.setdefault(section.doc_id, set()).update(first)
        titles[section.doc_id] = section.doc_title
    names: dict[str, tuple[tuple[str, ...], int]] = {}
    for doc_id, firsts in first_titles.items():
        common = (
            tuple(firsts) if len(firsts) == 1 and all(map(str.strip, firsts)) else ()
        )
        title = titles[doc_id]
        # A document alone is named by the heading that all its sections have.
        if common and len(titles) == 1:
            title = ""
        if not common and len(titles) > 1:
            title = title or doc_id
        leads = title and not is_same_title(title, common)
        names[doc_id] = (title, *common) if leads else common, len(common)
    return names


def descendants(sections: Sequence[OutlineSection], position: int) -> Iterator[int]:
    """The positions of the sections below one, without its other parts. None for the text before
    the first heading."""
    top = sections[position]
    if not top.path or top.pseudo:
        return
    for i in range(position + 1, len(sections)):
        below = sections[i]
        if (below.doc_id, below.section_id) == (top.doc_id, top.section_id):
            continue
        if below.doc_id != top.doc_id or len(below.path) <= len(top.path):
            return
        yield i


def row_mask(selection: Selection | None, n_rows: int) -> BoolArray:
    """What `Store.select` gave as a mask over the rows."""
    mask = np.zeros(n_rows, dtype=bool)
    mask[slice(None) if selection is None else selection] = True
    return mask
