"""Units: the sentences, rows and headings of a document's blocks. They follow each other in reading
order. Together they hold all text of the blocks of `parse(document)` and all headings, blank runs
aside."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from structrag.chunks.divisions import excluded_sections
from structrag.reading.outline import Outline
from structrag.reading.settings import ReadOptions
from structrag.records import Block
from structrag.retrieval.evidence.answers import (
    Atom,
    Part,
    inner_cuts,
    parts_of,
    whole_answers,
)
from structrag.text.arrays import Int32Array
from structrag.text.sentences import safe_cuts, sentence_spans

Span = tuple[int, int]

LONGEST, NEAR = 650, 500  # characters: longer atoms are cut near so many
_REACH = LONGEST - NEAR  # how far from there a cut is looked for
_BEST_CUTS = tuple(map(re.compile, (r"[;:\n]", r"[,|]", r"\s")))  # behind one of these
# Kinds that are cut at their rows or lines. Those shorter than so many characters join the next.
_SHORT_ROWS = {"table": 20, "code": 80, "math": 80, "html": 80}
# A number or letter before what it numbers, "Yes." and "No.": they join the next sentence.
_SHORT_SENTENCE = re.compile(r"\W*[A-Za-z0-9]{1,4}\W*")


@dataclass(frozen=True, slots=True)
class Units:
    """The atoms of one document, in reading order.

    All arrays have a place for each atom.

    Example:
        >>> from structrag import parse, read_text
        >>> document = read_text("# Pumps\\n\\nThey move water. They leak.")
        >>> units = find_units(parse(document), ReadOptions())
        >>> [document.text[start:end] for start, end in zip(units.starts, units.ends)]
        ['# Pumps\\n', '\\nThey move water. ', 'They leak.']
        >>> units.blocks.tolist(), units.sections.tolist()
        ([0, 1, 1], [1, 1, 1])
    """

    starts: Int32Array  # in characters
    ends: Int32Array
    tokens: Int32Array  # of the reader, at least 1
    # Number of its block, from 0 and without gaps; a heading is its own.
    blocks: Int32Array
    sections: Int32Array  # ordinal of its section
    block_tokens: Int32Array  # of the reader, of its whole block

    def __len__(self) -> int:
        """The number of atoms."""
        return len(self.starts)

    def span(self, first: int, stop: int) -> Span:
        """Where the atoms `first` to `stop - 1` of one document begin and end."""
        return int(self.starts[first]), int(self.ends[stop - 1])


def find_units(outline: Outline, read_options: ReadOptions) -> Units:
    """The atoms of a document; sections of `reading.exclude_titles` are left out.

    A heading is one atom. Prose is cut at sentences, items of lists first; tables, code, formulas
    and markup at their rows or lines, of which short ones join the next. Units above 650 characters
    are cut near 500.
    """
    text, counter = outline.document.text, read_options.counter
    excluded = excluded_sections(outline, read_options.exclude_titles)
    answers: list[Part] = []
    for section in outline.sections:
        if section.ordinal in excluded:
            continue

        def atoms(spans: Iterable[Span], of: int = section.ordinal) -> list[Atom]:
            return [
                (start, end, max(1, counter(text[start:end])), of)
                for start, end in spans
                if text[start:end].strip()
            ]

        heading = atoms([(section.start, section.body_start)])
        if heading and section.ordinal:
            answers.append(Part(tuple(heading), "other"))
        parts: list[Part] = []
        for block in outline.blocks(section):
            parts += parts_of(text, block, atoms(_cut(text, block, read_options)))
        answers += whole_answers(text, parts)
    rows = [
        (*atom[:3], number, atom[3], answer.size)
        for number, answer in enumerate(answers)
        for atom in answer.atoms
    ]
    columns = np.array(rows, dtype=np.int32).reshape(-1, 6).T
    return Units(*map(np.ascontiguousarray, columns))


def _cut(text: str, block: Block, read_options: ReadOptions) -> Iterator[Span]:
    """The spans that a block is cut into; they tile it."""
    if block.kind in _SHORT_ROWS:
        least = _SHORT_ROWS[block.kind]
        spans = _joined(_at_cuts(block), lambda start, end: end - start < least)
    else:
        items = _at_cuts(block) if block.kind == "list" else [(block.start, block.end)]
        spans = []
        for start, end in items:
            sentences = sentence_spans(
                text,
                start,
                end,
                language=read_options.language,
                splitter=read_options.sentence_splitter,
            )
            spans += _joined(
                sentences,
                lambda start, end: _SHORT_SENTENCE.fullmatch(text, start, end),
            )
    for start, end in spans:
        yield from _short_enough(text, start, end)


def _at_cuts(block: Block) -> list[Span]:
    return list(pairwise([block.start, *inner_cuts(block), block.end]))


def _joined(
    spans: Sequence[Span], is_short: Callable[[int, int], object]
) -> list[Span]:
    """The spans, short ones joined to the next one."""
    joined: list[Span] = []
    open_start: int | None = None
    for start, end in spans:
        open_start = start if open_start is None else open_start
        if not is_short(open_start, end):
            joined.append((open_start, end))
            open_start = None
    if open_start is not None:
        joined.append((open_start, spans[-1][1]))
    return joined


def _short_enough(text: str, start: int, end: int) -> Iterator[Span]:
    """The span in parts of at most 650 characters."""
    while end - start > LONGEST:
        middle = _cut_near(text, start)
        yield start, middle
        start = middle
    yield start, end


def _cut_near(text: str, start: int) -> int:
    """The cut of a long span: the best mark nearest 500 characters."""
    low, high, near = start + NEAR - _REACH, start + LONGEST, start + NEAR
    for pattern in _BEST_CUTS:
        ends = [match.end() for match in pattern.finditer(text, low, high)]
        if ends:
            return min(ends, key=lambda end: abs(end - near))
    cuts = safe_cuts(text, low, high)
    return min(cuts, key=lambda cut: abs(cut - near)) if cuts else near
