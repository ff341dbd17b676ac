"""Fusion: the numbers of foundation.md section 6 and mc.md sections 3 and 8."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import FunctionEmbedder, Index, MultiViewRetriever, read_text
from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.retrieval.fusion import (
    alternating,
    max_score,
    maxnorm,
    minmax,
    normalised_parts,
    ranked,
    reciprocal_rank_fusion,
    reciprocal_ranks,
    round_robin,
    sum_of_parts,
    union,
    union_size,
)

ROUTES = ["ABCD", "BADC", "ADBC"]
SCORES = st.lists(st.integers(-50, 50).map(float), max_size=12)
RANKINGS = st.lists(st.lists(st.integers(0, 8), max_size=9, unique=True), max_size=4)


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([2, 8, 0, 4], [0.25, 1, 0, 0.5]),
        ([-1, 1], [0, 1]),
        ([3, 3], [1, 1]),
        ([3], [1]),
        ([0.5, 0.5], [1, 1]),
        ([0, 0], [0, 0]),
        ([-2], [0]),
        ([], []),
    ],
)
def test_minmax(scores: list[float], expected: list[float]) -> None:
    assert minmax(scores).tolist() == expected


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([2, 8, 0, 4], [0.25, 1, 0, 0.5]),
        ([0.25, 0.5], [0.5, 1]),
        ([-1, 2], [0, 1]),
        ([-1, 0], [0, 0]),
        ([], []),
    ],
)
def test_maxnorm(scores: list[float], expected: list[float]) -> None:
    assert maxnorm(scores).tolist() == expected


@pytest.mark.parametrize("normalise", [minmax, maxnorm])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_normalising_refuses_nan_and_infinity(normalise, bad: float) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidAnswer, match="scores must be finite"):
        normalise([1.0, bad])


@pytest.mark.parametrize("normalise", [minmax, maxnorm])
@given(scores=SCORES, factor=st.sampled_from([0.5, 2.0, 8.0]))
def test_a_positive_factor_changes_no_normalised_score(
    normalise, scores: list[float], factor: float
) -> None:  # type: ignore[no-untyped-def]
    assert normalise([factor * score for score in scores]).tolist() == pytest.approx(
        normalise(scores).tolist()
    )


def test_max_score_normalises_each_route() -> None:
    assert max_score(
        [{"a": 2.0, "b": 8.0, "c": 4.0}, {"a": 0.3, "c": 0.1}]
    ) == pytest.approx({"a": 1.0, "b": 1.0, "c": 1 / 3})


def test_ranked_breaks_ties_beyond_nine_decimals_by_the_tie_key() -> None:
    scores = {"d:100-200": 0.5, "d:20-30": 0.5 + 1e-12, "d:0-9": 0.6}
    position = {"d:0-9": 0, "d:20-30": 1, "d:100-200": 2}
    assert [key for key, _ in ranked(scores, tie_key=position.__getitem__)] == [
        "d:0-9",
        "d:20-30",
        "d:100-200",
    ]
    assert [key for key, _ in ranked(scores)] == ["d:0-9", "d:100-200", "d:20-30"]
    assert [key for key, _ in ranked({7: 1.0, 3: 1.0, 5: 2.0})] == [5, 3, 7]


def test_rrf_ranks_start_at_one() -> None:
    ((key, score),) = [
        hit for hit in reciprocal_rank_fusion(["ab", "bca"]) if hit[0] == "a"
    ]
    assert (key, score) == ("a", pytest.approx(1 / 61 + 1 / 63))
    assert score == pytest.approx(0.032266, abs=5e-7)


def test_rrf_worked_example() -> None:
    fused = reciprocal_rank_fusion(ROUTES)
    assert [key for key, _ in fused] == ["A", "B", "D", "C"]
    assert [round(score, 6) for _, score in fused] == [
        0.048916,
        0.048395,
        0.047627,
        0.047123,
    ]


def test_rrf_counts_a_key_once_per_ranking_and_weighs_routes() -> None:
    assert dict(reciprocal_rank_fusion([["a", "a", "b"]])) == {"a": 1 / 61, "b": 1 / 62}
    weighted = dict(reciprocal_rank_fusion(["ab", "ba"], weights=[3, 1], c=0))
    assert weighted == pytest.approx({"a": 3 / 1 + 1 / 2, "b": 3 / 2 + 1 / 1})
    assert reciprocal_rank_fusion([]) == []


def test_the_parts_of_a_ranking_are_what_rrf_adds_up() -> None:
    assert reciprocal_ranks(3, weight=2).tolist() == [2 / 61, 2 / 62, 2 / 63]
    assert reciprocal_ranks(1).tolist() == [1 / 61]
    assert reciprocal_ranks(0).tolist() == []


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"weights": [1.0]},
            "weights must have one value for each of the 2 routes; got 1",
        ),
        ({"weights": [1.0, -1.0]}, "weights must be a number of at least 0; got -1.0"),
        ({"c": -1}, "c must be a number of at least 0; got -1"),
    ],
)
def test_rrf_refuses(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        reciprocal_rank_fusion(["ab", "ba"], **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("k", "size"),
    [(0.5, 1), (1, 1), (1.5, 1), (2, 1), (3, 2), (4, 3), (5, 3), (10, 7), (0, 1)],
)
def test_union_size(k: float, size: int) -> None:
    assert union_size(k) == size


def test_union_and_round_robin_worked_example() -> None:
    assert union(ROUTES, union_size(3)) == ["A", "B", "D"]
    assert round_robin(ROUTES, 3) == ["A", "B", "D"]
    assert round_robin(ROUTES, 9) == ["A", "B", "D", "C"]
    assert round_robin(["A", "BCD"], 3) == ["A", "B", "C"]
    assert round_robin([], 3) == round_robin(ROUTES, 0) == union(ROUTES, 0) == []
    assert union(ROUTES, -2) == []


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


@given(st.lists(st.integers(0, 8), max_size=9, unique=True), st.integers(0, 9))
def test_three_equal_views_give_that_view(ranking: list[int], size: int) -> None:
    assert [key for key, _ in reciprocal_rank_fusion([ranking] * 3)] == ranking
    assert (
        union([ranking] * 3, size) == round_robin([ranking] * 3, size) == ranking[:size]
    )


@given(RANKINGS, st.randoms(use_true_random=False), st.integers(0, 8))
def test_order_of_routes_is_irrelevant_and_smaller_k_is_a_prefix(
    rankings, random, k: int
) -> None:  # type: ignore[no-untyped-def]
    shuffled = random.sample(rankings, len(rankings))
    assert [key for key, _ in reciprocal_rank_fusion(shuffled)] == [
        key for key, _ in reciprocal_rank_fusion(rankings)
    ]
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
    scaled = [
        dict(zip(route, function(list(route.values())).tolist(), strict=True))
        for route, function in zip(routes, normalise, strict=True)
    ]
    totals: dict[int, float] = {}
    for route, weight in zip(scaled, weights, strict=True):
        for row, score in route.items():
            totals[row] = totals.get(row, 0.0) + weight * score
    expected = ranked(totals)[:k]
    parts = normalised_parts(routes, normalise, weights=weights)
    found = sum_of_parts(routes, parts, k)
    assert [row for row, _ in found] == [row for row, _ in expected]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in expected]
    )


def test_worked() -> None:
    routes = [{7: 0.9, 4: 0.1, 5: 0.5}, {2: 4.0, 5: 1.0}]
    parts = normalised_parts(routes, [minmax, maxnorm])
    assert [part.tolist() for part in parts] == [[1.0, 0.0, 0.5], [1.0, 0.25]]
    found = sum_of_parts(routes, parts, 4)
    assert found == [(2, 1.0), (7, 1.0), (5, pytest.approx(0.5 + 0.25)), (4, 0.0)]


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


@pytest.mark.parametrize("k", [0, 1, 3, 1.0])
def test_whole_numbers_do_not_alternate(k: float) -> None:
    assert {alternating(k, f"q{i}") for i in range(50)} == {max(1, int(k))}


def test_a_fraction_alternates_by_query_and_is_met_on_average() -> None:
    sizes = [alternating(2.25, f"q{i}") for i in range(1000)]
    assert set(sizes) == {2, 3} and sum(sizes) / 1000 == pytest.approx(2.25, abs=0.05)
    assert alternating(2.25, "\ud800") in {2, 3}
