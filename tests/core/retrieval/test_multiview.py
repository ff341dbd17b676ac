"""Multi-view retrieval: sizes, orders, fusions and conditions, with scripted rankings and with real
ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from doubles import HashEmbedder, HostStore
from fixture_cases import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from structrag import Document, Hit, Index, MultiViewRetriever
from structrag.errors import InvalidParameter
from structrag.model_calls.requests import Ranking, Search
from structrag.retrieval.fusion import union_size

VIEWS = ("raw", "summary", "keywords")
TEXTS = [
    "The pump moves water through the inlet. It holds a pressure of 4 bar.",
    "A valve lets water pass or stops it. The valve is made of brass.",
    "The gearbox drives the pump. Its oil is changed every year.",
    "Noise comes from the gearbox when oil is low.",
    "Warranty ends after two years of use.",
    "Water and oil must never mix in the housing.",
    "The inlet filter is cleaned every month.",
]
QUERIES = [
    "pump pressure",
    "valve brass water",
    "gearbox oil noise",
    "how long is the warranty",
    "unknownword",
]


class Scripted(HostStore):
    """A host's store that answers with given rankings of one-letter document ids, view by view;
    scores fall by 0.1."""

    def __init__(self, rankings: Mapping[str, str], factor: float = 1.0) -> None:
        super().__init__(wants_vectors=False)
        self.rankings, self.factor = rankings, factor
        self.ids: dict[str, str] = {}

    def put(self, entry: Any) -> None:
        self.ids[entry.document.id] = entry.chunks[0].id

    def search(self, request: Search) -> Ranking:
        names = self.rankings[request.route.partition(":")[2]]
        return [
            (self.ids[name], self.factor * (1 - 0.1 * i))
            for i, name in enumerate(names)
        ][: request.n]


def scripted(
    rankings: Mapping[str, str], *, order: str = "ABCDEFGH", factor: float = 1.0
) -> Index:
    index = Index(dense_store=Scripted(rankings, factor))
    index.add([Document(f"Text of {name}.", id=name) for name in order])
    return index


def names(hits: Sequence[Hit]) -> str:
    return "".join(hit.chunk.doc_id for hit in hits)


def dense(index: Index, **options: Any) -> MultiViewRetriever:
    return MultiViewRetriever(index, routes=("dense",), **options)


@pytest.fixture(scope="module")
def index() -> Index:
    index = Index(embedder=HashEmbedder(dimensions=256))
    index.add(
        [
            Document(f"# Part\n\n{text}\n", id=f"d{i}", format="markdown")
            for i, text in enumerate(TEXTS)
        ]
    )
    return index


# -- the worked example


RANKING = st.permutations("ABCDEFGH").flatmap(
    lambda names: st.integers(0, 8).map(lambda n: "".join(names)[:n])
)
WEIGHT = st.sampled_from([0, 0.5, 1, 3])


@settings(max_examples=60, deadline=None)
@given(
    rankings=st.fixed_dictionaries(dict.fromkeys(VIEWS, RANKING)),
    weights=st.fixed_dictionaries(dict.fromkeys(VIEWS, WEIGHT)),
    fusion=st.sampled_from(["minmax", "union"]),
    both=st.booleans(),
    k=st.integers(1, 8),
)
def test_parts_make_up_the_score(
    rankings: dict[str, str], weights: dict[str, float], fusion: str, both: bool, k: int
) -> None:
    retriever = MultiViewRetriever(
        scripted(rankings),
        k=k,
        fusion=fusion,
        routes=("dense", "bm25") if both else ("dense",),
        weights=weights if fusion == "minmax" else None,
    )
    for hit in retriever.search("text of A"):
        assert set(hit.scores) == set(hit.routes)
        assert bool(hit.parts) == bool(hit.routes)
        if hit.parts:
            assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-12)


# -- sizes


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.permutations("ABCDEFGH"), min_size=3, max_size=3),
    st.sampled_from([1, 1.5, 2, 3, 4, 5, 7.5, 10, 12]),
)
def test_paper_sizes_for_any_rankings(rankings: list[list[str]], k: float) -> None:
    views = dict(zip(VIEWS, map("".join, rankings), strict=True))
    hits = dense(scripted(views), preset="paper", k=k).search("q")
    size = min(union_size(k), 8)
    assert size <= len(hits) <= min(3 * size, 8) and len(set(names(hits))) == len(hits)
    assert set(names(hits)) == {
        name for ranking in views.values() for name in ranking[:size]
    }


@examples
@pytest.mark.parametrize("query", [*QUERIES, "the of and"])
def test_default_gives_exactly_k_and_a_smaller_k_is_a_prefix(
    index: Index, routes: Sequence[str], query: str
) -> None:
    retriever = MultiViewRetriever(index, routes=routes)
    everything = retriever.search(query, 50)
    assert len({hit.chunk.id for hit in everything}) == len(index) == 7
    for k in range(1, 9):
        hits = retriever.search(query, k)
        assert [(hit.chunk.id, hit.score, hit.rank) for hit in hits] == [
            (hit.chunk.id, hit.score, hit.rank) for hit in everything[:k]
        ]
    scores = [round(hit.score, 9) for hit in everything]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_a_blank_query_finds_nothing(index: Index, preset: str) -> None:
    for query in ("", "  "):
        assert MultiViewRetriever(index, preset=preset).search(query) == []


# -- order and weights


def test_a_weight_for_a_kind_of_route(index: Index) -> None:
    query = "gearbox oil noise"
    for kind, other in (("dense", "bm25"), ("bm25", "dense")):
        weighted = MultiViewRetriever(index, weights={other: 0}).search(query, 2)
        alone = MultiViewRetriever(index, routes=(kind,)).search(query, 2)
        assert [hit.chunk.id for hit in weighted] == [hit.chunk.id for hit in alone]


def test_order_document_gives_the_same_hits_in_reading_order(index: Index) -> None:
    by_score = MultiViewRetriever(index, k=5).search("gearbox oil noise")
    by_place = MultiViewRetriever(index, k=5, order="document").search(
        "gearbox oil noise"
    )
    assert by_place == sorted(by_score, key=lambda hit: hit.chunk.doc_id) != by_score
    assert sorted(hit.rank for hit in by_place) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("fusion", ["minmax", "union"])
def test_a_chunk_of_both_kinds_shows_both(index: Index, fusion: str) -> None:
    hit = MultiViewRetriever(index, fusion=fusion).search("valve brass")[0]
    assert "valve" in hit.chunk.text
    assert (
        set(hit.routes)
        == {f"{kind}:{view}" for kind in ("dense", "bm25") for view in VIEWS}
        == set(hit.scores)
    )
    for route in hit.routes:
        kind, _, view = route.partition(":")
        alone = index.search("valve brass", 50, view=view, route=kind)
        (same,) = [other for other in alone if other.chunk.id == hit.chunk.id]
        assert (same.rank, same.score) == (hit.routes[route], hit.scores[route])


# -- conditions


# -- bad arguments, odd indexes


@examples
def test_bad_settings(index: Index, options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        MultiViewRetriever(index, **options)


@pytest.mark.parametrize("preset", ["default", "paper"])
def test_an_empty_index(preset: str) -> None:
    index = Index(preset=preset)
    assert MultiViewRetriever(index, preset=preset).search("anything") == []
    assert (
        MultiViewRetriever(index, preset=preset).search(
            "anything", where={"doc_id": "x"}
        )
        == []
    )


@pytest.mark.slow
def test_real_vectors_find_a_paraphrase(minilm: Any) -> None:
    index = Index(embedder=minilm, views=("raw", "keywords"))
    index.add(
        [
            Document(f"# Part {i}\n\n{text}\n", id=f"d{i}", format="markdown")
            for i, text in enumerate(TEXTS)
        ]
    )
    assert (
        names(
            MultiViewRetriever(index, k=1).search("How long does the guarantee last?")
        )
        == "d4"
    )
    assert (
        names(
            MultiViewRetriever(index, k=1).search(
                "lubricant is running out and it is loud"
            )
        )
        == "d3"
    )
