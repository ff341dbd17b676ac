"""The routes of an index: which rows they rank."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HostStore
from fixture_cases import examples
from index_making import document, state
from store_making import VIEWS, entry, small_store

from structrag import (
    Document,
    Index,
    MultiViewRetriever,
)
from structrag.asking.requests import Ranking, Search
from structrag.errors import InvalidParameter, ModelFailed
from structrag.index.routes import (
    HostVectors,
    OwnRoute,
    check_query,
    checked_k,
    ranked_rows,
)
from structrag.index.store import Store
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


# -- a host's store, kept in step


def test_without_a_hosts_store_there_is_nothing_to_keep() -> None:
    store, host = small_store(), HostVectors(None, VIEWS)
    assert host.wants_our_vectors
    assert host.keys(["a"], store) == {}
    host.put(entry("a", ["apple"]), [("a:0-9", "raw")], store)
    host.forget("a", store)
    assert store.document_ids == ["a", "b", "c"]


@pytest.mark.parametrize("wants", [True, False])
def test_a_host_that_embeds_the_texts_itself_wants_no_vectors(wants: bool) -> None:
    assert HostVectors(HostStore(wants_vectors=wants), VIEWS).wants_our_vectors is wants


def test_a_host_holds_a_chunk_once_a_view() -> None:
    host = HostVectors(HostStore(wants_vectors=False), VIEWS)
    assert host.keys(["c", "unknown"], small_store()) == {
        "c": [("c:0-8", "raw"), ("c:0-8", "keywords")],
        "unknown": [],
    }


def test_a_host_is_told_of_outdated_entries_before_new_ones() -> None:
    held, store = HostStore(wants_vectors=False), small_store()
    host = HostVectors(held, VIEWS)
    host.put(entry("new", ["fig"]), [], store)
    assert held.calls == ["put new"] and len(held.entries) == 2
    host.put(entry("new", ["plum pear"]), [("new:0-3", "raw")], store)
    assert held.calls[1:] == ["delete 1", "put new"]
    assert sorted(held.entries) == [
        ("new:0-3", "keywords"),
        ("new:0-9", "keywords"),
        ("new:0-9", "raw"),
    ]
    assert host.keys(["new"], store) == {"new": []}  # our own store has none


def test_what_a_host_refused_is_deleted_there_before_the_next_try() -> None:
    held, store = HostStore(wants_vectors=False, fails=["put"]), Store(VIEWS)
    host = HostVectors(held, VIEWS)
    fig = entry("a", ["fig"])
    old = [("a:0-9", "raw")]
    store.put(fig)
    with pytest.raises(ModelFailed, match=r"vector store HostStore.*the disk is full"):
        host.put(fig, old, store)
    assert "a" not in store
    leftovers = [*old, ("a:0-3", "raw"), ("a:0-3", "keywords")]
    assert host.keys(["a"], store) == {"a": leftovers}
    held.fails.clear()
    host.put(fig, host.keys(["a"], store)["a"], store)
    assert held.calls[-2:] == ["delete 3", "put a"]
    assert host.keys(["a"], store) == {"a": []}


def test_a_document_is_forgotten_with_what_was_left_of_it() -> None:
    held, store = HostStore(wants_vectors=False, fails=["put"]), small_store()
    host = HostVectors(held, VIEWS)
    with pytest.raises(ModelFailed):
        host.put(entry("a", ["fig"]), [], store)
    host.forget("a", store)
    assert held.calls[-1] == "delete 2" and held.entries == {}
    host.forget("a", store)
    host.forget("unknown", store)
    assert len(held.calls) == 2  # there is nothing to delete
    held.fails = {"delete"}
    with pytest.raises(ModelFailed, match=r"The document stays; call again\."):
        host.forget("b", store)
    held.fails.clear()
    host.forget("b", store)
    assert held.calls[-1] == "delete 6"  # three chunks in two views


# -- our own routes


def test_the_route_of_a_search_is_named_by_its_request() -> None:
    route = OwnRoute(small_store().reader())
    vector = np.array([1.0, 2.0, 3.0])
    lexical = Search("bm25:keywords", "plum apple", vector, 9)
    assert [row for row, _ in route.search(lexical)] == [0, 2]
    dense = Search("dense:raw", "plum", vector, 2, {"doc_id": "b"})
    assert {row for row, _ in route.search(dense)} <= {2, 3, 4}
    assert len(route.search(dense)) == 2
    assert route.search(Search("dense:raw", "plum", None, 2)) == []
    assert route.search(Search("bm25:raw", "fig", None, 9, slice(4, 5)))[0][0] == 4


@examples
def test_a_ranking_becomes_rows_with_their_best_scores(
    ranking: Ranking, rows: dict[int, float]
) -> None:
    scores = ranked_rows(small_store().reader(), ranking)
    assert list(scores.items()) == list(rows.items())


# -- what is checked


@pytest.mark.parametrize("k", [1, 2.0, 7])
def test_k_is_a_whole_number(k: float) -> None:
    checked = checked_k(k)
    assert checked == k and isinstance(checked, int)


@pytest.mark.parametrize(
    ("k", "sentence"),
    [
        (0, "k must be a number of at least 1; got 0"),
        (0.5, "k must be a number of at least 1"),
        (1.5, r"k must be a whole number; got 1\.5"),
        (float("inf"), "k must be a whole number; got inf"),
        (float("nan"), "k must be a number"),
        ("5", "k must be a number of at least 1; got '5'"),
        (True, "k must be a number"),
    ],
)
def test_any_other_k_is_refused(k: Any, sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        checked_k(k)


def test_a_query_is_a_string() -> None:
    check_query("")
    with pytest.raises(InvalidParameter, match="query must be a string; got list"):
        check_query(["pump"])
