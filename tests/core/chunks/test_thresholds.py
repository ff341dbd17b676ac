"""Similarities, thresholds and labels: the paper's case study, the specification's numbers,
invariants."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from structrag.chunks.runs import (
    changes,
    check_threshold,
    labels,
    similarity_to_own,
    threshold_of,
    weighted_mean,
)
from structrag.errors import InvalidParameter

series = arrays(np.float64, st.integers(1, 30), elements=st.floats(-1, 1, width=32))


@given(series, st.floats(0, 0.5))
def test_hysteresis_never_adds_runs(values: np.ndarray, margin: float) -> None:
    threshold = threshold_of(values, "mean")
    assert len(changes(labels(values, threshold, margin=margin))) <= len(
        changes(labels(values, threshold))
    )


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
