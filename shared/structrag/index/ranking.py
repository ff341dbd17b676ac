"""The order of every ranking: best score first, equal scores by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SCORE_DIGITS = 9  # scores that agree to this many decimals are equal
_STRIDE = 16  # one score in so many is sampled to find where the best begin


def nth_best(scores: NDArray[Any], n: int) -> Any:
    """The `n`-th highest score, for n from 1 to their number. The highest of every sixteenth score
    usually bound it from below; then only the few scores above it are examined."""
    sample = scores[::_STRIDE]
    # Twice what is expected among the n best, and some more.
    margin = 2 * n // _STRIDE + 8
    if 4 * margin < len(sample):
        bound = _nth_of_few(sample, margin)
        above = scores[scores > bound]
        if len(above) >= n:
            scores = above
        elif np.count_nonzero(scores >= bound) >= n:
            return bound  # many scores are equal
    return _nth_of_few(scores, n)


def _nth_of_few(scores: NDArray[Any], n: int) -> Any:
    place = len(scores) - n
    return np.partition(scores, place)[place]


def best_positions(scores: FloatArray, n: int) -> NDArray[Any]:
    """Positions of the `n` best scores, best first. Fewer if there are fewer. Ordered by
    (-round(score, 9), position)."""
    if n <= 0:
        return np.empty(0, dtype=np.int64)
    positions = np.arange(len(scores))
    if 2 * n < len(scores):  # else sorting all is as fast
        limit = nth_best(scores, n)
        positions = np.flatnonzero(scores >= limit - 10.0**-SCORE_DIGITS)
    rounded = np.round(scores[positions], SCORE_DIGITS)
    return positions[np.argsort(-rounded, kind="stable")[:n]]


def as_ranking(
    rows: NDArray[Any], scores: FloatArray, n: int
) -> list[tuple[int, float]]:
    """The `n` best (row, score) pairs of parallel arrays; `rows` must ascend."""
    best = best_positions(scores, n)
    return list(zip(rows[best].tolist(), scores[best].tolist(), strict=True))


def concatenated(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """The arrays joined, as `dtype`; an empty array for none."""
    return (
        np.concatenate(arrays).astype(dtype, copy=False)
        if arrays
        else np.empty(0, dtype=dtype)
    )


@dataclass(frozen=True, slots=True)
class RowMap:
    """The positions of a segment's rows among all rows of a level.

    Example:
        >>> RowMap(3, offset=10).positions_of(np.array([0, 2])).tolist()
        [10, 12]

    Attributes:
        n_rows: How many rows the segment has.
        offset: The position of row 0, where the rows follow each other.
        positions: (n_rows,) where they do not; -1 for a row that is deleted.
    """

    n_rows: int
    offset: int = 0
    positions: IntArray | None = None

    def positions_of(self, rows: NDArray[Any]) -> IntArray:
        """The positions of some rows, none of them deleted."""
        if self.positions is None:
            return np.asarray(rows, dtype=np.int64) + self.offset
        positions: IntArray = self.positions[rows]
        return positions

    @property
    def live(self) -> NDArray[np.bool_] | None:
        """Which rows are not deleted, (n_rows,); None: all are there."""
        return None if self.positions is None else self.positions >= 0

    @property
    def n_live(self) -> int:
        """How many rows are not deleted."""
        return (
            self.n_rows if self.positions is None else int((self.positions >= 0).sum())
        )

    def live_rows(self) -> IntArray:
        """The rows that are not deleted, ascending."""
        if self.positions is None:
            return np.arange(self.n_rows)
        return np.flatnonzero(self.positions >= 0)

    def within(self, where: slice | NDArray[np.bool_]) -> RowMap:
        """The same rows, those outside a selection of positions as deleted."""
        selected = self.local(where)
        positions = np.full(self.n_rows, -1, dtype=np.int64)
        rows = np.arange(self.n_rows)[selected]
        positions[rows] = self.positions_of(rows)
        return RowMap(self.n_rows, positions=positions)

    def local(
        self, where: slice | NDArray[np.bool_] | None
    ) -> slice | NDArray[np.bool_] | None:
        """A selection of positions as a selection of the segment's own rows."""
        if self.positions is None:
            if isinstance(where, slice):
                start, stop = where.start - self.offset, where.stop - self.offset
                return slice(max(0, start), min(self.n_rows, max(0, stop)))
            return (
                None
                if where is None
                else where[self.offset : self.offset + self.n_rows]
            )
        live: NDArray[np.bool_] = self.positions >= 0
        if isinstance(where, slice):
            live &= (self.positions >= where.start) & (self.positions < where.stop)
            return live
        if where is not None:
            live[live] = where[self.positions[live]]
        return live


def joined(places: Sequence[RowMap]) -> RowMap:
    """The positions of the rows of several segments, segment after segment."""
    offset = places[0].offset if places else 0
    firsts = list(accumulate((place.n_rows for place in places), initial=offset))
    n_rows = firsts.pop() - offset
    follows = [
        place.positions is None and place.offset == first
        for place, first in zip(places, firsts, strict=True)
    ]
    if all(follows):
        return RowMap(n_rows, offset)
    positions = [place.positions_of(np.arange(place.n_rows)) for place in places]
    return RowMap(n_rows, positions=concatenated(positions, np.int64))


def ranking(positions: IntArray, scores: FloatArray, n: int) -> list[tuple[int, float]]:
    """The `n` best of positions in any order."""
    if (np.diff(positions) < 0).any():
        order = np.argsort(positions)
        positions, scores = positions[order], scores[order]
    return as_ranking(positions, scores, n)
