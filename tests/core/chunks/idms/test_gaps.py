"""Which gaps between sentences are cut, and how small segments are merged."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.chunks.idms.splitter import AdaptiveThreshold, decide, merge_runs
from structrag.chunks.runs import SizeLimits, runs_of

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
    limits = SizeLimits(least, least + more)
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


@examples
def test_the_threshold_is_the_mean_of_the_last_margins(
    warmup: int, history: int | None, thresholds: list[float]
) -> None:
    threshold = AdaptiveThreshold(9, warmup, history)
    assert decide([0.2, 0.6, 0.7, 0.1], threshold)[1] == pytest.approx(thresholds)


@examples
def test_greedy_joins_up_to_just_the_target_or_the_limit(
    target: int, most: int | None, runs: list[tuple[int, int]]
) -> None:
    sizes = [9, 2, 2, 1, 3, 4]
    limits = SizeLimits(0, most)
    cuts = [1, 2, 3, 4, 5]
    assert (
        merge_runs(cuts, [0.0] * 5, sizes, limits, merge="greedy", target=target)
        == runs
    )
