"""The sum of what the terms of a query add to rows.

Rows that cannot be among the best are left out early.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from structrag.index.ranking import SCORE_DIGITS, FloatArray, IntArray, nth_best

# Rows less than one in so many are looked up in the postings, rather than all postings added.
FEW = 8
_MARGIN = 2 * 10.0**-SCORE_DIGITS  # scores that are equal when rounded, and errors of summing


@dataclass(frozen=True, slots=True)
class Term:
    """A term of a query."""

    rows: NDArray[np.int32]  # (df,) that hold it, ascending
    counts: NDArray[np.int32]  # (df,) how often
    weight: float  # it adds weight x count / (count + K) to a row's score, so less than this


def add_terms(
    terms: Sequence[Term], k: FloatArray, rows: IntArray, scores: FloatArray, n: int
) -> tuple[IntArray, FloatArray]:
    """Add all terms to the scores of rows; gives what is left.

    `rows` ascend, `scores` are changed in place, `k` has the K of every row, and the terms are
    added in the order given. Where n < len(rows), rows that cannot be among the `n` best may be
    left out, for which no weight may be below 0. Give the rarest terms first: what the others can
    still add is soon less than what the best rows are ahead by, and then few rows are left to
    score.
    """
    left = sum(term.weight for term in terms)
    for term in terms:
        if n < len(rows) and len(term.rows) * FEW > len(rows):
            ahead = scores[scores > left + _MARGIN]
            if len(ahead) >= n:
                hopeful = np.flatnonzero(scores >= nth_best(ahead, n) - left - _MARGIN)
                if len(hopeful) * FEW < len(rows):
                    rows, scores = rows[hopeful], scores[hopeful]
        left -= term.weight
        at, held = _common(rows, term.rows)
        counts = term.counts[held]
        parts = k[rows[at]]
        parts += counts
        np.divide(counts, parts, out=parts)
        parts *= term.weight
        np.add.at(scores, at, parts)  # faster than scores[at] += parts
    return rows, scores


def _common(rows: IntArray, held: NDArray[np.int32]) -> tuple[IntArray, IntArray | slice]:
    """The positions, in each, of what both have; both ascend."""
    # Rows that follow each other need no search: their positions are differences.
    if len(rows) and rows[-1] - rows[0] + 1 == len(rows):
        first, last = np.searchsorted(held, (rows[0], rows[-1] + 1)).tolist()
        return np.subtract(held[first:last], rows[0], dtype=np.int64), slice(first, last)
    short, long = (rows, held) if len(rows) < len(held) else (held, rows)
    at = np.searchsorted(long, short)
    there = np.flatnonzero(long.take(at, mode="clip") == short)
    pair = (there, at[there])
    return pair if short is rows else pair[::-1]
