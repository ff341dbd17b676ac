"""From ranked atoms to passages within a reader's tokens."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from math import inf

import numpy as np

from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.windows import IntArray

WHOLE_BLOCK = 160  # reader tokens up to which an atom brings its whole block
AROUND = 60  # reader tokens; of longer blocks it brings what lies in this window


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


# Tokens of atoms first to stop - 1 as the reader is given them, or none where they cannot be joined
Size = Callable[[int, int], float]


def units(
    pool: Pool, ranking: Iterable[int], whole_block: int = WHOLE_BLOCK
) -> Iterator[tuple[int, list[tuple[int, int]]]]:
    """Each atom with the runs of new atoms it brings, by rank.

    A block of at most `whole_block` reader tokens comes whole, of a longer one what lies around the
    atom. What came before is left out, and an atom that came before brings nothing.
    """
    starts = np.flatnonzero(np.diff(pool.blocks, prepend=-1))
    stops = np.append(starts[1:], len(pool))
    around = pool.windows[AROUND]
    taken = np.zeros(len(pool), dtype=bool)
    for atom in ranking:
        if taken[atom]:
            continue
        block = int(pool.blocks[atom])
        first, stop = int(starts[block]), int(stops[block])
        if pool.block_tokens[block] > whole_block:
            first = max(first, int(around.firsts[atom]))
            stop = min(stop, int(around.stops[atom]))
        new = first + np.flatnonzero(~taken[first:stop])
        taken[first:stop] = True
        yield int(atom), _runs(new)


def pack(
    pool: Pool,
    ranking: Iterable[int],
    size: Size,
    *,
    max_tokens: float | None = None,
    k: int | None = None,
    joins: Callable[[int], bool] = lambda _: True,
    whole_block: int = WHOLE_BLOCK,
) -> list[Passage]:
    """The passages that the best atoms bring, within the limits, by rank.

    Units are taken in the order of the ranking until one does not fit. Of that one, the longest run
    around its atom that does is taken. Runs that touch are one passage. So what is taken within a
    budget is taken within any larger one.

    Args:
        pool, ranking: Atoms, best first.
        size: Reader tokens of a run of atoms.
        max_tokens, k: Most tokens and passages; None: no limit.
        joins: Whether an atom may stand in one passage with the atom before it.
        whole_block: Reader tokens up to which an atom brings its whole block.
    """
    limit = inf if max_tokens is None else max_tokens
    taken = _Taken(size, joins)
    for rank, (atom, runs) in enumerate(units(pool, ranking, whole_block), start=1):
        if _take(taken, atom, runs, rank, limit, k):
            continue
        (around,) = [run for run in runs if run[0] <= atom < run[1]]
        _take_part(taken, atom, around, rank, limit, k)
        break
    return sorted(taken.passages, key=lambda passage: passage.rank)


def _take(
    taken: _Taken, atom: int, runs: list[tuple[int, int]], rank: int, limit: float, k: int | None
) -> bool:
    """Take runs of atoms if all limits are kept; else nothing changes."""
    before = list(taken.passages), taken.tokens
    for first, stop in runs:
        taken.add(Passage(first, stop, atom, rank))
    if taken.tokens <= limit and (k is None or len(taken.passages) <= k):
        return True
    taken.passages, taken.tokens = before
    return False


def _take_part(
    taken: _Taken, atom: int, run: tuple[int, int], rank: int, limit: float, k: int | None
) -> None:
    """Take the atom and what is around it in its run.

    It ends where one more atom does not fit. It grows to the end that is nearer to the atom, so
    that what fits a budget is always a part of what fits a larger one.
    """
    first, stop = atom, atom + 1
    if not _take(taken, atom, [(first, stop)], rank, limit, k):
        return
    while (first, stop) != run:
        behind_is_nearer = stop - atom - 1 <= atom - first
        if first == run[0] or (behind_is_nearer and stop < run[1]):
            new, stop = stop, stop + 1
        else:
            new, first = first - 1, first - 1
        passage = next(one for one in taken.passages if one.first <= atom < one.stop)
        if not _take(taken, passage.best, [(new, new + 1)], passage.rank, limit, None):
            return


class _Taken:
    """Passages in reading order, those that touch joined, and their tokens."""

    def __init__(self, size: Size, joins: Callable[[int], bool]) -> None:
        self.size = size
        self.joins = joins
        self.passages: list[Passage] = []
        self.tokens = 0.0

    def add(self, passage: Passage) -> None:
        """Put a passage among the others."""
        at = bisect_left([one.first for one in self.passages], passage.first)
        first, stop = at, at
        if at and self._touch(self.passages[at - 1], passage):
            first = at - 1
        if at < len(self.passages) and self._touch(passage, self.passages[at]):
            stop = at + 1
        joined = [*self.passages[first:stop], passage]
        best = min(joined, key=lambda one: one.rank)
        whole = Passage(
            min(one.first for one in joined), max(one.stop for one in joined), best.best, best.rank
        )
        replaced = self.passages[first:stop]
        self.tokens += self.size(whole.first, whole.stop)
        self.tokens -= sum(self.size(one.first, one.stop) for one in replaced)
        self.passages = [*self.passages[:first], whole, *self.passages[stop:]]

    def _touch(self, left: Passage, right: Passage) -> bool:
        if left.stop != right.first:
            return False
        return left.rank == right.rank or self.joins(right.first)  # of one unit, or of two


def _runs(atoms: IntArray) -> list[tuple[int, int]]:
    """Ascending atoms as runs (first, behind last)."""
    if not len(atoms):
        return []
    breaks = np.flatnonzero(np.diff(atoms) > 1) + 1
    starts = atoms[np.concatenate([[0], breaks])]
    stops = atoms[np.concatenate([breaks - 1, [len(atoms) - 1]])] + 1
    return list(zip(starts.tolist(), stops.tolist(), strict=True))
