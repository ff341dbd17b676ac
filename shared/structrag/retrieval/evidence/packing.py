"""From ranked atoms to passages within a reader's tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from structrag.retrieval.evidence.answers import SHORT, WHOLE
from structrag.retrieval.evidence.corpus import Pool
from structrag.retrieval.evidence.windows import Windows
from structrag.text.arrays import running_totals

if TYPE_CHECKING:
    from typing_extensions import Self

WHOLE_BLOCK = WHOLE
AROUND = 60  # reader tokens; of longer blocks it brings what lies in this window
# Reader tokens between passages that become one, and that may where their number is limited.
BETWEEN, NEAR = 12, 120


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
    pool: Pool,
    ranking: Iterable[int],
    whole_block: int = WHOLE_BLOCK,
    ends: Callable[[int], bool] = _always,
) -> Iterator[tuple[int, Run]]:
    """Each atom with the run of new atoms it brings, by rank.

    A block of at most `whole_block` reader tokens comes whole, of a longer one what lies around the
    atom. Where a passage must not end, the next block comes too, or the beginning of a long one.
    What came before is left out, and an atom that came before brings nothing.
    """
    starts = np.flatnonzero(np.diff(pool.blocks, prepend=-1))
    stops = np.append(starts[1:], len(pool))
    around, behind = pool.windows[AROUND], pool.windows[2 * AROUND]
    taken = np.zeros(len(pool), dtype=bool)

    def of_block(unit: int, window: Windows) -> Run:
        block = int(pool.blocks[unit])
        first, stop = int(starts[block]), int(stops[block])
        if pool.atoms.block_tokens[unit] > whole_block:
            first = max(first, int(window.firsts[unit]))
            stop = min(stop, int(window.stops[unit]))
        return first, stop

    for unit in ranking:
        if taken[unit]:
            continue
        first, stop = of_block(unit, around)
        while not ends(stop - 1):
            stop = of_block(stop, behind)[1]
        before = np.flatnonzero(taken[first:unit])
        after = np.flatnonzero(taken[unit:stop])
        first = first + int(before[-1]) + 1 if len(before) else first
        stop = unit + int(after[0]) if len(after) else stop
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
    whole_block: int = WHOLE_BLOCK,
) -> list[Passage]:
    """The passages that the best atoms bring, within the limits, by rank.

    Units are taken in the order of the ranking until one does not fit. Of that one, the longest run
    around its atom that does is taken. Runs that touch are one passage. So what is taken within a
    budget is taken within any larger one.

    Where both tokens and passages are limited, touching runs are different passages while there is
    room. Else the two that are nearest become one with what is between them, if that is at most
    `NEAR` tokens. A unit for which there is no room even so is left out, and the next one tried.

    Args:
        pool, ranking: Units, best first.
        size: Reader tokens of a run of atoms.
        max_tokens, k: Most tokens and passages; None: no limit.
        joins: Whether an atom may stand in one passage with the atom before it.
        whole_block: Reader tokens up to which an atom brings its whole block.
    """
    limit = inf if max_tokens is None else max_tokens
    most = inf if k is None else k
    merges = max_tokens is not None and k is not None
    taken = (
        _Merging(pool, size, joins, ends, limit, most, -1)
        if merges
        else _Taken(pool, size, joins, ends, limit, most, BETWEEN)
    )
    brought = units(pool, ranking, whole_block, ends)
    for rank, (unit, run) in enumerate(brought, start=1):
        if max_tokens is None and k is not None and not ends(run[1] - 1):
            continue  # it leads to a passage that stays apart
        more = taken.with_run(run, unit, rank)
        if more.fits:
            taken = more
        elif merges and len(more.passages) > most:
            continue  # nothing is near; the next one may touch a passage
        else:
            # A part could bring together others than the whole, and then it is no part of more.
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


class _Taken:
    """Passages in reading order, those that touch joined, and their tokens."""

    def __init__(
        self,
        pool: Pool,
        size: Size,
        joins: Callable[[int], bool],
        ends: Callable[[int], bool],
        limit: float,
        most: float,
        near: int,
    ) -> None:
        self.before = running_totals(pool.atoms.tokens).tolist()  # tokens
        self.near = near
        self.size = size
        self.joins = joins
        self.ends = ends
        self.limit = limit  # tokens
        self.most = most  # passages
        self.passages: list[Passage] = []
        self.tokens = 0.0

    @property
    def fits(self) -> bool:
        return self.tokens <= self.limit and len(self.passages) <= self.most

    def is_answer(self, unit: int) -> bool:
        """Whether what holds a unit is at least a sentence, and complete."""
        one = next(one for one in self.passages if one.first <= unit < one.stop)
        return self.ends(one.stop - 1) and self.size(one.first, one.stop) >= SHORT

    def with_run(self, run: Run, unit: int, rank: int) -> Self:
        """These passages and the run of a unit, in a copy."""
        more = copy(self)
        more._add(Passage(*run, unit, rank))
        return more

    def _add(self, passage: Passage) -> None:
        at = bisect_left([one.first for one in self.passages], passage.first)
        first, stop = at, at
        if at and self._touch(self.passages[at - 1], passage):
            first = at - 1
        if at < len(self.passages) and self._touch(passage, self.passages[at]):
            stop = at + 1
        self._join([*self.passages[first:stop], passage], first, stop)

    def _touch(self, left: Passage, right: Passage) -> bool:
        if left.stop == right.first and not self.ends(left.stop - 1):
            return True
        return self._gap(left, right) <= self.near and all(
            map(self.joins, range(left.stop, right.first + 1))
        )

    def _gap(self, left: Passage, right: Passage) -> int:
        """Tokens between two passages."""
        return int(self.before[right.first] - self.before[left.stop])

    def _join(self, joined: Sequence[Passage], first: int, stop: int) -> None:
        """Put one passage of all `joined` in their place, `first` to `stop`."""
        best = min(joined, key=lambda one: one.rank)
        whole = Passage(
            min(one.first for one in joined),
            max(one.stop for one in joined),
            best.best,
            best.rank,
        )
        replaced = self.passages[first:stop]
        self.tokens += self.size(whole.first, whole.stop)
        self.tokens -= sum(self.size(one.first, one.stop) for one in replaced)
        self.passages = [*self.passages[:first], whole, *self.passages[stop:]]


class _Merging(_Taken):
    """Passages; of more than `most` the nearest become one."""

    def with_run(self, run: Run, unit: int, rank: int) -> Self:
        """These passages and the run of a unit, the nearest merged."""
        more = super().with_run(run, unit, rank)
        while len(more.passages) > self.most and more._merge_nearest():
            pass
        return more

    def _merge_nearest(self) -> bool:
        """Whether there were two near passages; the nearest are now one."""
        pairs = list(pairwise(self.passages))
        gaps = [self._gap(*pair) for pair in pairs]
        for place in sorted(range(len(pairs)), key=gaps.__getitem__):
            left, right = pairs[place]
            if gaps[place] > NEAR:
                return False
            if all(map(self.joins, range(left.stop, right.first + 1))):
                self._join(pairs[place], place, place + 2)
                return True
        return False
