"""The paired bootstrap, the public list."""

from __future__ import annotations

import random

import pytest

from structrag.errors import InvalidParameter
from structrag.evaluation import paired_bootstrap


def test_bootstrap_is_near_the_normal_interval_and_repeats() -> None:
    source = random.Random(0)
    first = [source.random() for _ in range(400)]
    second = [source.random() for _ in range(400)]
    result = paired_bootstrap(first, second)
    half_width = 1.96 * (2 / 12 / 400) ** 0.5
    assert result.low == pytest.approx(result.mean - half_width, abs=0.01)
    assert result.high == pytest.approx(result.mean + half_width, abs=0.01)
    assert paired_bootstrap(first, second) == result
    swapped = paired_bootstrap(second, first)
    assert (swapped.mean, swapped.low, swapped.high) == pytest.approx(
        (-result.mean, -result.high, -result.low)
    )
    narrow = paired_bootstrap(first, second, confidence=0.5)
    assert result.low < narrow.low < narrow.high < result.high


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: paired_bootstrap([1.0], [1.0, 0.0]), "got 1 and 2 scores"),
        (lambda: paired_bootstrap([1.0, None], [1.0, 0.0]), "both be None"),
        (lambda: paired_bootstrap([None], [None]), "at least one question with gold"),
        (
            lambda: paired_bootstrap([1.0], [1.0], resamples=0),
            "resamples must be a number of at least 1",
        ),
        (
            lambda: paired_bootstrap([1.0], [1.0], confidence=1.0),
            "confidence must be above 0 and below 1",
        ),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()
