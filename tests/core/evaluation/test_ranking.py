"""The Log-Rank Index and mid-ranks."""

from __future__ import annotations

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.evaluation import log_rank_index, log_rank_score, mid_ranks


@examples
def test_table_of_ten(gamma, expected) -> None:
    assert [
        log_rank_score(rank, 10, gamma=gamma) for rank in (1, 2, 3, 5, 10)
    ] == pytest.approx(expected, abs=5e-5)


def test_worked_numbers() -> None:
    scores = [log_rank_score(rank, 1000) for rank in (1, 2, 10, 100, 1000)]
    assert scores == pytest.approx([1, 0.8997, 0.6667, 0.3333, 0], abs=5e-5)
    assert log_rank_index([1, 4], 10) == pytest.approx(0.6990, abs=5e-5)
    assert log_rank_index([1, 2], 10) == pytest.approx(0.8495, abs=5e-5)
    assert log_rank_index([1, 4], 10, normalised=True) == pytest.approx(
        0.8228, abs=5e-5
    )
    assert log_rank_index([None], 10, missing="expected", retrieved=4) == pytest.approx(
        0.1249, abs=5e-5
    )
    assert log_rank_index([7.5], 10) == pytest.approx(0.1249, abs=5e-5)
    assert log_rank_index([None, 1], 10) == 0.5
    assert log_rank_index([1], 1) == 1
    assert log_rank_index([None], 1) == 1
    assert log_rank_index([], 10) is None


def test_mid_ranks() -> None:
    assert mid_ranks([0.2, 0.9, 0.2, 0.2]) == [3, 1, 3, 3]
    assert mid_ranks([1.0, 1.0 + 1e-12]) == [1.5, 1.5]
    assert mid_ranks([]) == []


@given(st.lists(st.integers(0, 4), max_size=12))
def test_mid_ranks_fill_all_ranks(scores) -> None:
    ranks = mid_ranks(scores)
    assert sum(ranks) == pytest.approx(len(scores) * (len(scores) + 1) / 2)
    for a, rank in zip(scores, ranks, strict=True):
        above, tied = sum(b > a for b in scores), scores.count(a)
        assert rank == pytest.approx(above + (tied + 1) / 2)


@given(st.integers(2, 500), st.floats(0.01, 100), st.data())
def test_score_invariants(n, gamma, data) -> None:
    assert log_rank_score(1, n, gamma=gamma) == 1
    assert log_rank_score(n, n, gamma=gamma) == 0
    rank = data.draw(st.integers(1, n - 1))
    score = log_rank_score(rank, n, gamma=gamma)
    assert 0 <= log_rank_score(rank + 1, n, gamma=gamma) < score <= 1
    if rank > 1:
        assert (
            log_rank_score(rank, n, gamma=gamma * 1.5)
            < score
            < log_rank_score(rank, n, gamma=0)
        )


@given(st.integers(3, 100), st.data())
def test_index_invariants(n, data) -> None:
    ranks = data.draw(
        st.lists(st.integers(1, n), min_size=1, max_size=n - 1, unique=True)
    )
    score = log_rank_index(ranks, n)
    assert 0 <= score <= 1
    assert log_rank_index([*ranks, n], n) <= score
    assert log_rank_index([*ranks, None], n) <= score
    assert log_rank_index(range(1, len(ranks) + 1), n, normalised=True) == 1
    assert score <= log_rank_index(ranks, n, normalised=True) <= 1 + 1e-12


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: log_rank_score(0, 10), "rank must be between 1 and n = 10; got 0"),
        (lambda: log_rank_score(11, 10), "rank must be between 1 and n = 10; got 11"),
        (
            lambda: log_rank_score(1, 10, gamma=-1),
            "gamma must be a number of at least 0; got -1",
        ),
        (lambda: log_rank_index([1], 0), "n must be a number of at least 1; got 0"),
        (
            lambda: log_rank_index([1, 2, 3], 2),
            "n must be at least the number of relevant segments, 3; got 2",
        ),
        (
            lambda: log_rank_index([None], 9, missing="mean"),
            "missing must be one of 'expected', 'last'",
        ),
        (
            lambda: log_rank_index([None], 9, missing="expected"),
            "retrieved must be a count from 0 to 8",
        ),
        (
            lambda: log_rank_index([None], 9, missing="expected", retrieved=-1),
            "retrieved must be a count from 0 to 8",
        ),
        (
            lambda: log_rank_index([None], 9, missing="expected", retrieved=9),
            "retrieved must be a count from 0 to 8",
        ),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()


def test_where_nothing_was_ranked_a_missing_segment_has_the_rank_in_the_middle() -> (
    None
):
    # (0 + 1 + 9) / 2 = 5
    none_ranked = log_rank_index([None], 9, missing="expected", retrieved=0)
    assert none_ranked == log_rank_score(5, 9)
    assert log_rank_index([2], 9, missing="expected") == log_rank_score(2, 9)


def test_scores_are_tied_from_the_ninth_decimal_on() -> None:
    assert mid_ranks([0.5, 0.5 + 4e-10]) == [1.5, 1.5]
    assert mid_ranks([0.5, 0.5 + 2e-9]) == [2, 1]


def test_defaults_are_gamma_1_and_the_last_rank() -> None:
    assert log_rank_score(3, 10) == log_rank_score(3, 10, gamma=1)
    ranks = [3, None]
    expected = log_rank_index(ranks, 10, gamma=1, missing="last", normalised=False)
    assert log_rank_index(ranks, 10) == expected
