"""The units that PIC and IDMS decide about, the scopes they are compared in, pieces that fit, and
one vector for each unit, however long.

A unit is a sentence, or a block that is not cut into sentences.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from math import ceil

import numpy as np
from numpy.typing import ArrayLike

from structrag.chunks.divisions import Division, division_blocks, grouped, leading_path
from structrag.chunks.maker import ChunkMaker, index_text
from structrag.chunks.runs import Run, split_once
from structrag.model_calls.requests import Embed, Flow, ask
from structrag.reading.outline import Outline
from structrag.records import Block, Chunk
from structrag.text.arrays import FloatArray, unit_vectors
from structrag.text.cutting import Cutter, Piece, lines_block
from structrag.text.heading_path import Context

WHOLE = {"code", "table", "math", "image"}  # kinds of blocks that are one unit


@dataclass(frozen=True, slots=True)
class Unit:
    """A sentence, a list item, a table, a code block. Units in order tile their divisions."""

    start: int
    end: int
    text_start: int  # where its own words begin, behind a heading that travels with it
    tokens: int  # of text[start:end]
    kind: str
    division: Division
    # Rows of a cut table to repeat when a chunk starts here.
    header: tuple[int, int] = (0, 0)


def units_of(
    outline: Outline, division: Division, cutter: Cutter, max_tokens: int | None
) -> list[Unit]:
    """The units of a division. A unit above `max_tokens` is cut at items, rows, lines, words.
    Nothing is left out."""
    text = outline.document.text
    blocks, tail = division_blocks(outline, division)
    units: list[Unit] = []
    for block in blocks:
        text_end = block.end if tail is None or block is not blocks[-1] else tail
        for start, end, text_start in _spans(text, block, text_end, cutter):
            tokens = cutter.counter(text[start:end])
            unit = Unit(start, end, text_start, tokens, block.kind, division)
            if max_tokens is None or tokens <= max_tokens:
                units.append(unit)
            else:
                units += _cut(text, unit, block, text_end, cutter, max_tokens)
    return units


def _spans(
    text: str, block: Block, text_end: int, cutter: Cutter
) -> Iterator[tuple[int, int, int]]:
    """Start, end and text start of a block's units, however long. The first has the heading in
    front of the block, the last one those behind `text_end`."""
    words = [(block.text_start, text_end)]
    if block.kind == "list":
        cuts = [cut for cut in block.cuts if block.text_start < cut < text_end]
        words = list(pairwise([block.text_start, *cuts, text_end]))
    elif block.kind not in WHOLE:
        words = cutter.sentences(text, block.text_start, text_end) or words
    for i, (start, end) in enumerate(words):
        first = block.start if i == 0 else start
        last = block.end if i == len(words) - 1 else end
        yield first, last, start


def _cut(
    text: str, unit: Unit, block: Block, text_end: int, cutter: Cutter, max_tokens: int
) -> Iterator[Unit]:
    """The pieces of a unit that is too long."""
    cuts = tuple(cut for cut in block.cuts if unit.text_start < cut < unit.end)
    part = Block(
        block.kind, unit.start, unit.end, cuts, block.header_end, unit.text_start
    )
    tail = text_end if text_end < unit.end else None
    for piece in cutter.cut(text, [part], max_tokens, tail=tail):
        tokens = cutter.counter(text[piece.start : piece.end])
        # The piece with the end of the heading has words of its own behind it.
        holds_words = piece.start <= unit.text_start < piece.end
        words = unit.text_start if holds_words else piece.start
        yield Unit(
            piece.start,
            piece.end,
            words,
            tokens,
            unit.kind,
            unit.division,
            piece.header,
        )


@dataclass(frozen=True, slots=True)
class Series:
    """The numbers of one scope, and where it was cut.

    A scope is a document or a section. `values` has one number a unit (PIC: similarity to the
    pseudo-instruction) or one a gap in front of a unit, the first being NaN (IDMS: margin).
    `thresholds` has what each was compared with. A scope that is too short to compare has neither.
    """

    units: tuple[Unit, ...]
    values: tuple[float, ...]
    thresholds: tuple[float, ...]
    runs: tuple[Run, ...]  # of units; each run is a chunk
    note: str = ""  # what was used, such as the pseudo-instruction


@dataclass(frozen=True, slots=True)
class Fitter:
    """Cuts the runs of one document into pieces that fit as indexed.

    Counts of sentences need not add up to the count of the whole, and a cut table repeats its
    header. So runs that fit by their sum are counted once more.
    """

    outline: Outline
    maker: ChunkMaker
    cutter: Cutter

    def room(self, divisions: Sequence[Division]) -> int | None:
        """The tokens that the longest context of these divisions leaves for text. It is at least 1,
        and None without a limit."""
        if self.maker.limit is None:
            return None
        longest = 0
        for division in divisions:
            for leading in (True, False):
                context = self.context(division, leading).text
                if context:
                    longest = max(longest, self.maker.counter(context + "\n"))
        return max(1, self.maker.limit - longest)

    def context(self, division: Division, leading: bool) -> Context:
        """Return the heading path of a piece. A `leading` piece starts the division and contains
        its heading."""
        path = (
            leading_path(self.outline, division) if leading else division.section.path
        )
        return self.maker.context(path, own=not leading)

    def pieces(
        self,
        units: Sequence[Unit],
        run: Run,
        sizes: Sequence[int],
        affinity: Sequence[float],
        least: int = 0,
    ) -> Iterator[tuple[Run, Piece, Context]]:
        """The pieces of a run, each with its units and its context. A run that is too long is cut
        as `split_once` does. A single unit that is too long is cut between its lines or words."""
        first, last = run
        unit = units[first]
        piece = Piece(unit.start, units[last - 1].end, unit.header)
        context = self.context(unit.division, unit.start == unit.division.start)
        if self._fits(piece, context):
            yield run, piece, context
        elif last - first > 1:
            for part in split_once(run, sizes, least, affinity):
                yield from self.pieces(units, part, sizes, affinity, least)
        else:
            for part_piece in self._inside(unit, piece):
                leading = part_piece.start == unit.division.start
                yield run, part_piece, self.context(unit.division, leading)

    def _fits(self, piece: Piece, context: Context) -> bool:
        if self.maker.limit is None:
            return True
        text = self.outline.document.text
        whole = text[piece.header[0] : piece.header[1]] + text[piece.start : piece.end]
        return self.maker.counter(index_text(context.text, whole)) <= self.maker.limit

    def _inside(self, unit: Unit, piece: Piece) -> list[Piece]:
        """The pieces of a single unit."""
        text = self.outline.document.text
        room = self.room([unit.division])
        if room is None:
            return [piece]
        block = Block("paragraph", unit.start, unit.end)
        if unit.kind in WHOLE:
            block = lines_block(text, unit.start, unit.end)

        def fits(part: Piece) -> bool:
            context = self.context(unit.division, part.start == unit.division.start)
            return self._fits(replace(part, header=unit.header), context)

        parts = self.cutter.cut(text, [block], room, fits=fits)
        return [replace(part, header=unit.header) for part in parts]


@dataclass(frozen=True, slots=True)
class Zone:
    """Units of a scope whose borders no chunk crosses: a section, or text without a gap."""

    first: int
    last: int  # behind the last unit
    room: int | None  # tokens that a chunk's text may have beside its heading path


@dataclass(frozen=True, slots=True)
class UnitScope:
    """Units that share a threshold: a document's, or one section's."""

    path: tuple[str, ...]  # heading titles; () for the document
    units: tuple[Unit, ...]
    zones: tuple[Zone, ...]
    first: int = 0  # number of the first unit in the document

    @property
    def sizes(self) -> list[int]:
        """The tokens of each unit."""
        return [unit.tokens for unit in self.units]

    @property
    def room(self) -> int | None:
        """The room of the first zone."""
        return self.zones[0].room

    @property
    def run(self) -> Run:
        """The units by their numbers in the document."""
        return self.first, self.first + len(self.units)

    @property
    def start(self) -> int:
        return self.units[0].start

    @property
    def end(self) -> int:
        return self.units[-1].end


def scopes_of(
    fitter: Fitter,
    divisions: Sequence[Division],
    *,
    by_zone: bool,
    respect_sections: bool,
) -> list[UnitScope]:
    """The scopes of a document, in order: one a zone, or one. No division gives none."""
    scopes: list[UnitScope] = []
    units: list[Unit] = []
    zones: list[Zone] = []
    number = 0
    for group in grouped(divisions, apart=respect_sections):
        room = fitter.room(group)
        first = len(units)
        for division in group:
            units += units_of(fitter.outline, division, fitter.cutter, room)
        zones.append(Zone(first, len(units), room))
        if by_zone:
            path = group[0].section.path
            scopes.append(UnitScope(path, tuple(units), tuple(zones), number))
            number += len(units)
            units, zones = [], []
    if units:
        scopes.append(UnitScope((), tuple(units), tuple(zones)))
    return scopes


# Encoders of 256 tokens and more read such a text whole.
WINDOW_WORDS, WINDOW_CHARACTERS = 150, 1500


def unit_text(text: str, unit: Unit) -> str:
    """A unit's own words, without the heading that travels with it. Rows of a cut table follow its
    header."""
    words = text[unit.text_start : unit.end].strip()
    if not words:  # a heading alone
        words = text[unit.start : unit.end].strip()
    first, last = unit.header
    header = text[first:last].strip()
    return f"{header}\n{words}" if header else words


def windows_of(text: str) -> list[str]:
    """Windows of at most 150 words and about 1,500 characters. They are of about even size. A text
    that is not longer is one window, a blank one has none."""
    words = text.split()
    if not words:
        return []
    by_words = ceil(len(words) / WINDOW_WORDS)
    by_characters = ceil(len(text) / WINDOW_CHARACTERS)
    count = max(by_words, by_characters)
    if count == 1:
        return [text]
    if count > len(words):  # too little white space to cut at
        size = ceil(len(text) / count)
        parts = [text[i : i + size] for i in range(0, len(text), size)]
        return [part for part in parts if part.strip()]
    size = ceil(len(words) / count)
    return [" ".join(words[i : i + size]) for i in range(0, len(words), size)]


def pooled(rows: ArrayLike, counts: Sequence[int]) -> FloatArray:
    """Unit vectors, each the mean of the next `counts[i]` rows. They are zeros where that is 0.
    Shape (len(counts), dimension)."""
    vectors = unit_vectors(rows)
    if all(count == 1 for count in counts):
        return vectors
    sums = np.zeros((len(counts), max(1, vectors.shape[1])))
    lengths = np.asarray(counts)
    filled = np.flatnonzero(lengths)  # `reduceat` knows no empty runs
    if len(filled):
        starts = np.cumsum(lengths[filled]) - lengths[filled]
        sums[filled] = np.add.reduceat(vectors, starts, axis=0)
    return unit_vectors(sums)


def run_vectors(
    vectors: ArrayLike, weights: Sequence[int], runs: Sequence[Run]
) -> FloatArray:
    """For each run of rows their weighted mean, scaled to length 1. A weight below 1 counts as 1.
    Shape (len(runs), dimension)."""
    positive = np.maximum(1, np.asarray(weights))
    weighted = np.asarray(vectors, dtype=np.float64) * positive[:, None]
    sums = [weighted[first:last].sum(axis=0) for first, last in runs]
    return unit_vectors(np.stack(sums)) if sums else np.zeros((0, weighted.shape[1]))


def mean_vectors_flow(
    text: str, units: Sequence[Unit], chunks: Sequence[Chunk]
) -> Flow[FloatArray]:
    """Each chunk's mean of its units' vectors, weighted by their tokens.

    It is scaled to length 1. Units and chunks are in the order of the text. A unit that was cut
    belongs to each chunk that has a part of it. Shape (len(chunks), dimension).
    """
    windows: list[str] = []
    counts: list[int] = []
    for unit in units:
        of_unit = windows_of(unit_text(text, unit))
        windows += of_unit
        counts.append(len(of_unit))
    rows = yield from ask(Embed(tuple(windows), of="sentences"))
    vectors = pooled(rows, counts)
    tokens = [unit.tokens for unit in units]
    starts = [unit.start for unit in units]
    ends = [unit.end for unit in units]
    runs = []
    for chunk in chunks:
        first = bisect_right(ends, chunk.start)
        last = bisect_left(starts, chunk.end)
        runs.append((first, last))
    return run_vectors(vectors, tokens, runs)
