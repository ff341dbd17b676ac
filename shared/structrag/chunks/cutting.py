"""Cutting a span that is too long, at the best places that keep every piece within a token limit.

A piece must fit; among the ways that do, the cheapest is taken: few pieces, cut between blocks rather than between
items, sentences, words or characters, and pieces of even size.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from structrag.records import Block
from structrag.sentences import safe_cuts, sentence_spans, word_starts
from structrag.tokens import TokenCounter

SentenceSplitter = Callable[[str], list[tuple[int, int]]]

PIECE = 1.0  # what one more piece costs
BLOCK, ITEM, SENTENCE, WORD, CHARACTER = 0.0, 0.2, 0.4, 1.0, 2.0  # what a cut costs beyond that, by what it cuts
LEAD_IN = 0.5  # extra for a cut between a line that ends with a colon and what it announces


@dataclass(frozen=True, slots=True)
class Atom:
    """A span that is not cut further."""

    start: int
    end: int
    tokens: int
    cost: float  # of a cut in front of it
    header: tuple[int, int] = (0, 0)  # rows that a piece starting here repeats: a table's header


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the span; `header` are the table header rows to repeat in front of it, `(0, 0)` for none."""

    start: int
    end: int
    header: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Cutter:
    """How to measure and where to cut."""

    counter: TokenCounter
    language: str = "english"
    sentence_splitter: SentenceSplitter | None = None

    def cut(self, text: str, blocks: Sequence[Block], budget: int) -> list[Piece]:
        """Pieces that tile the blocks, each counting at most `budget` tokens, repeated table headers included.

        Only a single character as readers see it that counts more than the whole budget makes a longer piece.
        """
        atoms = self._atoms(text, blocks, budget)
        pieces: list[Piece] = []
        for first, last in _cheapest(atoms, budget, self._header_tokens(text, atoms)):
            pieces += self._checked(text, atoms[first:last], budget)
        return pieces

    def sentences(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Sentence spans that tile `[start, end)`."""
        return sentence_spans(text, start, end, language=self.language, splitter=self.sentence_splitter)

    def _checked(self, text: str, atoms: Sequence[Atom], budget: int) -> list[Piece]:
        """One piece of the atoms, or several where the counts of parts add up to less than the count of the whole."""
        start, end, header = atoms[0].start, atoms[-1].end, atoms[0].header
        if len(atoms) == 1 or self.counter(text[header[0] : header[1]] + text[start:end]) <= budget:
            return [Piece(start, end, header)]
        middle = len(atoms) // 2
        return self._checked(text, atoms[:middle], budget) + self._checked(text, atoms[middle:], budget)

    def _header_tokens(self, text: str, atoms: Sequence[Atom]) -> list[int]:
        known: dict[tuple[int, int], int] = {(0, 0): 0}
        for atom in atoms:
            if atom.header not in known:
                known[atom.header] = self.counter(text[atom.header[0] : atom.header[1]])
        return [known[atom.header] for atom in atoms]

    def _atoms(self, text: str, blocks: Sequence[Block], budget: int) -> list[Atom]:
        atoms: list[Atom] = []
        for block in blocks:
            announced = bool(atoms) and text[max(0, block.start - 80) : block.start].rstrip().endswith(":")
            tokens = self.counter(text[block.start : block.end])
            cost = LEAD_IN if announced else BLOCK
            if tokens <= budget:
                atoms.append(Atom(block.start, block.end, tokens, cost))
            else:
                atoms += self._inside_block(text, block, budget, cost)
        return atoms

    def _inside_block(self, text: str, block: Block, budget: int, cost: float) -> Iterable[Atom]:
        """Atoms of a block above the budget: its items, rows or lines, else its sentences."""
        inner = [cut for cut in block.cuts if block.start < cut < block.end]
        header_start = block.start if block.header_start is None else block.header_start
        header = (header_start, block.header_end) if header_start < block.header_end < block.end else (0, 0)
        if header[1] and self.counter(text[header[0] : header[1]]) * 2 > budget:
            header = (0, 0)
        if inner:
            spans = list(zip([block.start, *inner], [*inner, block.end], strict=True))
            kind = ITEM
        else:
            spans = self.sentences(text, block.start, block.end) or [(block.start, block.end)]
            kind = SENTENCE
        for start, end in spans:
            at_start = start == block.start
            repeated = header if start >= header[1] and not at_start else (0, 0)
            room = budget - (self.counter(text[repeated[0] : repeated[1]]) if repeated[1] else 0)
            tokens = self.counter(text[start:end])
            first_cost = cost if at_start else kind
            if tokens <= room:
                yield Atom(start, end, tokens, first_cost, repeated)
            elif inner and kind == ITEM and block.kind in {"list", "quote", "html"}:
                yield from self._inside_block(text, Block("paragraph", start, end), room, first_cost)
            else:
                yield from self._inside_sentence(text, start, end, room, first_cost, repeated)

    def _inside_sentence(
        self, text: str, start: int, end: int, budget: int, cost: float, header: tuple[int, int]
    ) -> Iterable[Atom]:
        """Fill pieces word by word, and a word that alone is too long character by character."""
        words = [*word_starts(text, start, end), end]
        while start < end:
            stop = self._fill(text, start, words, budget)
            if stop is None:
                word_end = words[bisect_left(words, start + 1)]
                stop = self._fill(
                    text, start, [*safe_cuts(text, start, word_end), word_end], budget
                ) or self._one_character(text, start, word_end)
                next_cost = CHARACTER
            else:
                next_cost = WORD
            yield Atom(start, stop, self.counter(text[start:stop]), cost, header)
            start, cost = stop, next_cost

    def _fill(self, text: str, start: int, stops: Sequence[int], budget: int) -> int | None:
        """The last of the stops such that `text[start:stop]` fits; None if not even the first behind `start` does.

        Gallops, then halves, so that the text counted is a small multiple of the piece, however long the rest.
        """
        low = bisect_left(stops, start + 1)
        fits, step, high = None, 1, low
        while high < len(stops) and self.counter(text[start : stops[high]]) <= budget:
            fits, high, step = high, high + step, step * 2
        high = min(high, len(stops))
        if fits is None:
            return None
        while high - fits > 1:
            middle = (fits + high) // 2
            if self.counter(text[start : stops[middle]]) <= budget:
                fits = middle
            else:
                high = middle
        return stops[fits]

    def _one_character(self, text: str, start: int, end: int) -> int:
        cuts = safe_cuts(text, start, min(end, start + 64))
        return cuts[0] if cuts else min(end, start + 64)


def _cheapest(atoms: Sequence[Atom], budget: int, header_tokens: Sequence[int]) -> list[tuple[int, int]]:
    """Split the atoms into runs `(first, behind last)` within the budget at least total cost; earliest cuts on ties.

    Dynamic programming over the last cut. An atom above the budget is a run of its own.
    """
    count = len(atoms)
    ends = np.concatenate(([0], np.cumsum([atom.tokens for atom in atoms], dtype=np.float64)))
    overhead = np.asarray(header_tokens, dtype=np.float64)
    fixed = PIECE + np.array([0.0, *(atom.cost for atom in atoms[1:])])
    best = np.full(count + 1, np.inf)
    best[0] = 0.0
    came_from = np.zeros(count + 1, dtype=np.int64)
    low = 0
    for last in range(1, count + 1):
        while low < last - 1 and ends[last] - ends[low] > budget:
            low += 1
        sizes = ends[last] - ends[low:last] + overhead[low:last]
        slack = 1.0 - sizes / budget
        costs = best[low:last] + fixed[low:last] + 0.5 * slack * slack
        costs[:-1][sizes[:-1] > budget] = np.inf
        choice = int(np.argmin(np.round(costs, 9)))
        best[last], came_from[last] = costs[choice], low + choice
    runs: list[tuple[int, int]] = []
    last = count
    while last > 0:
        runs.append((int(came_from[last]), last))
        last = int(came_from[last])
    return runs[::-1]
