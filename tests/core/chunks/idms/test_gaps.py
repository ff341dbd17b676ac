"""Which gaps between sentences are cut, and how small segments are merged."""

from __future__ import annotations

import math
from typing import Any

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.chunks.bounds import Limits, runs_of
from structrag.chunks.idms.gaps import AdaptiveThreshold, decide, merge_runs
from structrag.errors import InvalidParameter

TRACE = [0.4, -0.1, 0.3, 0.2, -0.2, 0.05, 0.3, -0.4, 0.1]


THETAS = [0, 0, 0, 0, 0, 0.12, 0.05, 0.13, -0.01]


def test_worked_trace_of_the_threshold() -> None:
    threshold = AdaptiveThreshold()
    cuts, thetas = decide(TRACE, threshold)
    assert "".join("S" if i in cuts else "M" for i in range(1, 10)) == "MSMMSSMSM"
    assert thetas == pytest.approx(THETAS)
    assert threshold.value == pytest.approx(-0.03)
    assert runs_of(cuts, 10) == [(0, 2), (2, 5), (5, 6), (6, 8), (8, 10)]


def test_worked_trace_over_the_full_history_without_warm_up() -> None:
    cuts, _ = decide(TRACE, AdaptiveThreshold(0.0, 0, None))
    assert "".join("S" if i in cuts else "M" for i in range(1, 10)) == "MSMSSSMSM"


def test_fewer_gaps_than_the_warm_up_leave_the_threshold() -> None:
    assert decide([0.5, -0.5, 0.1, -0.1], AdaptiveThreshold())[1] == [0, 0, 0, 0]


def test_equal_margins_are_ties_and_ties_are_cuts() -> None:
    for value in (0.1, 0.7, -0.3):
        assert decide([value] * 9, AdaptiveThreshold(value, 0, None))[0] == list(
            range(1, 10)
        )


def test_infinite_thresholds() -> None:
    never = 10**9
    assert decide(TRACE, AdaptiveThreshold(math.inf, never))[0] == list(range(1, 10))
    assert decide(TRACE, AdaptiveThreshold(-math.inf, never))[0] == []


margins = st.lists(st.floats(-1, 1).map(lambda x: round(x, 3)), min_size=1, max_size=30)


@given(margins, st.floats(-0.5, 0.5).map(lambda x: round(x, 3)))
def test_a_constant_changes_no_decision_after_the_warm_up(
    values: list[float], constant: float
) -> None:
    plain, _ = decide(values, AdaptiveThreshold())
    moved, _ = decide([value + constant for value in values], AdaptiveThreshold())
    assert [cut for cut in plain if cut > 5] == [cut for cut in moved if cut > 5]


@given(margins, st.sampled_from([0.5, 2.0, 4.0]))
def test_a_positive_factor_changes_no_decision(
    values: list[float], factor: float
) -> None:
    assert (
        decide(values, AdaptiveThreshold())[0]
        == decide([v * factor for v in values], AdaptiveThreshold())[0]
    )


def test_a_cut_is_forced_where_the_next_unit_would_pass_the_limit() -> None:
    cuts, thetas = decide([0.5] * 5, AdaptiveThreshold(), [2] * 6, 5)
    assert cuts == [2, 4]
    assert thetas == [0] * 5


def merged(least: int, most: int, **choices: Any) -> list[tuple[int, int]]:
    cuts, _ = decide(TRACE, AdaptiveThreshold())
    runs = merge_runs(cuts, TRACE, [1] * 10, Limits(least, most), **choices)
    return [(first + 1, last) for first, last in runs]


def test_worked_merges() -> None:
    by_weakest = [(1, 2), (3, 5), (6, 8), (9, 10)]
    assert merged(2, 4) == merged(3, 4) == by_weakest
    assert merged(3, 5) == [(1, 5), (6, 10)]
    assert merged(3, 5, merge="none") == [(1, 2), (3, 5), (6, 6), (7, 8), (9, 10)]


def test_greedy_fills_up_to_the_target_and_makes_no_empty_segment() -> None:
    runs = merge_runs(
        [1, 2, 3, 4], [0.0] * 4, [9, 2, 2, 2, 9], Limits(0), merge="greedy", target=5
    )
    assert runs == [(0, 1), (1, 3), (3, 4), (4, 5)]


sized = st.integers(1, 20).flatmap(
    lambda n: st.tuples(
        st.lists(st.integers(1, 9), min_size=n, max_size=n),
        st.lists(st.floats(-1, 1), min_size=n - 1, max_size=n - 1),
        st.integers(1, 12),
        st.integers(0, 12),
    )
)


@given(sized)
def test_weakest_only_joins(
    case: tuple[list[int], list[float], int, int],
) -> None:
    sizes, values, least, more = case
    limits = Limits(least, least + more)
    cuts, _ = decide(values, AdaptiveThreshold(), sizes, limits.most)
    before = runs_of(cuts, len(sizes))
    after = merge_runs(cuts, values, sizes, limits)
    assert {first for first, _ in after} <= {first for first, _ in before}
    assert (
        merge_runs([first for first, _ in after if first], values, sizes, limits)
        == after
    )
    totals = [sum(sizes[first:last]) for first, last in after]
    for i, total in enumerate(totals):
        assert total <= least + more or after[i][1] - after[i][0] == 1
        if total < least:
            neighbours = [totals[j] for j in (i - 1, i + 1) if 0 <= j < len(totals)]
            assert all(total + other > least + more for other in neighbours)


def test_a_segment_of_exactly_the_limit_is_not_cut() -> None:
    never = AdaptiveThreshold(-math.inf, 10**9)
    assert decide([0.5, 0.5, 0.5], never, [3, 4, 3, 1], 10)[0] == [3]
    assert decide([0.5, 0.5, 0.5], never, [3, 4, 4, 6], 10)[0] == [2]
    assert decide([0.5, 0.5], never, [3, 4, 4])[0] == []


@examples
def test_a_gap_is_kept_more_than_a_billionth_above_the_threshold(
    above: float, is_kept: bool
) -> None:
    assert AdaptiveThreshold(0.25).keeps(0.25 + above) is is_kept


@examples
def test_the_threshold_is_the_mean_of_the_last_margins(
    warmup: int, history: int | None, thresholds: list[float]
) -> None:
    threshold = AdaptiveThreshold(9, warmup, history)
    assert decide([0.2, 0.6, 0.7, 0.1], threshold)[1] == pytest.approx(thresholds)


def test_a_threshold_runs_on_to_the_next_row() -> None:
    threshold = AdaptiveThreshold(0.0, 2, None)
    assert decide([0.2], threshold) == ([], [0])
    assert decide([0.6, 0.3], threshold)[1] == pytest.approx([0, 0.4])
    assert threshold.seen == 3


def test_sizes_count_from_the_last_cut() -> None:
    never = AdaptiveThreshold(0.0, 10**9)
    # A gap cut for its margin, then 4 + 5 are just the limit, and 3 more are too many.
    cuts, _ = decide([1, -1, 1, 1, 1], never, [8, 1, 4, 5, 3, 6], 9)
    assert cuts == [2, 4]
    assert decide([], never) == ([], [])


@examples
def test_greedy_joins_up_to_just_the_target_or_the_limit(
    target: int, most: int | None, runs: list[tuple[int, int]]
) -> None:
    sizes = [9, 2, 2, 1, 3, 4]
    limits = Limits(0, most)
    cuts = [1, 2, 3, 4, 5]
    assert (
        merge_runs(cuts, [0.0] * 5, sizes, limits, merge="greedy", target=target)
        == runs
    )


def test_a_small_segment_joins_across_the_larger_margin() -> None:
    sizes = [5, 1, 5, 5]
    limits = Limits(3)
    assert merge_runs([1, 2, 3], [0.1, 0.4, 0.9], sizes, limits) == [
        (0, 1),
        (1, 3),
        (3, 4),
    ]
    assert merge_runs([1, 2, 3], [0.5, 0.4, 0.9], sizes, limits) == [
        (0, 2),
        (2, 3),
        (3, 4),
    ]


def test_a_merge_of_another_name_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="merge must be one of"):
        merge_runs([1], [0.0], [1, 1], Limits(), merge="all")
