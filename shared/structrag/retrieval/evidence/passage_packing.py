"""Packing of ranked atoms into passages within a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from math import inf

import numpy as np

from structrag.retrieval.evidence.atoms import SHORT, WHOLE
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.scores import SHORTLIST
from structrag.retrieval.evidence.windows import Windows

AROUND = 60  # reader tokens: an atom adds this window of a longer block
HOLE = 60  # reader tokens left out inside a block that come too
NEAR = 120  # reader tokens between passages that may become one where their number is limited


@dataclass(frozen=True, slots=True)
class Passage:
    """A run of atoms that follow each other in a document.

    Example:
        >>> Passage(first=3, stop=5, best=4, rank=1).rank
        1
    """

    first: int  # atom
    stop: int  # behind the last one
    best: int  # the atom that brought it, or the best one where several were joined
    rank: int  # from 1, of `best` among those that brought something


def _always(_: int) -> bool:
    return True


Run = tuple[int, int]  # the first atom and the one behind the last
# Tokens of atoms first to stop - 1 as the reader is given them, or none where they cannot be joined
Size = Callable[[int, int], float]


def units(
    pool: Pool, ranking: Iterable[int], ends: Callable[[int], bool] = _always
) -> Iterator[tuple[int, Run]]:
    """Yield each atom with the run of new atoms that it adds, by rank.

    A block of at most 160 reader tokens comes whole, of a longer one what lies around the atom. If
    a passage must not end there, the next block follows, or the beginning of a long one. Atoms that
    were added before are left out, and such an atom adds nothing.
    """
    starts = np.flatnonzero(np.diff(pool.blocks, prepend=-1, append=-1))
    around, behind = pool.windows[AROUND], pool.windows[2 * AROUND]
    taken = np.zeros(len(pool), dtype=bool)

    def of_block(unit: int, window: Windows) -> Run:
        block = int(pool.blocks[unit])
        first, stop = int(starts[block]), int(starts[block + 1])
        if pool.atoms.block_tokens[unit] > WHOLE:
            first = max(first, int(window.firsts[unit]))
            stop = min(stop, int(window.stops[unit]))
        return first, stop

    for unit in ranking:
        if taken[unit]:
            continue
        first, stop = of_block(unit, around)
        start = int(starts[int(pool.blocks[unit])])
        while first > start and not ends(first - 1):  # what leads to it comes too
            first -= 1
        while not ends(stop - 1):
            stop = of_block(stop, behind)[1]
        while taken[first:unit].any():
            first += 1
        while taken[unit:stop].any():
            stop -= 1
        taken[first:stop] = True
        yield int(unit), (first, stop)


def pack(
    pool: Pool,
    ranking: Iterable[int],
    size: Size,
    *,
    max_tokens: float | None = None,
    k: int | None = None,
    joins: Callable[[int], bool] = _always,
    ends: Callable[[int], bool] = _always,
) -> list[Passage]:
    """Pack the best atoms into passages within the limits, by rank.

    Units are taken in the order of the ranking until one does not fit. From that one, the longest
    run around its atom that fits is taken. Passages with less than a sentence between them are one,
    and so are two of one block with at most `HOLE` tokens between them.
    A larger budget therefore contains everything that a smaller one does.

    If the number of passages is limited, they stay apart. If tokens are limited too and there are
    too many passages, the nearest two are joined with the text between them, if that is at most
    `NEAR` tokens. A unit for which there is no room even so is left out, and the next one tried.

    Args:
        pool, ranking: Units, best first.
        size: Reader tokens of a run of atoms.
        max_tokens, k: Most tokens and passages; None: no limit.
        joins: Whether an atom may be in one passage with the atom before it.
        ends: Whether a passage may end behind an atom.
    """
    merges = max_tokens is not None and k is not None
    limit = inf if max_tokens is None else max_tokens
    near = SHORT if k is None else -1
    taken = _Taken(pool, size, joins, ends, limit, inf if k is None else k, near)
    # Worse ones would widen the passages only because they are near.
    best = islice(ranking, max(SHORTLIST, 8 * k)) if k and merges else ranking
    for rank, (unit, run) in enumerate(units(pool, best, ends), start=1):
        if limit == inf and k is not None and not ends(run[1] - 1):
            continue  # it leads to a passage that stays apart
        more = taken.with_run(run, unit, rank)
        more = more.merged() if merges else more
        if more.fits:
            taken = more
        elif merges and len(more.passages) > taken.most:
            continue  # nothing is near; the next one may touch a passage
        else:
            # A part could join other passages than the whole; a larger budget would not contain it.
            if not merges or not taken.passages:
                taken = _with_part(taken, unit, run, rank)
            break
    return sorted(taken.passages, key=lambda passage: passage.rank)


def _with_part(taken: _Taken, unit: int, run: Run, rank: int) -> _Taken:
    """Also the atom and what is around it in its run.

    It ends where one more atom does not fit. It grows to the end that is nearer to the atom, so
    that what fits a budget is always a part of what fits a larger one.
    """
    first, stop = unit, unit + 1
    part = taken
    while True:
        more = taken.with_run((first, stop), unit, rank)
        if not more.fits:
            return part
        if not taken.passages or more.is_answer(unit):
            part = more
        if (first, stop) == run:
            return part
        behind_is_nearer = stop - unit - 1 <= unit - first
        if first == run[0] or (behind_is_nearer and stop < run[1]):
            stop += 1
        else:
            first -= 1


@dataclass(frozen=True, slots=True)
class _Taken:
    """The passages so far, in reading order. Passages that are near each other are joined."""

    pool: Pool
    size: Size
    joins: Callable[[int], bool]
    ends: Callable[[int], bool]
    limit: float  # tokens
    most: float  # passages
    near: int  # tokens between passages that become one
    passages: tuple[Passage, ...] = ()

    @property
    def fits(self) -> bool:
        tokens = sum(self.size(one.first, one.stop) for one in self.passages)
        return tokens <= self.limit and len(self.passages) <= self.most

    def is_answer(self, unit: int) -> bool:
        """Return True if the passage with `unit` is at least one complete sentence."""
        one = next(one for one in self.passages if one.first <= unit < one.stop)
        return self.ends(one.stop - 1) and self.size(one.first, one.stop) >= SHORT

    def with_run(self, run: Run, unit: int, rank: int) -> _Taken:
        """These passages and the run of a unit, in a copy."""
        passage = Passage(*run, unit, rank)
        passages = sorted((*self.passages, passage), key=lambda one: one.first)
        more = replace(self, passages=tuple(passages))
        at = passages.index(passage)
        for place in (at, at - 1):
            if 0 <= place < len(passages) - 1 and more._touch(place):
                more = more._joined(place)
        return more

    def merged(self) -> _Taken:
        """Join the nearest passages if there are too many and any are near."""
        places = range(len(self.passages) - 1)
        near = [place for place in places if self._may_join(place, NEAR)]
        if len(self.passages) <= self.most or not near:
            return self
        return self._joined(min(near, key=self._gap)).merged()

    def _touch(self, place: int) -> bool:
        """Return True if a passage and the next one are to be joined."""
        left, right = self.passages[place : place + 2]
        if not self.ends(left.stop - 1) and not self._gap(place):
            return True
        blocks = self.pool.blocks
        are_of_one = right.first < len(blocks) and (
            blocks[left.stop - 1] == blocks[right.first]
        )
        near = HOLE if are_of_one and self.near >= 0 else self.near
        return self._may_join(place, near)

    def _may_join(self, place: int, near: int) -> bool:
        left, right = self.passages[place : place + 2]
        between = range(left.stop, right.first + 1)
        return self._gap(place) <= near and all(map(self.joins, between))

    def _gap(self, place: int) -> int:
        """Count the tokens between a passage and the next one; -1 if they overlap."""
        left, right = self.passages[place : place + 2]
        if right.first < left.stop:
            return -1
        return int(self.pool.atoms.tokens[left.stop : right.first].sum())

    def _joined(self, place: int) -> _Taken:
        left, right = self.passages[place : place + 2]
        best = min(left, right, key=lambda one: one.rank)
        stop = max(left.stop, right.stop)
        whole = replace(best, first=left.first, stop=stop)
        passages = (*self.passages[:place], whole, *self.passages[place + 2 :])
        return replace(self, passages=passages)
