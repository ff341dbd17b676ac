"""The routes of an index: which rows they rank."""

from __future__ import annotations

import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from index_making import document, state
from store_making import small_store

from structrag import (
    Document,
    Index,
    MultiViewRetriever,
)
from structrag.index.corpus import ranked_rows
from structrag.model_calls.requests import Ranking
from structrag.models import LsaEmbedder


def test_lsa_is_refitted_after_changes_and_equals_a_fresh_one() -> None:
    index = Index()
    assert isinstance(index.embedder, LsaEmbedder)
    index.add([document(i) for i in range(6)])
    first = state(index)
    index.delete("doc5")
    index.add([document(2, "A turbine, a rotor and a stator."), document(7)])
    assert state(index) != first
    fresh = Index()
    fresh.add(
        [
            document(0),
            document(1),
            document(2, "A turbine, a rotor and a stator."),
            document(3),
            document(4),
            document(7),
        ]
    )
    assert state(index) == state(fresh)


def test_lsa_is_fitted_once_for_many_searches(monkeypatch: pytest.MonkeyPatch) -> None:
    fits: list[int] = []
    original = LsaEmbedder.fit
    monkeypatch.setattr(
        LsaEmbedder,
        "fit",
        lambda self, texts: fits.append(len(texts)) or original(self, texts),
    )
    index = Index()
    index.add([document(i) for i in range(3)])
    state(index)
    assert len(fits) == 1
    assert not index.delete("nothing")
    index.add([document(1)])
    state(index)
    assert len(fits) == 1
    index.delete("doc1")
    state(index)
    assert len(fits) == 2


def test_lsa_with_a_view_that_no_chunk_has() -> None:
    index = Index()
    # Stop words only.
    index.add([Document("of the and", id="a"), Document("in on at", id="b")])
    assert index.search("of the", view="keywords") == []
    assert len(MultiViewRetriever(index).search("of the")) == 2


def test_a_blank_query_finds_nothing_and_embeds_nothing(embedder: HashEmbedder) -> None:
    index = Index(embedder=embedder)
    index.add([document(1)])
    assert index.search("  ") == [] == index.search("", route="bm25")
    assert embedder.queries == []


def test_a_query_of_unknown_words_hits_no_view() -> None:
    index = Index(embedder=None)
    index.add([document(1), document(2)])
    hits = MultiViewRetriever(index, k=3).search("xylophone")
    assert [hit.rank for hit in hits] == [1, 2, 3]
    assert all(
        not hit.routes and not hit.chunk.extras["views_hit"] and hit.score == 0
        for hit in hits
    )
    assert index.search("xylophone") == []
    assert MultiViewRetriever(index, k=1).search("gearbox")[0].chunk.extras["views_hit"]


# -- our own routes


@examples
def test_a_ranking_becomes_rows_with_their_best_scores(
    ranking: Ranking, rows: dict[int, float]
) -> None:
    scores = ranked_rows(small_store().reader(), ranking)
    assert list(scores.items()) == list(rows.items())
