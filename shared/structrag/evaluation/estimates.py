"""A mean over questions with its bootstrap interval, alone and as a difference to another system."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from structrag.evaluation.aggregate import paired_bootstrap


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean with the 95% interval of a bootstrap over the questions."""

    mean: float
    low: float
    high: float
    n: int  # questions


def estimate(scores: Sequence[float]) -> Estimate:
    """The mean of one score a question, and the interval it would stay in had other such questions
    been asked.

    Raises:
        InvalidParameter: there is no score.
    """
    return estimated_difference(scores, [0.0] * len(scores))


def estimated_difference(first: Sequence[float], second: Sequence[float]) -> Estimate:
    """The mean of first - second over the same questions in the same order; both ends are 0 for a
    system and itself.

    Raises:
        InvalidParameter: lengths differ, or there is no score.
    """
    found = paired_bootstrap(first, second)
    return Estimate(found.difference, found.low, found.high, found.n)
