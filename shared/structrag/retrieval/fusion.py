"""Put the rankings of several routes together. Pure functions on keys (rows or chunk ids) and
scores. Ties are in the order of the keys, which is document order for row numbers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Sequence
from itertools import chain, zip_longest
from typing import Any, TypeVar

import numpy as np
import xxhash
from numpy.typing import ArrayLike

from structrag.errors import InvalidAnswer, check_at_least
from structrag.index.ranking import SCORE_DIGITS, as_ranking
from structrag.text.arrays import FloatArray

Key = TypeVar("Key", bound=Hashable)
C = 60  # of reciprocal rank fusion, as Cormack et al. (2009) chose it


def minmax(scores: ArrayLike, *, constant: float | None = None) -> FloatArray:
    """(x - min) / (max - min), in [0, 1].

    A constant list, one score included, gives `constant`; with None 1.0 if the value is above 0,
    else 0.0. An empty one gives an empty one. Raises InvalidAnswer for NaN or infinity.
    """
    values = _finite(scores)
    if not len(values):
        return values
    low, high = float(values.min()), float(values.max())
    if low == high:
        constant = float(high > 0) if constant is None else constant
        return np.full(len(values), constant)
    return (values - low) / (high - low)


def maxnorm(scores: ArrayLike) -> FloatArray:
    """max(x, 0) / max, in [0, 1]. Zeros when no score is above 0. Raises InvalidAnswer for NaN or
    infinity."""
    values = np.maximum(_finite(scores), 0.0)
    highest = float(values.max(initial=0.0))
    return values / highest if highest > 0 else values


def sum_of_parts(
    routes: Sequence[Iterable[int]], parts: Sequence[FloatArray], k: int
) -> list[tuple[int, float]]:
    """The `k` best (row, score) by the sum of parts, then row. `parts` are what each route adds to
    its rows. A row that a route did not find gets 0 from it."""
    places = np.fromiter(chain.from_iterable(routes), dtype=np.int64)
    rows, place = np.unique(places, return_inverse=True)
    added = np.concatenate([np.empty(0), *parts])
    totals = np.bincount(place, added, len(rows)).astype(np.float64, copy=False)
    return as_ranking(rows, totals, k)


def reciprocal_rank_fusion(rankings: Sequence[Iterable[Key]]) -> list[Key]:
    """Keys by the sum of 1 / (60 + rank) over the rankings, best first.

    Ranks are from 1 (Cormack et al., 2009). A key counts once per ranking, at its first position;
    one that a ranking lacks gets nothing from it.
    """
    totals: dict[Any, float] = {}
    for ranking in rankings:
        for rank, key in enumerate(dict.fromkeys(ranking), start=1):
            totals[key] = totals.get(key, 0.0) + 1 / (C + rank)
    return sorted(totals, key=lambda key: (-round(totals[key], SCORE_DIGITS), key))


def reciprocal_ranks(n: int) -> FloatArray:
    """1 / (60 + rank) for ranks 1 to n. `reciprocal_rank_fusion` adds these up."""
    return 1 / (C + np.arange(1, n + 1, dtype=np.float64))


def union_size(k: float) -> int:
    """Return how many hits of each view MC-indexing joins for about `k` hits.

    That is 2k/3 rounded half up, at least 1: k of 1.5, 3, 5 and 10 give 1, 2, 3 and 7 (the paper
    takes 6 or 7 for 10). It is for several views, which find about half of these in common.
    """
    check_at_least("k", k, 0)
    return max(1, math.floor(2 * k / 3 + 0.5))


def alternating(k: float, query: str) -> int:
    """A whole number for `k`, the same for equal queries.

    It is one of the two around a fraction. The mean over many queries is `k`: 1.5 gives 1 for half
        of them and 2 for the other half (MC-indexing, appendix E). At least 1.

    Example:
        >>> alternating(3, "Which pump leaks?")
        3
    """
    check_at_least("k", k, 0)
    below = math.floor(k)
    share = xxhash.xxh32_intdigest(query.encode("utf-8", "surrogatepass")) / 2**32
    return max(1, below + (share < k - below))


def union(rankings: Sequence[Iterable[Key]], size: int) -> list[Key]:
    """The set of the first `size` keys of each ranking (MC-indexing, `fusion="union"`). The paper
    gives no order; here it is that of `reciprocal_rank_fusion` over the full rankings."""
    complete = [list(dict.fromkeys(ranking)) for ranking in rankings]
    chosen = {key for ranking in complete for key in ranking[: max(0, size)]}
    return [key for key in reciprocal_rank_fusion(complete) if key in chosen]


def round_robin(rankings: Sequence[Iterable[Key]], k: int) -> list[Key]:
    """Rank 1 of each ranking in turn, then rank 2, ... It ends with `k` different keys."""
    missing = object()
    taken: dict[Any, None] = {}
    for row in zip_longest(
        *(dict.fromkeys(ranking) for ranking in rankings), fillvalue=missing
    ):
        for key in row:
            if len(taken) >= k:
                return list(taken)
            if key is not missing:
                taken.setdefault(key)
    return list(taken)


def _finite(scores: ArrayLike) -> FloatArray:
    values = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(values).all():
        raise InvalidAnswer(
            "scores must be finite to be normalised; got NaN or infinity. Remove such items "
            "first."
        )
    return values
