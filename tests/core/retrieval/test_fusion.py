"""Fusion: the numbers of foundation.md section 6 and mc.md sections 3 and 8."""

from __future__ import annotations

import math

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import FunctionEmbedder, Index, MultiViewRetriever, read_text
from structrag.errors import InvalidAnswer
from structrag.retrieval.fusion import (
    maxnorm,
    minmax,
    reciprocal_rank_fusion,
    reciprocal_ranks,
    round_robin,
    sum_of_parts,
    union,
    union_size,
)

ROUTES = ["ABCD", "BADC", "ADBC"]
RANKINGS = st.lists(st.lists(st.integers(0, 8), max_size=9, unique=True), max_size=4)


@examples
def test_minmax(scores: list[float], expected: list[float]) -> None:
    assert minmax(scores).tolist() == expected


@examples
def test_maxnorm(scores: list[float], expected: list[float]) -> None:
    assert maxnorm(scores).tolist() == expected


@pytest.mark.parametrize("normalise", [minmax, maxnorm])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_normalising_refuses_nan_and_infinity(normalise, bad: float) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidAnswer, match="scores must be finite"):
        normalise([1.0, bad])


def test_reciprocal_ranks_are_added_up() -> None:
    assert reciprocal_rank_fusion(ROUTES) == ["A", "B", "D", "C"]
    assert reciprocal_rank_fusion(["aab", "b"]) == ["b", "a"]  # a counts once
    assert reciprocal_rank_fusion([[7, 3], [3, 7], [5]]) == [3, 7, 5]  # ties
    assert reciprocal_rank_fusion([]) == []
    assert reciprocal_ranks(3).tolist() == [1 / 61, 1 / 62, 1 / 63]
    assert reciprocal_ranks(0).tolist() == []


@examples
def test_union_size(k: float, size: int) -> None:
    assert union_size(k) == size


@given(RANKINGS, st.integers(0, 9))
def test_union_holds_exactly_the_first_of_every_view(
    rankings: list[list[int]], size: int
) -> None:
    joined = union(rankings, size)
    assert sorted(joined) == sorted(
        {key for ranking in rankings for key in ranking[:size]}
    )
    longest = max((len(ranking[:size]) for ranking in rankings), default=0)
    assert longest <= len(joined) <= size * len(rankings)


@given(RANKINGS, st.randoms(use_true_random=False), st.integers(0, 8))
def test_order_of_routes_is_irrelevant_and_smaller_k_is_a_prefix(
    rankings, random, k: int
) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(rankings, len(rankings))
    assert reciprocal_rank_fusion(shuffled) == reciprocal_rank_fusion(rankings)
    assert round_robin(rankings, k) == round_robin(rankings, k + 1)[:k]


QUARTERS = st.integers(-40, 40).map(lambda value: value / 4)


WEIGHTED_ROUTES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 20), QUARTERS, max_size=12),
        st.sampled_from([minmax, maxnorm]),
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    ),
    max_size=4,
)


@given(WEIGHTED_ROUTES, st.integers(1, 25))
def test_equals_the_weighted_sum_of_normalised_routes(weighted, k: int) -> None:  # type: ignore[no-untyped-def]
    routes, normalise, weights = ([part[i] for part in weighted] for i in range(3))
    parts = [
        weight * function(list(route.values()))
        for route, function, weight in zip(routes, normalise, weights, strict=True)
    ]
    totals: dict[int, float] = {}
    for route, added in zip(routes, parts, strict=True):
        for row, part in zip(route, added.tolist(), strict=True):
            totals[row] = totals.get(row, 0.0) + part
    order = sorted(totals, key=lambda row: (-round(totals[row], 9), row))
    expected = [(row, totals[row]) for row in order[:k]]
    found = sum_of_parts(routes, parts, k)
    assert [row for row, _ in found] == [row for row, _ in expected]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected]
    )


def test_the_only_chunk_that_has_the_word_comes_first() -> None:
    """BM25 finds one chunk, all cosines are equal: the one that was found must not be lost."""
    index = Index(
        embedder=FunctionEmbedder(
            lambda texts: [[1.0, 0.0]] * len(texts), name="constant"
        )
    )
    index.add([read_text(text, id=text) for text in ("alpha", "beta", "zebra only")])
    hits = MultiViewRetriever(index, k=2).search("zebra")
    assert hits[0].chunk.text == "zebra only"
