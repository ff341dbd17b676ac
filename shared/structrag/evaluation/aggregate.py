"""Means of scores per question, and bootstrap intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structrag.errors import InvalidParameter, check_at_least


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean over questions with its percentile interval.

    Example:
        >>> paired_bootstrap([1.0, 0.5], [0.5, 0.0])
        MeanEstimate(mean=0.5, low=0.5, high=0.5, n=2)
    """

    mean: float
    low: float
    high: float
    n: int  # questions compared


def paired_bootstrap(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> MeanEstimate:
    """The interval of the mean difference of two systems.

    Both are scored on the same questions in the same order. Questions are drawn with replacement
    `resamples` times. The interval holds the central `confidence` of the resampled means. A
    question that is None in both (no gold) is left out.

    Raises:
        InvalidParameter: lengths differ, only one side is None, or no question remains.
    """
    check_at_least("resamples", resamples, 1)
    if not 0 < confidence < 1:
        raise InvalidParameter(
            f"confidence must be above 0 and below 1; got {confidence!r}."
        )
    if len(first) != len(second):
        raise InvalidParameter(
            "first and second must score the same questions; "
            f"got {len(first)} and {len(second)} scores."
        )
    if any((a is None) != (b is None) for a, b in zip(first, second, strict=True)):
        raise InvalidParameter(
            "first and second must both be None for a question without gold; got one of each."
        )
    pairs = [
        (a, b)
        for a, b in zip(first, second, strict=True)
        if a is not None and b is not None
    ]
    if not pairs:
        raise InvalidParameter(
            "first and second must hold at least one question with gold; got none."
        )
    differences = np.array([a - b for a, b in pairs], dtype=np.float64)
    n = len(differences)
    draw = np.random.default_rng(seed)
    means = [
        float(differences[draw.integers(n, size=n)].mean()) for _ in range(resamples)
    ]
    low, high = np.quantile(means, [(1 - confidence) / 2, (1 + confidence) / 2])
    return MeanEstimate(float(differences.mean()), float(low), float(high), n)


def estimate(scores: Sequence[float]) -> MeanEstimate:
    """The mean of one score a question, with the interval it would stay in had other such questions
    been asked."""
    return paired_bootstrap(scores, [0.0] * len(scores))


def estimates(
    scores: Mapping[str, Sequence[float]], base: Mapping[str, Sequence[float]]
) -> tuple[dict[str, MeanEstimate], dict[str, MeanEstimate]]:
    """Return, by name, the mean of the scores, and their mean difference to those of `base`."""
    means, differences = {}, {}
    for name, values in scores.items():
        means[name] = estimate(values)
        differences[name] = paired_bootstrap(values, base[name])
    return means, differences
