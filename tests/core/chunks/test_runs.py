"""Size limits: joining and splitting, against the specification's numbers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.chunks.runs import (
    Run,
    SizeLimits,
    changes,
    join_small,
    labels,
    runs_of,
    split_large,
    threshold_of,
    weighted_mean,
)
from structrag.errors import InvalidParameter

values_and_sizes = st.lists(
    st.tuples(st.floats(-1, 1, allow_nan=False), st.integers(1, 60)),
    min_size=1,
    max_size=9,
).map(
    lambda pairs: (np.array([value for value, _ in pairs]), [size for _, size in pairs])
)


def total(run: Run, sizes: Sequence[int]) -> int:
    return sum(sizes[run[0] : run[1]])


@settings(deadline=None)
@given(values_and_sizes, st.integers(0, 60))
def test_joining_only_removes_cuts_keeps_the_limit_and_is_idempotent(
    given_units: tuple[np.ndarray, list[int]], least: int
) -> None:
    values, sizes = given_units
    limits = SizeLimits(least, 120)
    mean = weighted_mean(values, sizes)

    def closeness(left: Run, right: Run) -> float:
        return -abs(mean(left) - mean(right))

    before = runs_of(changes(labels(values, threshold_of(values, "mean"))), len(values))
    runs = join_small(before, sizes, limits, closeness)
    assert {first for first, _ in runs} <= {first for first, _ in before}
    assert runs[0][0] == 0 and runs[-1][1] == len(values)
    assert all(left[1] == right[0] for left, right in pairwise(runs))
    assert all(total(run, sizes) <= 120 for run in runs if run not in before)
    for i, run in enumerate(runs):
        if total(run, sizes) < least:
            neighbours = [runs[k] for k in (i - 1, i + 1) if 0 <= k < len(runs)]
            assert all(
                total(run, sizes) + total(other, sizes) > 120 for other in neighbours
            )
    assert join_small(runs, sizes, limits, closeness) == runs


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 50), st.floats(-1, 1)), min_size=1, max_size=40),
    st.integers(1, 80),
)
def test_splitting_keeps_the_limit_and_every_unit(
    units: list[tuple[int, float]], most: int
) -> None:
    sizes = [size for size, _ in units]
    runs = split_large(
        [(0, len(units))], sizes, SizeLimits(0, most), [gap for _, gap in units]
    )
    assert [i for first, last in runs for i in range(first, last)] == list(
        range(len(units))
    )
    assert all(total(run, sizes) <= most or run[1] - run[0] == 1 for run in runs)


@examples
def test_limits_that_cannot_be_kept_are_refused(least: int, most: int) -> None:
    with pytest.raises(InvalidParameter, match="tokens must be"):
        SizeLimits(least, most)


@examples
def test_small_runs_are_joined_smallest_first(
    sizes: list[int], least: int, most: int | None, joined: list[Run]
) -> None:
    runs = [(i, i + 1) for i in range(len(sizes))]
    limits = SizeLimits(least, most)
    assert join_small(runs, sizes, limits, lambda left, right: 0.0) == joined
