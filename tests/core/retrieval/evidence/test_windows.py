"""Windows, sums and maxima against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.evidence.packing import AROUND
from structrag.retrieval.evidence.windows import (
    MAX_WIDTHS,
    SUM_WIDTHS,
    Windows,
    middles_of,
    weighted_maxima,
    window_sums,
    windows,
)

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=60)


def test_worked_example() -> None:
    middles = middles_of(np.array([10, 20, 30]))
    assert middles.tolist() == [5, 20, 45]
    of = windows(middles, 60)  # 30 to either side
    assert of.firsts.tolist() == [0, 0, 1] and of.stops.tolist() == [2, 3, 3]
    assert windows(middles, 1).stops.tolist() == [1, 2, 3]
    assert window_sums(np.array([1.0, 2.0, 4.0]), of).tolist() == [3, 7, 6]


@given(SIZES, st.sampled_from([1, 60, 240]), st.randoms())
def test_runs_sums_and_maxima_are_those_of_loops(
    sizes: list[int], width: int, random: object
) -> None:
    middles = middles_of(np.array(sizes))
    of = windows(middles, width)
    draw = np.random.default_rng(len(sizes))
    matches = draw.normal(size=(len(sizes), 70)).astype(np.float32)
    weights = draw.random(70)
    found = weighted_maxima(matches, weights, [of])[0]
    sums = window_sums(matches.astype(np.float64), of)
    for i, middle in enumerate(middles):
        near = np.abs(middles - middle) <= width / 2
        near = near if width > 1 else np.arange(len(sizes)) == i
        assert np.flatnonzero(near).tolist() == list(range(of.firsts[i], of.stops[i]))
        assert np.isclose(found[i], matches[near].max(axis=0) @ weights, atol=1e-4)
        assert np.allclose(sums[i], matches[near].sum(axis=0), atol=1e-4)


def test_several_weightings_at_once_are_those_one_by_one() -> None:
    draw = np.random.default_rng(0)
    matches, weights = draw.normal(size=(9, 5)).astype(np.float32), draw.random((5, 3))
    of = windows(middles_of(np.full(9, 10)), 60)
    both = weighted_maxima(matches, weights, [of])[0]
    for column in range(3):
        alone = weighted_maxima(matches, weights[:, column], [of])[0]
        assert np.allclose(both[:, column], alone)


def test_windows_of_some_atoms() -> None:
    of = Windows(np.array([0, 0, 1]), np.array([2, 3, 3])).of(np.array([2]))
    assert (of.firsts.tolist(), of.stops.tolist()) == ([1], [3])


def test_what_a_passage_takes_from_a_long_block_is_a_window_that_is_there() -> None:
    assert AROUND in SUM_WIDTHS and set(SUM_WIDTHS) < set(MAX_WIDTHS)
