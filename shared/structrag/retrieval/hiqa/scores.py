"""HiQA's score (equation 2), rules of thumb for its weights, and grouping. Pure functions over a
pool of segments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from math import log

import numpy as np

from structrag.retrieval.fusion import maxnorm, minmax, round_robin
from structrag.text.arrays import BoolArray, FloatArray, IntArray

ROUTES = ("dense", "bm25", "keywords")  # also the order of the three parts of a score


@dataclass(frozen=True, slots=True)
class Candidates:
    """The n segments that one query's routes found, and their scores."""

    rows: IntArray  # (n,), of the index, ascending
    cosine: FloatArray  # (n,); NaN where no cosine is known
    bm25: FloatArray  # (n,); 0 where the route found nothing
    keywords: tuple[str, ...]  # of the query, as written
    held: BoolArray  # (keywords, n): which segment holds which of them
    # route -> row -> rank from 1, where the route itself found the row
    ranks: Mapping[str, Mapping[int, int]]
    # (n,); what is added to the cosine of those that hold a keyword (see `CandidateSource`)
    shift: FloatArray | float = 0.0

    @property
    def counts(self) -> IntArray:
        """|C|: how many of the query's keywords each segment holds, (n,)."""
        return self.held.sum(axis=0)  # type: ignore[no-any-return]


def normalised(pool: Candidates) -> tuple[FloatArray, FloatArray]:
    """v and r of equation 2, (n,) each, in [0, 1]. v is the min-max of the cosines, r BM25 divided
    by its maximum; both are 0 where the route has no score."""
    has_cosine = ~np.isnan(pool.cosine)
    v = np.zeros(len(pool.rows))
    v[has_cosine] = minmax((pool.cosine + pool.shift)[has_cosine])
    return v, maxnorm(pool.bm25)


def alpha_for(pool: Candidates, alpha: float) -> float:
    """`alpha`, but 0 without cosines, and 1 without a BM25 hit."""
    if np.isnan(pool.cosine).all():
        return 0.0
    return alpha if (pool.bm25 > 0).any() else 1.0


def weighted_parts(pool: Candidates, weights: Sequence[float]) -> FloatArray:
    """v, r and ln(1 + |C|) times their weights, (3, n). With alpha, 1 - alpha and beta their sum is
    equation 2. The logarithm is the natural one."""
    v, r = normalised(pool)
    summands = np.stack([v, r, np.log1p(pool.counts)])
    parts: FloatArray = np.array(weights)[:, None] * summands
    return parts


def best_score(
    pool: Candidates, weights: Sequence[float], routes: Sequence[str]
) -> float:
    """Return the score of a segment that is first on every route and contains all of the query's
    keywords; 1 if that is 0. `weights` are of v, r and ln(1 + |C|)."""
    most = {"dense": 1.0, "bm25": 1.0, "keywords": float(np.log1p(len(pool.keywords)))}
    best = 0.0
    for route, weight in zip(ROUTES, weights, strict=True):
        if route in routes:
            best += weight * most[route]
    return best or 1.0


def keyword_ranks(rows: IntArray, counts: IntArray) -> dict[int, int]:
    """Row -> rank by |C|, for rows with at least one keyword. Equal counts share the best of their
    ranks."""
    above = len(counts) - np.searchsorted(np.sort(counts), counts, side="right")
    holds = counts > 0
    return dict(zip(rows[holds].tolist(), (above[holds] + 1).tolist(), strict=True))


def auto_alpha(structure: float) -> float:
    """0.4 + 0.2 x structure, so from 0.4 to 0.6.

    `structure`, in [0, 1], is the number of headings above a segment, at most 3, averaged over all
    segments and divided by 3. The paper raises alpha "in well-structured collections with clear
    hierarchies" and gives no figures; these are ours, around its default.
    """
    return 0.4 + 0.2 * structure


def auto_beta(n_documents: int, mean_pages: float) -> float:
    """0.1 (1 + ln(1 + documents / mean pages)), at most 0.4.

    It is at least 0.1. Many short documents need the keywords most. The paper raises beta with that
    ratio and gives no figures. 0.1 for an empty collection.
    """
    if not n_documents or mean_pages <= 0:
        return 0.1
    return min(0.4, 0.1 * (1 + log(1 + n_documents / mean_pages)))


def in_turn(order: Sequence[int], held: BoolArray, k: int) -> list[int]:
    """The first `k` positions, in turn from the published code's groups.

    `order` has the positions best first. Groups: segments with several of the keywords, then those
    with one, by keyword. Segments with none come after all others.
    """
    counts = held.sum(axis=0)
    groups = [[i for i in order if counts[i] > 1]]
    groups += [[i for i in order if counts[i] == 1 and holds[i]] for holds in held]
    named = round_robin(groups, k)
    rest = (i for i in order if not counts[i])
    return named + list(islice(rest, max(0, k - len(named))))
