"""Where relevant segments stand in a ranking: HiQA's Log-Rank Index."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from math import log1p

from structrag.errors import InvalidParameter, check_at_least, check_choice

_MISSING = ("last", "expected")
# Scores equal to this many decimals are tied, as in every ranking of this library.
_TIE_DIGITS = 9


def mid_ranks(scores: Sequence[float]) -> list[float]:
    """The rank of each score, from 1 for the highest.

    Tied scores share the mean of the ranks they fill. In sets of near-identical documents the order
    among ties alone can decide a metric. Mid-ranks take it out.

    Example:
        >>> mid_ranks([0.9, 0.5, 0.5])
        [1.0, 2.5, 2.5]
    """
    ordered = sorted(range(len(scores)), key=lambda i: -round(scores[i], _TIE_DIGITS))
    ranks = [0.0] * len(scores)
    first = 1
    for _, tied in groupby(ordered, key=lambda i: round(scores[i], _TIE_DIGITS)):
        block = list(tied)
        for i in block:
            ranks[i] = first + (len(block) - 1) / 2
        first += len(block)
    return ranks


def log_rank_score(rank: float, n: int, *, gamma: float = 1.0) -> float:
    """The score of a rank, from 1 down to 0.

    S(r) = 1 - ln(1 + gamma (r - 1)) / ln(1 + gamma (n - 1)).

    n: the number of ranked segments (not documents). A rank may be fractional (`mid_ranks`).
    gamma >= 0: the larger, the steeper at the top. 0 is the linear limit 1 - (r - 1) / (n - 1).
    A ranking of one segment scores 1.

    Example:
        >>> round(log_rank_score(2, 4), 3)
        0.5
    """
    check_at_least("gamma", gamma, 0)
    check_at_least("n", n, 1)
    if not 1 <= rank <= n:
        raise InvalidParameter(
            f"rank must be between 1 and n = {n}; got {rank!r}. Ranks start at 1."
        )
    if n == 1:
        return 1.0
    if gamma == 0:
        return 1 - (rank - 1) / (n - 1)
    return 1 - log1p(gamma * (rank - 1)) / log1p(gamma * (n - 1))


def log_rank_index(
    ranks: Sequence[float | None],
    n: int,
    *,
    gamma: float = 1.0,
    missing: str = "last",
    retrieved: int | None = None,
    normalised: bool = False,
) -> float | None:
    """The Log-Rank Index of one query, in [0, 1] (HiQA, section 4).

    It is the mean of `log_rank_score` over the query's relevant segments, None without any. It
    depends on n, so it is not comparable between corpora of different size. The paper gives no
    gamma and calls n once segments and once documents. Segments are what is ranked.

    Example:
        >>> log_rank_index([1, None], n=10)
        0.5

    Args:
        ranks: The rank of each relevant segment among the `n` ranked ones, from 1. None when it was
            not retrieved.
        n: How many segments are ranked.
        gamma: As in `log_rank_score`.
        missing: "last" gives a segment that was not retrieved rank n, so 0. "expected" gives it the
            mid-rank of the unranked block, (retrieved + 1 + n) / 2.
        retrieved: How many segments were ranked, for "expected".
        normalised: Whether to divide by the value of ranks 1..m, since m relevant segments cannot
            all be first.
    """
    check_choice("missing", missing, _MISSING)
    check_at_least("n", n, 1)
    if not ranks:
        return None
    if len(ranks) > n:
        raise InvalidParameter(
            f"n must be at least the number of relevant segments, {len(ranks)}; got {n}."
        )
    absent: float = n
    if missing == "expected" and None in ranks:
        if retrieved is None or not 0 <= retrieved < n:
            raise InvalidParameter(
                f"retrieved must be a count from 0 to {n - 1} for missing='expected'; "
                f"got {retrieved!r}. Pass how many segments were ranked."
            )
        absent = (retrieved + 1 + n) / 2
    total = sum(
        log_rank_score(absent if rank is None else rank, n, gamma=gamma)
        for rank in ranks
    )
    if normalised:
        best = range(1, len(ranks) + 1)
        return total / sum(log_rank_score(rank, n, gamma=gamma) for rank in best)
    return total / len(ranks)
