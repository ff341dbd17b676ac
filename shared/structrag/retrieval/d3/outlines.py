"""The outline that a question is routed over: its sections, their paragraphs, and the windows that
a router reads (D3, section 3.3.1)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.errors import (
    InvalidParameter,
    check_at_least,
    check_choice,
    check_template,
)
from structrag.index.selection import Selection
from structrag.index.snapshot import Reader
from structrag.reading.settings import changed
from structrag.retrieval.d3.selection import window_tokens
from structrag.text.arrays import BoolArray, IntArray, running_totals
from structrag.text.heading_path import SEPARATOR, is_same_title
from structrag.text.tokens import TokenCounter, check_counter, count_tokens

ON_EMPTY = ("none", "lexical")
# a position, and the one before it in the same call -> what is shown
Entry = Callable[[int, int | None], str]

IDS_PROMPT = """\
Sections of a document, each behind its id: \
its place in the outline, and what it says or a summary of that.

{outline}

Question: {question}

Which of these sections may hold information that helps to answer the question? \
Name every one that may. Answer with their ids, separated by commas, and nothing else. \
If none of them may, answer "none"."""

# As printed in section 3.3.2 of the paper.
NAMES_PROMPT = """\
Document section structure:
{outline}
Question:
{question}
List all section names that may be relevant for answering the question. \
Respond with comma-separated section name list. \
Provide an empty response if none of the sections are relevant."""


@dataclass(frozen=True, slots=True)
class OutlineSection:
    """A section, or part of a long one, in the outline.

    Attributes:
        doc_id, section_id: Its document and section.
        doc_title: The document's title.
        path: Heading titles, outermost first; () for the text before the first heading.
        summary: "" for a heading without a body of its own.
        start, end: Its heading and its own text, without what is below it: the characters `[start,
            end)` of the document.
        rows: Its own paragraphs: rows of the paragraph index.
        tokens: The tokens of its own paragraphs.
        pseudo: Whether it is a run of paragraphs of a document without headings.
        part, parts: The number of this part of its section, from 1, and of all parts; 0, 0: the
            whole section.
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
        """Return the place in `sections` of the section of a paragraph row: the last section that
        has paragraphs at or before it."""
        return (
            bisect_left(
                self.sections, paragraph + 1, key=lambda section: section.rows.start
            )
            - 1
        )


def build_layout(sections: Reader, parts: Reader, paragraphs: Reader) -> SectionLayout:
    """Build the layout of three stores that contain the same documents."""
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
    """Return the whole path of each section, never empty. If there are several documents, the
    document's title (or id) comes first."""
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
    """Return the result of `Store.select` as a mask over the rows."""
    mask = np.zeros(n_rows, dtype=bool)
    mask[slice(None) if selection is None else selection] = True
    return mask


@dataclass(frozen=True, slots=True)
class Routing:
    """Settings of `route_flow` and of routing without a language model.

    Example:
        >>> Routing(share=0.2).on_empty, Routing.paper().on_empty
        ('lexical', 'none')

    Attributes:
        answer_format: "ids": sections are shown with ids 1 to n under their document's title.
            "names" (paper, sections 3.3.1 and 3.3.2, with its prompt): each is shown as
            "* Section: " with its whole path, by which the model names it; a name stands for all
            parts of a section.
        on_empty: If nothing was chosen: "none" (paper), "lexical": what routing without a language
            model chooses.
        context_tokens: The language model's context window; an outline that does not fit is shown
            in several calls.
        answer_tokens: Reserved for the answer.
        share: Without one: parts are taken, best first, up to this share of the tokens searched,
            from 0 to 1.
        least_tokens: Without one: and in any case up to so many tokens. The best part is always
            taken.
        prompt: The prompt of the language model, with {outline} and {question}; None: by
            `answer_format`.
        counter: Token counter of the language model, `str -> int`; default as in `Selection`.
    """

    answer_format: str = "ids"
    on_empty: str = "lexical"
    context_tokens: int = 16000
    answer_tokens: int = 256
    share: float = 0.4
    least_tokens: int = 3000
    prompt: str | None = None
    counter: TokenCounter = count_tokens

    def __post_init__(self) -> None:
        check_choice("answer_format", self.answer_format, ("ids", "names"))
        check_choice("on_empty", self.on_empty, ON_EMPTY)
        check_at_least("context_tokens", self.context_tokens, 1)
        check_at_least("answer_tokens", self.answer_tokens, 0)
        check_at_least("least_tokens", self.least_tokens, 0)
        check_at_least("share", self.share, 0)
        if self.share > 1:
            raise InvalidParameter(
                f"share must be a number from 0 to 1; got {self.share!r}."
            )
        check_template("prompt", self.template, ["outline", "question"])
        check_counter(self.counter)

    @classmethod
    def paper(cls, **changes: Any) -> Routing:
        """The settings of the paper: names, and nothing where nothing was chosen. Its model read
        4,096 tokens."""
        settings = {
            "answer_format": "names",
            "on_empty": "none",
            "context_tokens": 4096,
        }
        return changed(cls, settings, changes)

    @property
    def template(self) -> str:
        """The prompt."""
        if self.prompt is not None:
            return self.prompt
        return IDS_PROMPT if self.answer_format == "ids" else NAMES_PROMPT


@dataclass(frozen=True, slots=True)
class RouterCall:
    """One call of the router."""

    # Positions of the sections shown, ascending; their ids are one more.
    positions: tuple[int, ...]
    prompt: str


def windows(
    question: str,
    sections: Sequence[OutlineSection],
    shown: Sequence[int],
    settings: Routing,
) -> list[RouterCall]:
    """The calls that show each of the sections once, in order. A call shows as many as the context
    holds, at least one."""
    count = settings.counter
    frame = count(settings.template.format(outline="", question=question))
    room = (
        window_tokens(settings.context_tokens, count) - settings.answer_tokens - frame
    )
    with_names = settings.answer_format == "names"
    entry = _named_entries(sections) if with_names else _numbered_entries(sections)
    groups: list[list[int]] = []
    texts: list[list[str]] = []
    left = 0
    for position in shown:
        before = groups[-1][-1] if groups else None
        text = entry(position, before)
        tokens = count(text + "\n\n")
        if before is None or tokens > left:
            groups.append([])
            texts.append([])
            text = entry(position, None)  # the first of a call also names its document
            tokens, left = count(text + "\n\n"), room
        groups[-1].append(position)
        texts[-1].append(text)
        left -= tokens
    calls = []
    for group, group_texts in zip(groups, texts, strict=True):
        outline = ("\n" if with_names else "\n\n").join(group_texts)
        prompt = settings.template.format(outline=outline, question=question)
        calls.append(RouterCall(tuple(group), prompt))
    return calls


def _named_entries(sections: Sequence[OutlineSection]) -> Entry:
    """Entries as whole path and summary, as in section 3.3.1."""
    paths = paths_of(sections)

    def entry(position: int, before: int | None) -> str:
        name = section_name(paths[position])
        return f"* Section: {name}\n{sections[position].summary}".rstrip()

    return entry


def _numbered_entries(sections: Sequence[OutlineSection]) -> Entry:
    """Return entries with id, path and summary. The name of the document precedes its first entry
    of each call."""
    names = document_names(sections)

    def entry(position: int, before: int | None) -> str:
        section = sections[position]
        name, n_leading = names[section.doc_id]
        path = section.path[n_leading:]
        title = section_name(path or section.path or ("Beginning",))
        head = ""
        if name and (before is None or sections[before].doc_id != section.doc_id):
            document = f"Document: {section_name(name)}"
            # The section below the document's title has no other title to show.
            if section.path and not path:
                title = document
            else:
                head = f"{document}\n\n"
        part = f" (part {section.part} of {section.parts})" if section.parts else ""
        return f"{head}[{position + 1}] {title}{part}\n{section.summary}".rstrip()

    return entry


def section_name(path: Sequence[str]) -> str:
    """A path as it is shown."""
    return SEPARATOR.join(" ".join(title.split()) for title in path)
