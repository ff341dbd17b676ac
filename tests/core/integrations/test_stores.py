"""Paging over a host's store, and what it holds of an entry."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from structrag.index.index import Index
from structrag.integrations.stores import (
    Match,
    as_similarities,
    documents_of,
    paged_flow,
    rank_scores,
)
from structrag.model_calls.requests import Ranking, Search, drive
from structrag.reading.files import read_text

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


def test_nothing_is_asked_without_an_index_or_a_query(index: Index) -> None:
    assert search(None, []) == search(Index(views=("raw",)), []) == ([], [])
    assert search(index, chunk_ids(index), query=" \n") == ([], [])


def test_rising_scores_are_distances() -> None:
    assert as_similarities([0.1, 0.4]) == [-0.1, -0.4]
    assert as_similarities([0.4, 0.1]) == [0.4, 0.1]
    assert as_similarities([1, 1]) == [1.0, 1.0]
    assert as_similarities([]) == []


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
