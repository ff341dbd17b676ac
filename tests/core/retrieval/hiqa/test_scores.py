"""HiQA's score: the worked numbers of its specification, and what must hold for any pool."""

from __future__ import annotations

from collections.abc import Sequence
from math import log
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.index.ranking import best_positions
from structrag.retrieval.hiqa.scores import (
    Pool,
    alpha_for,
    auto_alpha,
    auto_beta,
    best_rank_score,
    best_score,
    in_turn,
    keyword_ranks,
    normalised,
    rank_parts,
    weighted_parts,
)

DISTANCES = (0.20, 0.25, 0.30, 0.40)
BM25 = (2, 8, 0, 4)
HELD = ((0, 0, 1, 1), (0, 0, 1, 0))  # |C| = 0 0 2 1


def pool(cosine: Sequence[float], bm25: Sequence[float], held: Any = ()) -> Pool:
    rows = np.arange(len(cosine), dtype=np.int64)
    matrix = np.array(held, dtype=bool).reshape(len(held), len(cosine))
    names = tuple(f"name {i}" for i in range(len(matrix)))
    return Pool(
        rows,
        np.array(cosine, dtype=float),
        np.array(bm25, dtype=float),
        names,
        matrix,
        {},
    )


def scores(given_pool: Pool, alpha: float, beta: float) -> Any:
    return weighted_parts(given_pool, (alpha, 1 - alpha, beta)).sum(axis=0)


def order(values: Any) -> list[int]:
    return best_positions(values, len(values)).tolist()


WORKED = pool([1 - distance for distance in DISTANCES], BM25, HELD)


def test_worked_numbers() -> None:
    v, r = normalised(WORKED)
    assert v == pytest.approx([1, 0.75, 0.5, 0])
    assert r == pytest.approx([0.25, 1, 0, 0.5])
    assert weighted_parts(WORKED, (1, 0.5, 0)).sum(axis=0) == pytest.approx(
        [1.125, 1.25, 0.5, 0.25]
    )
    assert scores(WORKED, 2 / 3, 0) == pytest.approx(
        [0.75, 0.8333, 0.3333, 0.1667], abs=5e-5
    )
    with_keywords = scores(WORKED, 2 / 3, 0.2)
    assert with_keywords == pytest.approx([0.75, 0.8333, 0.5531, 0.3053], abs=5e-5)
    assert order(with_keywords) == [1, 0, 2, 3]


def test_keywords_lift_by_the_logarithm_of_their_number() -> None:
    held = [[1, 1, 1], [0, 1, 1], [0, 0, 1]]
    assert weighted_parts(pool([0, 0, 0], [0, 0, 0], held), (0.5, 0.5, 0.2))[
        2
    ] == pytest.approx([0.139, 0.220, 0.277], abs=5e-4)


def test_beta_by_documents_and_pages() -> None:
    assert auto_beta(100, 20) == pytest.approx(0.1 * (1 + log(6)))
    assert auto_beta(1_000_000, 1) == 0.4
    assert auto_beta(1, 1_000) == pytest.approx(0.1001, abs=1e-4)
    assert auto_beta(0, 0) == auto_beta(0, 5) == auto_beta(3, 0) == 0.1
    assert [auto_beta(n, 1) for n in (1, 2, 4)] == sorted(
        auto_beta(n, 1) for n in (1, 2, 4)
    )


def test_alpha_by_structure() -> None:
    assert (auto_alpha(0), auto_alpha(0.5), auto_alpha(1)) == pytest.approx(
        (0.4, 0.5, 0.6)
    )


def test_a_route_without_anything_leaves_the_score_to_the_other() -> None:
    assert alpha_for(pool([0.5, 0.4], [0, 0]), 0.3) == 1
    assert alpha_for(pool([np.nan, np.nan], [1, 0]), 0.3) == 0
    assert alpha_for(pool([np.nan, np.nan], [0, 0]), 0.3) == 0
    assert alpha_for(pool([0.5, np.nan], [1, 0]), 0.3) == 0.3


def test_missing_and_constant_routes() -> None:
    v, r = normalised(pool([0.9, np.nan, 0.5], [0, 0, 0]))
    assert (v.tolist(), r.tolist()) == ([1, 0, 0], [0, 0, 0])
    v, r = normalised(pool([0.5, 0.5], [3, 3]))
    assert (v.tolist(), r.tolist()) == ([1, 1], [1, 1])
    assert normalised(pool([0.4], [0]))[0].tolist() == [1]
    assert normalised(pool([-0.4], [-1]))[0].tolist() == [0]


def test_what_is_added_to_cosines_counts_before_they_are_normalised() -> None:
    added = moved(
        pool([0.5, np.nan, 0.4, 0.3], [0] * 4), shift=np.array([-0.3, 0, 0, 0])
    )
    # 0.2, none, 0.4 and 0.3
    assert normalised(added)[0] == pytest.approx([0, 0, 1, 0.5])


@pytest.mark.parametrize(
    ("routes", "best"),
    [
        (("dense",), 0.5),
        (("bm25",), 0.25),
        (("keywords",), 2 * log(3)),  # two keywords
        (("dense", "bm25", "keywords"), 0.75 + 2 * log(3)),
        ((), 1.0),
    ],
)
def test_the_best_score_is_of_what_is_first_on_every_route(
    routes: tuple[str, ...], best: float
) -> None:
    two_keywords = pool([0.9, 0.1], [5, 2], [[1, 0], [0, 1]])
    assert best_score(two_keywords, (0.5, 0.25, 2), routes) == pytest.approx(best)
    assert best_score(two_keywords, (0, 0, 0), routes) == 1


def test_an_empty_pool_has_no_scores() -> None:
    nothing = pool([], [])
    assert (
        weighted_parts(nothing, (0.5, 0.5, 0.2)).shape
        == (3, 0)
        == rank_parts(nothing).shape
    )


def test_reciprocal_ranks_of_three_routes() -> None:
    ranks = {"dense": {0: 1, 1: 2}, "bm25": {0: 3}, "keywords": {1: 1}}
    base = pool([0.5, 0.4, 0.3], [0, 0, 0])
    parts = rank_parts(Pool(base.rows, base.cosine, base.bm25, (), base.held, ranks))
    assert parts.sum(axis=0) == pytest.approx([1 / 61 + 1 / 63, 1 / 62 + 1 / 61, 0])


def test_equal_numbers_of_keywords_share_a_rank() -> None:
    assert keyword_ranks(np.array([3, 5, 8, 9]), np.array([1, 2, 0, 1])) == {
        3: 2,
        5: 1,
        9: 2,
    }


def test_groups_take_turns_and_those_without_a_keyword_come_last() -> None:
    held = np.array([[1, 1, 0, 1, 0, 0, 1], [1, 0, 1, 0, 0, 0, 0]], dtype=bool)
    best_first = [4, 1, 3, 6, 2, 0, 5]
    assert in_turn(best_first, held, 7) == [0, 1, 2, 3, 6, 4, 5]
    assert in_turn(best_first, held, 3) == [0, 1, 2]
    assert in_turn([1, 0], np.zeros((0, 2), dtype=bool), 2) == [1, 0]


# -- for any pool

cells = st.integers(-40, 40).map(lambda i: i / 40)


@st.composite
def pools(draw: st.DrawFn) -> Pool:
    n = draw(st.integers(1, 12))
    cosine = draw(
        st.lists(st.one_of(cells, st.just(float("nan"))), min_size=n, max_size=n)
    )
    bm25 = draw(
        st.lists(st.integers(0, 30).map(lambda i: i / 4), min_size=n, max_size=n)
    )
    held = draw(st.lists(st.lists(st.booleans(), min_size=n, max_size=n), max_size=3))
    return pool(cosine, bm25, held)


weights = st.integers(0, 10).map(lambda i: i / 10)


def moved(given_pool: Pool, **changes: Any) -> Pool:
    fields = {name: getattr(given_pool, name) for name in Pool.__slots__}
    return Pool(**{**fields, **changes})


@given(pools(), weights, weights, st.sampled_from([0.25, 0.5, 2, 8]), cells)
def test_an_affine_map_of_the_cosines_changes_no_order(
    given_pool: Pool, alpha: float, beta: float, a: float, b: float
) -> None:
    other = moved(given_pool, cosine=a * given_pool.cosine + b)
    assert order(scores(given_pool, alpha, beta)) == order(
        scores(other, alpha, beta)
    ) or _constant(given_pool)


def _constant(given_pool: Pool) -> bool:
    """Some segments have one cosine and others none: whether it is above 0 decides between 1 and 0
    then."""
    known = given_pool.cosine[~np.isnan(given_pool.cosine)]
    return len(known) < len(given_pool.rows) and len(set(known.tolist())) == 1


@given(pools(), weights, weights, st.sampled_from([0.25, 0.5, 2, 8]))
def test_a_factor_on_bm25_changes_nothing(
    given_pool: Pool, alpha: float, beta: float, factor: float
) -> None:
    other = moved(given_pool, bm25=factor * given_pool.bm25)
    assert scores(other, alpha, beta) == pytest.approx(scores(given_pool, alpha, beta))


@given(pools(), weights, weights, st.data())
def test_one_more_keyword_never_lowers_a_score(
    given_pool: Pool, alpha: float, beta: float, data: st.DataObject
) -> None:
    lifted = data.draw(st.integers(0, len(given_pool.rows) - 1))
    extra = np.zeros((1, len(given_pool.rows)), dtype=bool)
    extra[0, lifted] = True
    before = scores(given_pool, alpha, beta)
    after = scores(
        moved(given_pool, held=np.concatenate([given_pool.held, extra])), alpha, beta
    )
    assert after[lifted] > before[lifted] or (
        beta == 0 and after[lifted] == before[lifted]
    )
    assert np.delete(after, lifted).tolist() == np.delete(before, lifted).tolist()


@given(pools(), weights)
def test_one_route_alone_gives_its_own_order(given_pool: Pool, alpha: float) -> None:
    known = np.nan_to_num(given_pool.cosine, nan=-2)
    if not np.isnan(given_pool.cosine).any():
        assert order(scores(given_pool, 1, 0)) == order(known)
    assert order(scores(given_pool, 0, 0)) == order(given_pool.bm25)
    none = moved(given_pool, held=np.zeros_like(given_pool.held))
    assert scores(given_pool, alpha, 0).tolist() == scores(none, alpha, 0).tolist()


def test_what_is_first_on_every_route_has_the_best_score_by_ranks() -> None:
    routes = ("dense", "bm25", "keywords")
    assert best_rank_score(pool([0.5], [2.0], ((1,),)), routes) == pytest.approx(3 / 61)
    # No keyword.
    assert best_rank_score(pool([0.5], [2.0]), routes) == pytest.approx(2 / 61)
    assert best_rank_score(pool([], []), ()) == 1.0
