"""Means and mean differences with their intervals."""

from __future__ import annotations

import pytest

from structrag.errors import InvalidParameter
from structrag.evaluation.estimates import Estimate, estimate, estimated_difference


def test_a_mean_is_that_of_the_scores_themselves() -> None:
    result = estimate([0.0, 0.5, 1.0, 1.0])
    assert (result.mean, result.n) == (0.625, 4)
    assert 0 <= result.low < result.mean < result.high <= 1


def test_equal_scores_leave_no_room() -> None:
    assert estimate([0.25, 0.25, 0.25]) == Estimate(0.25, 0.25, 0.25, 3)
    assert estimated_difference([0.1, 0.9], [0.1, 0.9]) == Estimate(0, 0, 0, 2)


def test_a_difference_is_of_the_first_to_the_second() -> None:
    assert estimated_difference([0.75, 1.0], [0.25, 0.5]) == Estimate(0.5, 0.5, 0.5, 2)


def test_there_must_be_a_score() -> None:
    with pytest.raises(InvalidParameter, match="at least one question"):
        estimate([])
