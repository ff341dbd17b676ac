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
    rows = np.array([[1, 10], [2, 20], [4, 40]])
    assert window_sums(rows, of).tolist() == [[3, 30], [7, 70], [6, 60]]
    assert windows(middles[:0], 60).firsts.tolist() == []


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


def test_what_is_exactly_half_a_width_away_is_within() -> None:
    of = windows(np.array([0.0, 30.0, 60.5, 120.0]), 60)
    assert of.firsts.tolist() == [0, 0, 2, 3] and of.stops.tolist() == [2, 2, 3, 4]
    wide = windows(np.array([0.0, 30.0, 60.5, 120.0]), 61)
    assert wide.firsts.tolist() == [0, 0, 1, 3] and wide.stops.tolist() == [2, 3, 3, 4]


def test_maxima_of_windows_of_every_length_and_place() -> None:
    matches = np.array([[3, 1], [1, 4], [2, 0], [9, 2], [5, 6], [0, 7], [8, 3], [4, 5]])
    weights = np.array([100.0, 1.0])
    for length in range(1, 9):
        firsts = np.arange(9 - length)
        of = Windows(firsts, firsts + length)
        (totals,) = weighted_maxima(matches.astype(np.float32), weights, [of])
        assert totals.tolist() == [
            int(
                100 * matches[i : i + length, 0].max()
                + matches[i : i + length, 1].max()
            )
            for i in range(9 - length)
        ]


def test_windows_of_different_lengths_are_summed_each_for_itself() -> None:
    matches = np.array([[3], [1], [2], [9], [5]], dtype=np.float32)
    short = Windows(np.array([1, 3]), np.array([2, 5]))
    long = Windows(np.array([0]), np.array([5]))
    none = Windows(np.zeros(0, int), np.zeros(0, int))
    totals = weighted_maxima(matches, np.array([2.0]), [short, long, none])
    assert [of.tolist() for of in totals] == [[2, 18], [18], []]
    assert weighted_maxima(matches, np.array([2.0]), []) == []
    (nothing,) = weighted_maxima(matches[:0], np.array([2.0]), [none])
    assert nothing.tolist() == []


def test_more_columns_than_are_taken_at_once_all_count() -> None:
    matches = np.arange(2 * 130, dtype=np.float32).reshape(2, 130)
    both = Windows(np.array([0]), np.array([2]))
    (total,) = weighted_maxima(matches, np.ones(130), [both])
    assert total.tolist() == [sum(range(130, 260))]


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
