"""HiQA's score: the worked numbers of its specification, and what must hold for any pool."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.index.ranking import best_positions
from structrag.retrieval.hiqa.scores import (
    Candidates,
    weighted_parts,
)


def pool(cosine: Sequence[float], bm25: Sequence[float], held: Any = ()) -> Candidates:
    rows = np.arange(len(cosine), dtype=np.int64)
    matrix = np.array(held, dtype=bool).reshape(len(held), len(cosine))
    names = tuple(f"name {i}" for i in range(len(matrix)))
    return Candidates(
        rows,
        np.array(cosine, dtype=float),
        np.array(bm25, dtype=float),
        names,
        matrix,
        {},
    )


def scores(given_pool: Candidates, alpha: float, beta: float) -> Any:
    return weighted_parts(given_pool, (alpha, 1 - alpha, beta)).sum(axis=0)


def order(values: Any) -> list[int]:
    return best_positions(values, len(values)).tolist()


# -- for any pool

cells = st.integers(-40, 40).map(lambda i: i / 40)


@st.composite
def pools(draw: st.DrawFn) -> Candidates:
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


def moved(given_pool: Candidates, **changes: Any) -> Candidates:
    fields = {name: getattr(given_pool, name) for name in Candidates.__slots__}
    return Candidates(**{**fields, **changes})


@given(pools(), weights, weights, st.sampled_from([0.25, 0.5, 2, 8]), cells)
def test_an_affine_map_of_the_cosines_changes_no_order(
    given_pool: Candidates, alpha: float, beta: float, a: float, b: float
) -> None:
    other = moved(given_pool, cosine=a * given_pool.cosine + b)
    assert order(scores(given_pool, alpha, beta)) == order(
        scores(other, alpha, beta)
    ) or _constant(given_pool)


def _constant(given_pool: Candidates) -> bool:
    """Some segments have one cosine and others none: whether it is above 0 decides between 1 and 0
    then."""
    known = given_pool.cosine[~np.isnan(given_pool.cosine)]
    return len(known) < len(given_pool.rows) and len(set(known.tolist())) == 1


@given(pools(), weights, weights, st.sampled_from([0.25, 0.5, 2, 8]))
def test_a_factor_on_bm25_changes_nothing(
    given_pool: Candidates, alpha: float, beta: float, factor: float
) -> None:
    other = moved(given_pool, bm25=factor * given_pool.bm25)
    assert scores(other, alpha, beta) == pytest.approx(scores(given_pool, alpha, beta))


@given(pools(), weights, weights, st.data())
def test_one_more_keyword_never_lowers_a_score(
    given_pool: Candidates, alpha: float, beta: float, data: st.DataObject
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
def test_one_route_alone_gives_its_own_order(
    given_pool: Candidates, alpha: float
) -> None:
    known = np.nan_to_num(given_pool.cosine, nan=-2)
    if not np.isnan(given_pool.cosine).any():
        assert order(scores(given_pool, 1, 0)) == order(known)
    assert order(scores(given_pool, 0, 0)) == order(given_pool.bm25)
    none = moved(given_pool, held=np.zeros_like(given_pool.held))
    assert scores(given_pool, alpha, 0).tolist() == scores(none, alpha, 0).tolist()
