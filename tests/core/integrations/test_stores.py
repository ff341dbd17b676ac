"""Paging over a host's store, and what it holds of an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from structrag.index.entries import Entry, Vectors
from structrag.index.index import Index
from structrag.integrations.stores import (
    Match,
    as_similarities,
    documents_of,
    entry_texts,
    entry_vectors,
    paged_flow,
    rank_scores,
    store_metadata,
    stored_chunk,
    view_of,
)
from structrag.model_calls.flow import drive
from structrag.model_calls.requests import Ranking, Search
from structrag.reading.files import read_text
from structrag.records import Chunk

NAMES = [f"d{i}" for i in range(6)]


@pytest.fixture(scope="module")
def index() -> Index:
    index = Index(views=("raw",))
    index.add([read_text(f"# Title {name}\n\nText.\n", id=name) for name in NAMES])
    return index


def search(
    index: Index | None, results: Sequence[str | None], n: int = 2, **options: Any
) -> tuple[Ranking, list[int]]:
    """The ranking over a store that has these results in this order, and how many were asked
    for."""
    where = options.pop("where", None)
    query = options.pop("query", "title")
    request = Search("dense:raw", query, None, n, where)
    asked: list[int] = []

    def answer(count: int) -> list[Match]:
        asked.append(count)
        scores = rank_scores(len(results))
        return list(zip(results, scores, strict=True))[:count]

    return drive(paged_flow(index, request, **options), answer), asked


def chunk_ids(index: Index) -> list[str]:
    return [chunk.id for chunk in index.store.chunks()]


def test_one_page_is_enough_where_all_results_count(index: Index) -> None:
    ids = chunk_ids(index)
    assert search(index, ids) == ([(ids[0], 1.0), (ids[1], 0.5)], [2])


def test_strangers_are_passed_over_and_more_is_asked_for(index: Index) -> None:
    ids = chunk_ids(index)
    results = [None, "stranger", None, ids[4], ids[4], None, None, ids[2]]
    ranking, asked = search(index, results)
    assert [name for name, _ in ranking] == [ids[4], ids[2]]
    assert ranking[0][1] == 0.25  # of equal rows the better score
    assert asked == [2, 4, 8]


def test_it_ends_where_the_store_has_no_more_or_gives_no_more(index: Index) -> None:
    ids = chunk_ids(index)
    assert search(index, ids[:1], n=4)[1] == [4]
    assert search(index, [None] * 9, n=1, most=3) == ([], [1, 2, 3])
    assert search(index, ids, n=5, most=3) == (
        [(ids[i], 1 / (i + 1)) for i in range(3)],
        [3],
    )


def test_the_first_question_may_be_larger(index: Index) -> None:
    assert search(index, chunk_ids(index), n=2, first=4)[1] == [4]


def test_nothing_is_asked_without_an_index_or_a_query(index: Index) -> None:
    assert search(None, []) == search(Index(views=("raw",)), []) == ([], [])
    assert search(index, chunk_ids(index), query=" \n") == ([], [])


def test_metadata_leads_back_to_chunk_and_view() -> None:
    metadata = store_metadata(Chunk("c", "d", "0", 0, 1, "x"), "raw")
    assert stored_chunk(metadata, "raw") == "c"
    assert stored_chunk(metadata, "summary") is stored_chunk({}, "raw") is None
    assert stored_chunk({**metadata, "structrag_chunk": 7}, "raw") is None
    assert view_of(Search("dense:raw", "q", None, 1)) == "raw"


def test_rising_scores_are_distances() -> None:
    assert as_similarities([0.1, 0.4]) == [-0.1, -0.4]
    assert as_similarities([0.4, 0.1]) == [0.4, 0.1]
    assert as_similarities([1, 1]) == [1.0, 1.0]
    assert as_similarities([]) == []


def test_an_entry_for_a_store_that_embeds_and_for_one_that_does_not() -> None:
    document = read_text("ab", id="d")
    chunks = tuple(Chunk(f"c{i}", "d", "0", i, i + 1, "ab"[i]) for i in range(2))
    vectors = Vectors(np.eye(3), np.array([0, 0, 1]))
    views = {"raw": ("a", "b"), "summary": (None, "s")}
    entry = Entry(document, "", chunks, views, {"raw": vectors})
    texts = [(chunk.id, view, text) for chunk, view, text in entry_texts(entry)]
    assert texts == [("c0", "raw", "a"), ("c1", "raw", "b"), ("c1", "summary", "s")]
    parts = [
        (chunk.id, view, n, text) for chunk, view, n, text, _ in entry_vectors(entry)
    ]
    assert parts == [
        ("c0", "raw", 0, "a"),
        ("c0", "raw", 1, "a"),
        ("c1", "raw", 0, "b"),
    ]
    assert [vector for *_, vector in entry_vectors(entry)] == np.eye(3).tolist()


@pytest.mark.parametrize(
    ("where", "names"),
    [
        (None, None),
        ({"doc_id": "d1"}, ["d1"]),
        (lambda meta: True, NAMES),
        ({"doc_id": "none"}, []),
    ],
)
def test_a_condition_is_said_to_a_store_as_names_of_documents(
    index: Index, where: Any, names: list[str] | None
) -> None:
    assert documents_of(index, Search("dense:raw", "q", None, 1, where)) == names
    assert documents_of(None, Search("dense:raw", "q", None, 1, where)) is None


def test_a_filter_names_200_documents_and_no_more() -> None:
    index = Index(views=("raw",))
    names = [f"{number:03}" for number in range(201)]
    index.add([read_text("Text.", id=name) for name in names])

    def limited(ids: Sequence[str]) -> list[str] | None:
        where = {"doc_id": list(ids)}
        return documents_of(index, Search("dense:raw", "q", None, 1, where))

    assert limited(names[:200]) == names[:200]
    assert limited(names) is None
