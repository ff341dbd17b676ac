"""A mean or a mean difference over questions, with its bootstrap interval."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from structrag.evaluation.aggregate import paired_bootstrap


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with the 95% interval of a bootstrap over the questions.

    Example:
        >>> estimate([0.5, 0.5])
        MeanEstimate(mean=0.5, low=0.5, high=0.5, n=2)
    """

    mean: float
    low: float
    high: float
    n: int  # questions


def estimate(scores: Sequence[float]) -> MeanEstimate:
    """The mean of one score a question, with its interval.

    It would stay in the interval had other such questions been asked.

    Raises:
        InvalidParameter: there is no score.
    """
    return estimated_difference(scores, [0.0] * len(scores))


def estimated_difference(
    first: Sequence[float], second: Sequence[float]
) -> MeanEstimate:
    """The mean of first - second over the same questions.

    They come in the same order. Both ends are 0 for a system and itself.

    Raises:
        InvalidParameter: lengths differ, or there is no score.
    """
    interval = paired_bootstrap(first, second)
    return MeanEstimate(interval.difference, interval.low, interval.high, interval.n)


def estimates(
    scores: Mapping[str, Sequence[float]], base: Mapping[str, Sequence[float]]
) -> tuple[dict[str, MeanEstimate], dict[str, MeanEstimate]]:
    """By name the mean of the scores, and their mean difference to those of `base`."""
    means, differences = {}, {}
    for name, values in scores.items():
        means[name] = estimate(values)
        differences[name] = estimated_difference(values, base[name])
    return means, differences
