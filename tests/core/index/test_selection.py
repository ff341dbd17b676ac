"""Rows that a condition selects."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from index_making import document
from store_making import VIEWS, entry, small_store

from structrag import Index, MultiViewRetriever
from structrag.errors import InvalidParameter
from structrag.index.store import Store


def test_select_refuses() -> None:
    store = small_store()
    with pytest.raises(
        InvalidParameter,
        match=r"where must use keys .*: 'doc_id', 'lang', 'tags', 'year'; got 'yaer'",
    ):
        store.reader().select({"yaer": 2020})
    with pytest.raises(InvalidParameter, match="where must be None, a dict"):
        store.reader().select("b")  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="one value for each of the 6 rows"):
        store.reader().search_lexical("raw", "apple", 3, np.array([True]))
    with pytest.raises(InvalidParameter, match="without a step"):
        store.reader().select(slice(0, 6, 2))
    assert Store(VIEWS).reader().select({"year": 2020}) == slice(0, 0)


def test_dates_are_met_as_metadata_has_them() -> None:
    retriever = MultiViewRetriever(Index(embedder=HashEmbedder()))
    days = ["2020-01-02", "2021-01-02"]
    retriever.index.add([document(i, meta={"day": day}) for i, day in enumerate(days)])
    hits = retriever.search("Pumps.", where={"day": [date(2021, 1, 2)]})
    assert {hit.chunk.doc_id for hit in hits} == {"doc1"}


def test_a_selection_sees_the_store_as_it_was_when_it_began() -> None:
    store = small_store()

    def meddle(facts: dict[str, object]) -> bool:
        store.put(entry(f"from {facts['doc_id']}", ["plum"]))
        return facts["doc_id"] != "b"

    mask = store.reader().select(meddle)
    assert isinstance(mask, np.ndarray)
    assert mask.tolist() == [True, True, False, False, False, True]
    assert store.document_ids == ["a", "b", "c", "from a", "from b", "from c"]


def test_where_limits_every_route(embedder: HashEmbedder) -> None:
    index = Index(embedder=embedder)
    index.add(
        [document(i, meta={"year": 2020 + i, "tags": ["a", str(i)]}) for i in range(4)]
    )
    cases: list[tuple[Any, set[str]]] = [
        ({"doc_id": "doc2"}, {"doc2"}),
        ({"doc_id": ["doc0", "doc3"]}, {"doc0", "doc3"}),
        ({"year": [2021, 2022]}, {"doc1", "doc2"}),
        ({"tags": "3"}, {"doc3"}),
        ({"tags": "a", "year": 2020}, {"doc0"}),
        (lambda meta: meta["year"] > 2021, {"doc2", "doc3"}),
        ({"doc_id": "nothing"}, set()),
    ]
    for where, expected in cases:
        for route in ("dense", "bm25"):
            assert {
                hit.chunk.doc_id
                for hit in index.search("pump", 50, route=route, where=where)
            } == expected
        assert {
            hit.chunk.doc_id
            for hit in MultiViewRetriever(index).search("pump", 50, where=where)
        } == expected
    with pytest.raises(InvalidParameter, match="'colour'"):
        index.search("pump", where={"colour": "red"})


def test_a_where_that_raises_is_named(embedder: HashEmbedder) -> None:
    index = Index(embedder=embedder)
    index.add([document(1)])
    for search in (index.search, MultiViewRetriever(index).search):
        with pytest.raises(
            InvalidParameter,
            match=r"where must be a function .* 'doc1' it raised KeyError: 'year'",
        ) as caught:
            search("pump", where=lambda meta: meta["year"] > 2000)
        assert isinstance(caught.value.__cause__, KeyError)


@pytest.mark.parametrize(
    "value", [{"$gt": 2020}, [{"$ne": 2020}], Path("a.md"), [2020, b"x"]]
)
def test_what_meets_nothing_is_refused(value: Any) -> None:
    with pytest.raises(
        InvalidParameter, match=r"must map keys of the metadata .* for 'year'"
    ):
        small_store().reader().select({"year": value})
