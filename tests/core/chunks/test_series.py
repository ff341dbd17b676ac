"""Similarities, thresholds and labels: the paper's case study, the specification's numbers,
invariants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from structrag.chunks.series import (
    changes,
    check_threshold,
    labels,
    similarity_to_own,
    threshold_of,
    weighted_mean,
)
from structrag.errors import InvalidParameter

series = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1, 1, width=32))


def test_the_papers_case_study_has_two_irrelevant_and_three_relevant_sentences() -> (
    None
):
    similarities = np.array([0.493, 0.445, 0.572, 0.557, 0.703])
    threshold = threshold_of(similarities, "mean")
    assert threshold == pytest.approx(0.554)
    assert labels(similarities, threshold).tolist() == [False, False, True, True, True]
    assert changes(labels(similarities, threshold)) == [2]


def test_seven_sentences_make_four_runs() -> None:
    values = np.array([0.62, 0.58, 0.31, 0.44, 0.71, 0.40, 0.39])
    assert threshold_of(values, "mean") == pytest.approx(0.4929, abs=5e-5)
    assert values.std() == pytest.approx(0.1343, abs=5e-5)
    assert changes(labels(values, threshold_of(values, "mean"))) == [2, 4, 5]
    assert threshold_of(values, "mean", 1.0) == pytest.approx(
        values.mean() + values.std()
    )
    assert threshold_of(values, "median") == 0.44
    assert threshold_of(values, 0.6) == 0.6


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 0.55, 1 / 3])
def test_equal_similarities_are_all_relevant_whatever_their_mean_rounds_to(
    value: float,
) -> None:
    for n in range(2, 60):
        for mean in (np.mean(np.full(n, value)), sum([value] * n) / n):
            assert labels(np.full(n, value), float(mean)).all()


@given(series, st.floats(0.1, 10), st.floats(-3, 3))
def test_scaling_and_shifting_similarities_changes_no_label(
    values: np.ndarray, factor: float, shift: float
) -> None:
    threshold = threshold_of(values, "mean")
    if np.abs(values - threshold).min() < 1e-6:
        return
    moved = values * factor + shift
    assert (
        labels(moved, threshold_of(moved, "mean")).tolist()
        == labels(values, threshold).tolist()
    )


@given(series)
def test_infinite_thresholds_give_one_label(values: np.ndarray) -> None:
    assert labels(values, -math.inf).all()
    assert not labels(values, math.inf).any()


@given(series, st.randoms(use_true_random=False))
def test_permuting_similarities_permutes_labels(
    values: np.ndarray, random: Any
) -> None:
    order = list(range(len(values)))
    random.shuffle(order)
    before = labels(values, threshold_of(values, "median"))
    assert (
        labels(values[order], threshold_of(values[order], "median")).tolist()
        == before[order].tolist()
    )


@given(series, st.floats(0, 0.5))
def test_hysteresis_never_adds_runs(values: np.ndarray, margin: float) -> None:
    threshold = threshold_of(values, "mean")
    assert len(changes(labels(values, threshold, margin=margin))) <= len(
        changes(labels(values, threshold))
    )


def test_hysteresis_changes_the_label_only_past_the_margin() -> None:
    values = np.array([0.9, 0.45, 0.55, 0.2, 0.55, 0.45, 0.7])
    assert labels(values, 0.5, margin=0.1).tolist() == [
        True,
        True,
        True,
        False,
        False,
        False,
        True,
    ]


def test_a_sentence_of_the_summary_is_compared_with_the_others_only() -> None:
    vectors = np.eye(3)
    assert similarity_to_own(vectors, [0, 1]) == pytest.approx([0.0, 0.0, 0.0])
    near = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    values = similarity_to_own(near, [0, 2])
    assert values == pytest.approx([0.0, 1.0, 0.0])
    one = similarity_to_own(near, [1])
    assert one[1] == pytest.approx((one[0] + one[2]) / 2)
    assert similarity_to_own(near[:1], [0]).tolist() == [1.0]
    assert similarity_to_own(near, []).tolist() == [0.0, 0.0, 0.0]


@given(
    arrays(np.float64, st.integers(1, 20), elements=st.floats(-1, 1, width=32)),
    st.data(),
)
def test_prefix_sums_give_the_mean(values: np.ndarray, data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(values) - 1))
    last = data.draw(st.integers(first + 1, len(values)))
    weights = list(range(1, len(values) + 1))
    inside = values[first:last]
    assert weighted_mean(values, weights)((first, last)) == pytest.approx(
        np.average(inside, weights=weights[first:last]), abs=1e-9
    )


@pytest.mark.parametrize(
    ("threshold", "spread"),
    [
        ("max", 0),
        (math.nan, 0),
        (True, 0),
        ("mean", math.inf),
        ("mean", "1"),
        ("median", True),
        (0.5, 1.0),
        (None, 0),
    ],
)
def test_thresholds_that_mean_nothing_are_refused(
    threshold: object, spread: object
) -> None:
    with pytest.raises(InvalidParameter, match="threshold"):
        check_threshold(threshold, spread)


@pytest.mark.parametrize(
    ("threshold", "spread"),
    [("mean", 1.5), ("median", -2), (0.5, 0), (0, 0.0), (-math.inf, 0)],
)
def test_thresholds_that_mean_something_are_taken(
    threshold: object, spread: object
) -> None:
    check_threshold(threshold, spread)


def test_a_value_just_at_a_threshold_is_above_it_and_one_at_the_lower_margin_stays() -> (
    None
):
    values = np.array([0.5, 0.4, 0.39, 0.5, 0.6, 0.5])
    assert labels(values, 0.5).tolist() == [True, False, False, True, True, True]
    assert labels(values, 0.5, margin=0.1).tolist() == [
        True,
        True,  # not below 0.4
        False,
        False,  # not above 0.6
        True,
        True,
    ]


@examples
def test_a_billionth_below_a_threshold_is_at_it(below: float, is_above: bool) -> None:
    assert labels([0.5 - below], 0.5).tolist() == [is_above]
    # The label begins at the upper margin, and ends below the lower one.
    assert labels([0.1, 0.75 - below], 0.5, margin=0.25).tolist() == [False, is_above]
    assert labels([0.9, 0.25 - below], 0.5, margin=0.25).tolist() == [True, is_above]


def test_the_first_label_is_that_of_the_threshold_whatever_the_margin() -> None:
    assert labels([0.5, 0.4], 0.5, margin=0.2).tolist() == [True, True]
    assert labels([0.4, 0.5], 0.5, margin=0.2).tolist() == [False, False]


def test_a_weight_below_1_counts_as_1() -> None:
    mean = weighted_mean([0.2, 0.6, 0.5], [0, 3, 1])
    assert mean((0, 2)) == pytest.approx((0.2 + 3 * 0.6) / 4)
    assert mean((1, 3)) == pytest.approx((3 * 0.6 + 0.5) / 4)
    assert mean((2, 3)) == pytest.approx(0.5)


def test_a_change_is_in_front_of_the_value_that_differs() -> None:
    assert changes(np.array([True, True, False, True])) == [2, 3]
    assert changes(np.array([False])) == []
