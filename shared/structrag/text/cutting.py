"""Cut a span at the best places within a token limit. The cheapest cut whose pieces all fit is
taken: few pieces, cut between blocks rather than between items, sentences, words or characters, and
of even size."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from math import inf

import numpy as np

from structrag.records import Block
from structrag.text.sentences import (
    SentenceSplitter,
    safe_cuts,
    sentence_spans,
    word_starts,
)
from structrag.text.tokens import TokenCounter
from structrag.text.turns import turn_starts

PIECE = 1.0  # the cost of one more piece
# The cost of a cut between blocks, items and so on.
BLOCK, ITEM, SENTENCE, WORD, CHARACTER = 0.0, 0.2, 0.4, 1.0, 2.0
WINDOW = 4096  # characters of one word that are looked at for places to cut
ARRAY_WINDOW = 48  # candidates from which on an array is quicker than a loop
_LINE_END = re.compile(r"\r\n?|\n")
# Extra for a cut between a line that ends with a colon and what it announces.
LEAD_IN = 0.5
_TURN_LINES = 8  # of a chat in which turns are looked for, at most to each
NESTED, MOST_RANKS = 0.1, 5  # extra for each level of indentation of code
_OPENS = (":", "{", "(", "[", ",", "\\")
_CLOSES = re.compile(
    r"\s*(?:[)\]}]|$|(?:else|elif|except|finally|catch|end|then|do|fi|done)\b)"
)


@dataclass(frozen=True, slots=True)
class Atom:
    """A span that is not cut further, with its size.

    Example:
        >>> Atom(0, 30, tokens=8, cost=BLOCK).header
        (0, 0)
    """

    start: int
    end: int
    tokens: int
    cost: float  # of a cut in front of it
    # Rows that a piece starting here repeats: a table's header.
    header: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of the span, in characters of the text.

    Example:
        >>> Piece(0, 120).header
        (0, 0)
    """

    start: int
    end: int
    # Table header rows to repeat in front of it; (0, 0): none.
    header: tuple[int, int] = (0, 0)


Fits = Callable[[Piece], bool]


@dataclass(frozen=True, slots=True)
class Cutter:
    """How to measure and where to cut.

    Example:
        >>> text = "It rings. It takes pictures."
        >>> pieces = Cutter(len).cut(text, [Block("paragraph", 0, len(text))], 20)
        >>> [text[piece.start : piece.end] for piece in pieces]
        ['It rings. ', 'It takes pictures.']
    """

    counter: TokenCounter
    language: str = "english"
    sentence_splitter: SentenceSplitter | None = None

    def cut(
        self,
        text: str,
        blocks: Sequence[Block],
        budget: int,
        *,
        fits: Fits | None = None,
        tail: int | None = None,
    ) -> list[Piece]:
        """Pieces that tile the blocks, each of at most `budget` tokens.

        Repeated table headers count too. Only a single code point that counts more than the whole
        budget makes a longer piece.

        Where a block's `header_start` is behind its start, the text between is a heading. It stays
        with what follows wherever a part of that fits beside it. From `tail` on, the last block
        holds headings without a body, which stay with the text before them in the same way.

        `fits` tells whether a piece is short enough as it will be indexed. By default its text with
        the header counts at most `budget`. A piece that does not fit is cut further by itself.
        """

        def within_budget(piece: Piece) -> bool:
            header = text[piece.header[0] : piece.header[1]]
            return self.counter(header + text[piece.start : piece.end]) <= budget

        check = fits or within_budget
        atoms = self._atoms(text, blocks, budget, tail)
        pieces: list[Piece] = []
        for first, last in _cheapest(atoms, budget, self._header_tokens(text, atoms)):
            pieces += self._checked(text, atoms[first:last], budget, check)
        filled = _without_blank(text, pieces)
        if len(filled) == len(pieces):
            return filled
        # Blank text that joined a piece may have taken it over the budget.
        return list(
            chain.from_iterable(_halved(text, piece, check) for piece in filled)
        )

    def sentences(self, text: str, start: int, end: int) -> list[tuple[int, int]]:
        """Sentence spans that tile `[start, end)`."""
        return sentence_spans(
            text, start, end, language=self.language, splitter=self.sentence_splitter
        )

    def _checked(
        self, text: str, atoms: Sequence[Atom], budget: int, fits: Fits
    ) -> list[Piece]:
        """The atoms as one piece, or halved until each half fits. Counts of parts may add up to
        less than the count of the whole."""
        start, end, header = atoms[0].start, atoms[-1].end, atoms[0].header
        piece = Piece(start, end, header)
        if fits(piece):
            return [piece]
        if len(atoms) == 1:
            budget = min(budget, atoms[0].tokens)
            room = max(1, budget - 1 - budget // 8)  # an eighth less than did not fit
            atoms = list(self._inside_sentence(text, start, end, room, 0.0, header))
            if len(atoms) == 1:
                return [Piece(start, end)]
        middle = len(atoms) // 2
        return [
            *self._checked(text, atoms[:middle], budget, fits),
            *self._checked(text, atoms[middle:], budget, fits),
        ]

    def _header_tokens(self, text: str, atoms: Sequence[Atom]) -> list[int]:
        tokens: dict[tuple[int, int], int] = {(0, 0): 0}
        for atom in atoms:
            if atom.header not in tokens:
                tokens[atom.header] = self.counter(
                    text[atom.header[0] : atom.header[1]]
                )
        return [tokens[atom.header] for atom in atoms]

    def _atoms(
        self, text: str, blocks: Sequence[Block], budget: int, tail: int | None
    ) -> list[Atom]:
        atoms: list[Atom] = []
        for number, block in enumerate(blocks, start=1):
            before = text[max(0, block.start - 80) : block.start]
            announced = bool(atoms) and before.rstrip().endswith(":")
            tokens = self.counter(text[block.start : block.end])
            cost = LEAD_IN if announced else BLOCK
            if tokens <= budget:
                atoms.append(Atom(block.start, block.end, tokens, cost))
            else:
                after = (
                    tail if number == len(blocks) and tail is not None else block.end
                )
                atoms += self._beside_headings(text, block, budget, cost, after)
        return atoms

    def _beside_headings(
        self, text: str, block: Block, budget: int, cost: float, tail: int
    ) -> list[Atom]:
        """Atoms of a block above the budget. Its first one holds the heading in front, its last one
        those behind."""
        lead = block.text_start
        front = self.counter(text[block.start : lead]) if lead > block.start else 0
        after = self.counter(text[tail : block.end]) if tail < block.end else 0
        if front >= budget:  # nothing fits beside the heading
            heading = lines_block(text, block.start, lead)
            atoms = list(self._inside_block(text, heading, budget, cost))
            body = Block(
                block.kind, lead, block.end, block.cuts, block.header_end, lead
            )
            return atoms + self._beside_headings(text, body, budget, BLOCK, tail)
        if after and front + after >= budget:
            body = Block(
                block.kind, block.start, tail, block.cuts, block.header_end, lead
            )
            headings = lines_block(text, tail, block.end)
            return [
                *self._beside_headings(text, body, budget, cost, tail),
                *self._inside_block(text, headings, budget, BLOCK),
            ]
        body = Block(block.kind, lead, tail, block.cuts, block.header_end, lead)
        atoms = list(self._inside_block(text, body, budget - front - after, cost))
        first = atoms[0]
        atoms[0] = replace(first, start=block.start, tokens=front + first.tokens)
        last = atoms[-1]
        atoms[-1] = replace(last, end=block.end, tokens=last.tokens + after)
        return atoms

    def _inside_block(
        self, text: str, block: Block, budget: int, cost: float
    ) -> Iterator[Atom]:
        """Atoms of a block: its items, rows or lines, else its sentences."""
        header_end = (
            block.header_end
            if block.start < block.header_end < block.end
            else block.start
        )
        inner = [cut for cut in block.cuts if header_end < cut < block.end]
        if not inner and block.kind in ("paragraph", "other"):
            inner = turns_or_lines(text, block.start, block.end)
        if inner or block.kind == "code":
            spans = list(pairwise([block.start, *inner, block.end]))
        else:
            spans = self.sentences(text, block.start, block.end) or [
                (block.start, block.end)
            ]
        repeated, repeated_tokens = self._header(text, block.start, header_end, budget)
        header, room = (0, 0), budget
        for start, end in spans:
            if start > block.start:  # the first span holds the header rows itself
                header, room = repeated, budget - repeated_tokens
                cost = ITEM if inner else SENTENCE
            tokens = self.counter(text[start:end])
            if tokens <= room:
                yield Atom(start, end, tokens, cost, header)
            elif inner and block.kind not in ("code", "table"):
                yield from self._inside_block(
                    text, Block("paragraph", start, end), room, cost
                )
            elif block.kind == "code":
                yield from self._lines_of_code(text, start, end, room, cost)
            else:
                yield from self._inside_sentence(text, start, end, room, cost, header)

    def _lines_of_code(
        self, text: str, start: int, end: int, budget: int, cost: float
    ) -> Iterator[Atom]:
        """The lines of a statement, rather cut before those that are indented less."""
        ends = [match.end() for match in _LINE_END.finditer(text, start, end)]
        spans = list(pairwise(dict.fromkeys([start, *ends, end])))
        lines = [text[first:last].expandtabs() for first, last in spans]
        indents = [len(line) - len(line.lstrip()) for line in lines]
        ranks = {indent: rank for rank, indent in enumerate(sorted({*indents[1:]}))}
        for i, (first, last) in enumerate(spans):
            if i:
                before = lines[i - 1].rstrip()
                cost = ITEM + NESTED * min(ranks[indents[i]], MOST_RANKS)
                if before.endswith(_OPENS) or _CLOSES.match(lines[i]):
                    cost += LEAD_IN
            tokens = self.counter(text[first:last])
            if tokens <= budget:
                yield Atom(first, last, tokens, cost)
            else:
                yield from self._inside_sentence(
                    text, first, last, budget, cost, (0, 0)
                )

    def _header(
        self, text: str, start: int, end: int, budget: int
    ) -> tuple[tuple[int, int], int]:
        """Header rows to repeat and their tokens; none above half the budget."""
        if start == end:
            return (0, 0), 0
        tokens = self.counter(text[start:end])
        return ((start, end), tokens) if tokens * 2 <= budget else ((0, 0), 0)

    def _inside_sentence(
        self,
        text: str,
        start: int,
        end: int,
        budget: int,
        cost: float,
        header: tuple[int, int],
    ) -> Iterator[Atom]:
        """Fill atoms by words, and too long a word by characters."""
        words = [*word_starts(text, start, end), end]
        while start < end:
            last = self._fill(text, start, words, budget)
            stops: Iterable[int] = [last] if last else []
            if last is None:
                word_end = words[bisect_left(words, start + 1)]
                stops = self._inside_word(text, start, word_end, budget)
            for stop in stops:
                yield Atom(start, stop, self.counter(text[start:stop]), cost, header)
                start, cost = stop, CHARACTER
            cost = WORD

    def _inside_word(
        self, text: str, start: int, end: int, budget: int
    ) -> Iterator[int]:
        """Return the ends of the parts of a word that fill the budget.

        A character as readers see it stays whole if it fits by itself; one of many code points that
        does not is cut between them. The word is read in windows, so that its length does not
        matter.
        """
        while start < end:
            window = min(end, start + WINDOW)
            stops = safe_cuts(text, start, window)
            if window == end or not stops:
                stops.append(window)
            while start < stops[-1]:
                last = self._fill(text, start, stops, budget)
                if last is None:  # not even one character as readers see it fits
                    character_end = stops[bisect_left(stops, start + 1)]
                    last = self._fill(
                        text, start, range(start + 1, character_end), budget
                    )
                start = last or start + 1
                yield start

    def _fill(
        self, text: str, start: int, stops: Sequence[int], budget: int
    ) -> int | None:
        """The last of the stops such that `text[start:stop]` fits.

        None if not even the first behind `start` does. Gallops, then halves, so that the text
        counted is a small multiple of the piece, however long the rest.
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


def turns_or_lines(text: str, start: int, end: int) -> list[int]:
    """Where turns of a chat begin, or lines that are no wrapped prose; [] for running text.

    Example:
        >>> turns_or_lines("10:15 start\\n10:16 pump on\\n10:17 stop\\n", 0, 36)
        [12, 26]
    """
    lines = text[start:end].strip("\r\n").splitlines(keepends=True)
    if len(lines) < 3 or not all(map(str.strip, lines)):
        return []
    start += text[start:end].index(lines[0])
    turns = turn_starts(text, start, end)
    if len(turns) * _TURN_LINES > len(lines):
        return [turn for turn in turns if turn > start]
    width = sorted(map(len, lines))[len(lines) * 9 // 10]
    short = sum(len(line) < 0.6 * width for line in lines)
    heads = [line.lstrip()[:5] for line in lines]
    alike = Counter(re.sub(r"\d", "0", head) for head in heads)
    keyed = sum(
        bool(re.match(r"[\w.\"'\[ -]{1,40}[:=\]]", line.strip())) for line in lines
    )
    opening = sum(not head[0].isalpha() or head[:2].istitle() for head in heads)
    # Wrapped lines are about as long as each other, and begin with any word.
    if max(2 * max(short, keyed, *alike.values()), 1.1 * opening) < len(lines):
        return []
    return list(accumulate(map(len, lines[:-1]), initial=start))[1:]


def lines_block(text: str, start: int, end: int) -> Block:
    """A block of plain lines that may be cut between them. Such are headings without a body and
    front matter."""
    ends = (match.end() for match in _LINE_END.finditer(text, start, end))
    return Block("other", start, end, tuple(cut for cut in ends if cut < end))


def _cheapest(
    atoms: Sequence[Atom], budget: int, header_tokens: Sequence[int]
) -> list[tuple[int, int]]:
    """Cheapest runs `(first, behind last)` of atoms within the budget. Dynamic programming over the
    last cut. Ties: the earliest cuts. An atom above the budget is a run of its own."""
    ends = [0, *accumulate(atom.tokens for atom in atoms)]
    fixed = [PIECE, *(PIECE + atom.cost for atom in atoms[1:])]
    # whatever depends on the first atom only: size(first, last) = ends[last] - offsets[first]
    offsets = [end - extra for end, extra in zip(ends, header_tokens, strict=False)]
    # For windows that are worth an array: offsets, then best + fixed.
    table = np.array([offsets, [0.0] * len(atoms)])
    so_far = [0.0] * len(atoms)
    came_from = [0] * (len(atoms) + 1)
    best = 0.0
    low = 0
    for last in range(1, len(atoms) + 1):
        so_far[last - 1] = table[1, last - 1] = best + fixed[last - 1]
        while low < last - 1 and ends[last] - ends[low] > budget:
            low += 1
        if last - low > ARRAY_WINDOW:
            slack = 1.0 - (ends[last] - table[0, low:last]) / budget
            window = table[1, low:last] + 0.5 * slack * slack
            window[:-1][slack[:-1] < 0] = np.inf
            costs = window.tolist()
        else:
            costs = []
            for first in range(low, last):
                rest = 1.0 - (ends[last] - offsets[first]) / budget
                possible = rest >= 0 or first == last - 1
                costs.append(so_far[first] + 0.5 * rest * rest if possible else inf)
        cheapest = min(costs)
        came_from[last] = low + next(
            i for i, cost in enumerate(costs) if cost <= cheapest + 1e-9
        )
        best = float(costs[came_from[last] - low])
    return _runs(came_from)


def _runs(came_from: Sequence[int]) -> list[tuple[int, int]]:
    """The runs of the best way to the end."""
    runs: list[tuple[int, int]] = []
    last = len(came_from) - 1
    while last > 0:
        runs.append((came_from[last], last))
        last = came_from[last]
    return runs[::-1]


def _halved(text: str, piece: Piece, fits: Fits) -> list[Piece]:
    """Halve a piece that blank text took over the limit. None of them is blank."""
    if fits(piece):
        return [piece]
    body = text[piece.start : piece.end]
    first, last = len(body) - len(body.lstrip()), len(body.rstrip())
    stops = safe_cuts(body, first, last) or range(first + 1, last)
    if not stops:
        return [piece]
    middle = piece.start + stops[len(stops) // 2]
    return [
        *_halved(text, Piece(piece.start, middle, piece.header), fits),
        *_halved(text, Piece(middle, piece.end, piece.header), fits),
    ]


def _without_blank(text: str, pieces: list[Piece]) -> list[Piece]:
    """Blank pieces join the one before, at the start the one after."""
    filled: list[Piece] = []
    start: int | None = None
    for piece in pieces:
        if text[piece.start : piece.end].strip():
            filled.append(piece if start is None else Piece(start, piece.end))
            start = None
        elif filled:
            filled[-1] = Piece(filled[-1].start, piece.end, filled[-1].header)
        elif start is None:
            start = piece.start
    return filled
