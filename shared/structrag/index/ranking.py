"""The order of every ranking: best score first, equal scores by row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

SCORE_DIGITS = 9  # scores that agree to this many decimals are equal
_STRIDE = 16  # one score in so many is sampled to find where the best begin


def nth_best(scores: NDArray[Any], n: int) -> Any:
    """The `n`-th highest score, for n from 1 to their number.

    The highest of every sixteenth score usually bound it from below; then only the few scores above
    that are looked at.
    """
    sample = scores[::_STRIDE]
    margin = 2 * n // _STRIDE + 8  # twice what is expected among the n best, and some more
    if 4 * margin < len(sample):
        above = scores[scores >= _nth_of_few(sample, margin)]
        if len(above) >= n:
            scores = above
    return _nth_of_few(scores, n)


def _nth_of_few(scores: NDArray[Any], n: int) -> Any:
    place = len(scores) - n
    return np.partition(scores, place)[place]


def best_positions(scores: FloatArray, n: int) -> NDArray[Any]:
    """Positions of the `n` best scores, best first.

    Fewer if there are fewer. Ordered by (-round(score, 9), position).
    """
    if n <= 0:
        return np.empty(0, dtype=np.int64)
    positions = np.arange(len(scores))
    if n < len(scores):
        limit = nth_best(scores, n)
        positions = np.flatnonzero(scores >= limit - 10.0**-SCORE_DIGITS)
    rounded = np.round(scores[positions], SCORE_DIGITS)
    return positions[np.argsort(-rounded, kind="stable")[:n]]


def as_ranking(rows: NDArray[Any], scores: FloatArray, n: int) -> list[tuple[int, float]]:
    """The `n` best (row, score) pairs of parallel arrays; `rows` must ascend."""
    best = best_positions(scores, n)
    return list(zip(rows[best].tolist(), scores[best].tolist(), strict=True))


def concatenated(arrays: Sequence[NDArray[Any]], dtype: Any) -> NDArray[Any]:
    """The arrays joined, as `dtype`; an empty array for none."""
    return np.concatenate(arrays).astype(dtype, copy=False) if arrays else np.empty(0, dtype=dtype)
