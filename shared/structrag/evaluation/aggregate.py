"""Figures from scores per question: means and bootstrap intervals."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from structrag.errors import InvalidParameter, check_at_least


@dataclass(frozen=True, slots=True)
class MacroMean:
    """A mean over questions and what went into it.

    Example:
        >>> macro_mean(["q1", "q2"], {"q1": 1.0, "q2": 0.5}).mean
        0.75
    """

    mean: float  # 0.0 when n is 0
    std: float  # population standard deviation over the n questions
    n: int  # questions averaged, those without a prediction included
    skipped: int  # questions without gold, left out
    no_prediction: int  # questions without a prediction, scored 0


@dataclass(frozen=True, slots=True)
class BootstrapInterval:
    """The mean difference first - second with its percentile interval.

    Example:
        >>> paired_bootstrap([1.0, 0.5], [0.5, 0.0]).difference
        0.5
    """

    difference: float
    low: float
    high: float
    n: int  # questions compared


def macro_mean(
    questions: Iterable[str], scores: Mapping[str, float | None]
) -> MacroMean:
    """The mean score over question ids.

    A score of None (no gold) is skipped and counted. An id that is missing from `scores` (no
    prediction) counts as 0.

    Example:
        >>> macro_mean(["q1", "q2", "q3"], {"q1": 1.0, "q2": None}).mean
        0.5

    Raises:
        InvalidParameter: there is a score of an unknown question.
    """
    ids = list(dict.fromkeys(questions))
    unknown = scores.keys() - set(ids)
    if unknown:
        raise InvalidParameter(
            f"scores must belong to the given questions; got {len(unknown)} of others, such as "
            f"{min(unknown)!r}."
        )
    values = [scores.get(i, 0.0) for i in ids]
    counted = [value for value in values if value is not None]
    return MacroMean(
        mean=float(np.mean(counted)) if counted else 0.0,
        std=float(np.std(counted)) if counted else 0.0,
        n=len(counted),
        skipped=len(ids) - len(counted),
        no_prediction=sum(i not in scores for i in ids),
    )


def paired_bootstrap(
    first: Sequence[float | None],
    second: Sequence[float | None],
    *,
    resamples: int = 1000,
    confidence: float = 0.95,
    seed: int = 0,
) -> BootstrapInterval:
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
    return BootstrapInterval(float(differences.mean()), float(low), float(high), n)


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
    """Return, by name, the mean of the scores, and their mean difference to those of `base`."""
    means, differences = {}, {}
    for name, values in scores.items():
        means[name] = estimate(values)
        differences[name] = estimated_difference(values, base[name])
    return means, differences
