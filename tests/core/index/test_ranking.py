"""The n-th best score by sampling against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.index.ranking import (
    as_ranking,
    best_positions,
    nth_best,
)


@examples
@pytest.mark.parametrize("n", [1, 7, 100, 999, 5000])
def test_equals_sorting(order: str, n: int) -> None:
    scores = np.random.default_rng(n).standard_normal(5000)
    if order in {"ascending", "descending"}:
        scores.sort()
    if order == "descending":
        scores = scores[::-1].copy()
    if order == "equal":
        scores[:] = 0.5
    if order == "best in the sample":
        scores[::16] += 100
    if order == "best outside it":
        scores[::16] -= 100
    assert nth_best(scores, n) == np.sort(scores)[len(scores) - n]
    rows = np.arange(len(scores))
    expected = sorted(
        zip(rows.tolist(), scores.tolist(), strict=True),
        key=lambda pair: (-round(pair[1], 9), pair[0]),
    )
    assert as_ranking(rows, scores, n) == expected[:n]


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(-1, 70))
def test_best_positions_round_to_nine_decimals(steps: list[int], n: int) -> None:
    scores = np.array([0.5 + step * 1e-10 for step in steps])
    expected = sorted(range(len(scores)), key=lambda i: (-np.round(scores[i], 9), i))[
        : max(0, n)
    ]
    assert best_positions(scores, n).tolist() == expected


@examples
def test_one_score_above_many_equal_ones_is_the_best(n: int, expected: float) -> None:
    scores = np.full(1000, 2.0)
    scores[:500] = 5.0
    scores[7] = 6.0
    assert nth_best(scores, n) == expected
