"""The chunks that are compared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, HostStore
from phone_making import NAMES, phone_retriever, phones

from structrag import Document, Index
from structrag.asking.requests import Ranking, Search
from structrag.index.snapshot import Reader
from structrag.retrieval.hiqa.keywords import Keywords
from structrag.retrieval.hiqa.pool import PoolSource, _positions, _within
from structrag.retrieval.hiqa.scores import Pool


class Alone(PoolSource):
    """By the query's own vector."""

    def query_vectors(self, reader: Reader, query: str, table: Any) -> Any:
        (vector,) = yield from self.index.query_vectors(reader, query)
        return vector, None


def test_the_rest_orders_chunks_that_hold_the_name_and_leaves_their_mean() -> None:
    index = phones(HashEmbedder())
    source = phone_retriever(index).source
    query = "How long does the Nova C10 last?"
    with_rest = index.run(source.steps(index.reader(), query, 50, None))
    alone = index.run(Alone(**vars(source)).steps(index.reader(), query, 50, None))
    holds = alone.held.any(axis=0)
    assert 0 < holds.sum() < len(holds)
    assert np.array_equal(with_rest.cosine, alone.cosine) and alone.shift == 0.0
    shift: Any = with_rest.shift
    assert not shift[~holds].any()
    assert shift[holds].mean() == pytest.approx(0, abs=1e-12)
    rest = dict(
        index.store.search_dense(
            "raw",
            HashEmbedder().embed(["How long does the last?"], query=True)[0],
            len(index),
        )
    )
    own = np.array([rest[row] for row in alone.rows[holds].tolist()])
    assert np.allclose(shift[holds], own - own.mean())


def test_one_chunk_with_the_name_keeps_its_score() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add(
        [
            Document(
                f"# {name}\n\nMade by Acme.", id=name, title=name, format="markdown"
            )
            for name in NAMES
        ]
    )
    source = phone_retriever(index).source
    pools = [
        index.run(each.steps(index.reader(), "Who makes the Nova C10?", 50, None))
        for each in (source, Alone(**vars(source)))
    ]
    assert np.array_equal(pools[0].cosine, pools[1].cosine)
    assert pools[0].shift == pools[1].shift == 0.0


@pytest.mark.parametrize("settings", [{"preset": "paper"}, {"compare_rest": False}])
def test_as_printed_the_question_alone_is_compared(settings: dict[str, Any]) -> None:
    embedder = HashEmbedder()
    index = phones(embedder)
    query = "How long does the Nova C10 last?"
    hits = phone_retriever(index, **settings).search(query, 10)
    alpha, beta = 0.5, 0.2
    cosines = {hit.chunk.id: hit.scores["dense"] for hit in hits}
    low, high = min(cosines.values()), max(cosines.values())
    best = max(hit.scores.get("bm25", 0.0) for hit in hits)
    for hit in hits:  # equation 2
        v = (cosines[hit.chunk.id] - low) / (high - low)
        r = hit.scores.get("bm25", 0.0) / best
        named = len(hit.chunk.extras["keywords"])
        total = alpha * v + (1 - alpha) * r + beta * np.log(1 + named)
        # One keyword is asked.
        assert hit.score == pytest.approx(total / (1 + beta * np.log(2)))
    assert len(embedder.queries) == 1
    both = [hit.score for hit in phone_retriever(index).search(query, 10)]
    assert both != pytest.approx([hit.score for hit in hits])
    again = phone_retriever(index, preset="paper", compare_rest=True).search(query, 10)
    assert [hit.score for hit in again] == pytest.approx(both)


class Chosen:
    """A reader of an engine whose conditions name rows."""

    def __len__(self) -> int:
        return 10

    def first_rows(self, selected: list[int], n: int) -> list[int]:
        return selected[:n]


@pytest.mark.parametrize(
    ("selected", "n", "rows"),
    [
        (None, 3, [5, 2, 7]),
        (None, 9, [5, 2, 7, 9]),
        (slice(2, 7), 9, [5, 2]),
        (slice(5, 8), 1, [5]),
        (np.array([False] * 5 + [True, False, True]), 9, [5, 7]),  # 9 came since
        ([9, 2], 9, [2, 9]),
        ([9, 2], 1, [2]),
        ([], 9, []),
    ],
)
def test_the_first_rows_that_lie_within_what_is_searched(
    selected: Any, n: int, rows: list[int]
) -> None:
    ranking = {5: 0.9, 2: 0.8, 7: 0.7, 9: 0.1}
    reader: Any = Chosen()
    found = _within(reader, ranking, selected, n)
    assert list(found.items()) == [(row, ranking[row]) for row in rows]


def test_rows_of_an_engine_have_positions_in_the_table() -> None:
    reader: Any = Chosen()
    table: Any = SimpleNamespace(row_numbers=None)
    selected: Any = [9, 4]
    assert _positions(reader, table, selected) is selected
    table.row_numbers = np.array([2, 4, 9])
    assert _positions(reader, table, None) is None
    among: Any = _positions(reader, table, selected)
    assert among.tolist() == [False, True, True]


def test_a_blank_question_and_an_empty_index_have_empty_pools() -> None:
    index = phones(HashEmbedder())
    source = phone_retriever(index).source
    empty = Index(embedder=HashEmbedder(), views=("raw",))
    for of, query in ((index, " "), (empty, "Nova C10")):
        pool = of.run(
            PoolSource(**{**vars(source), "index": of}).steps(
                of.reader(), query, 5, None
            )
        )
        assert len(pool.rows) == 0 and pool.held.shape == (0, 0)


def test_a_pool_holds_the_best_of_both_routes_and_what_has_a_keyword() -> None:
    index = phones(HashEmbedder())
    source = phone_retriever(index).source
    query = "How long does the Nova C10 last?"
    n = 2
    pool = index.run(source.steps(index.reader(), query, n, None))
    vector = HashEmbedder().embed([query], query=True)[0]
    dense = [row for row, _ in index.store.search_dense("raw", vector, n)]
    bm25 = [row for row, _ in index.store.search_lexical("raw", query, n)]
    named = pool.rows[pool.held.any(axis=0)].tolist()
    assert set(pool.rows.tolist()) == {*dense, *bm25, *named} and named
    (few,) = index.run(source.steps(index.reader(), query, 1, None)).ranks["dense"]
    assert few == dense[0]
    # all of them have a cosine and a score of BM25, whichever route found them
    cosines = dict(index.store.search_dense("raw", vector, len(index)))
    weights = dict(index.store.search_lexical("raw", query, len(index)))
    for row, cosine, weight in zip(
        pool.rows.tolist(), pool.cosine, pool.bm25, strict=True
    ):
        assert cosine == pytest.approx(cosines[row])
        assert weight == pytest.approx(weights.get(row, 0.0))


ALL = ("dense", "bm25", "keywords")


def numbered(**options: Any) -> Index:
    """Twelve chunks; all have the name Q7, and "pump" stands in the first three."""
    index = Index(embedder=HashEmbedder(), views=("raw",), **options)
    index.add(
        [
            Document(f"{'pump' if i < 3 else 'fan'} of Q7, number{i}", id=f"d{i:02}")
            for i in range(12)
        ]
    )
    return index


def pool_of(
    index: Index,
    query: str,
    n: int,
    routes: tuple[str, ...] = ALL,
    where: Any = None,
    **options: Any,
) -> Pool:
    source = PoolSource(index, "raw", routes, Keywords(["Q7"], False), **options)
    return index.run(source.steps(index.reader(), query, n, where))


def test_as_many_of_the_best_with_a_keyword_join_as_the_routes_leave_of_3n() -> None:
    index = numbered()
    # Both routes find the first two: the best four with the keyword, these among them, join.
    assert pool_of(index, "pump q7", 2).rows.tolist() == [0, 1, 2, 3]
    assert pool_of(index, "pump q7", 3).rows.tolist() == [0, 1, 2, 3, 4, 5]
    # The best by the routes stand behind the first with the keyword.
    rows = pool_of(index, "number9 number10 of q7", 2).rows.tolist()
    assert len(rows) == 6 and {9, 10} <= set(rows)
    # No keyword is asked, or that route is left out.
    assert 2 <= len(pool_of(index, "pump", 2).rows) <= 4
    assert len(pool_of(index, "pump q7", 2, ("dense",)).rows) == 2
    assert len(pool_of(index, "pump q7", 2, near_only=True).rows) == 2


def test_a_route_that_is_left_out_has_neither_ranks_nor_scores() -> None:
    index = numbered()
    pool = pool_of(index, "pump q7", 1, ("dense", "keywords"))
    assert pool.ranks["bm25"] == {} and not pool.bm25.any()
    assert sorted(pool.ranks["dense"].values()) == [1]
    assert not np.isnan(pool.cosine).any()
    pool = pool_of(index, "pump q7", 1, ("bm25", "keywords"))
    assert pool.ranks["dense"] == {} and np.isnan(pool.cosine).all()
    assert sorted(pool.ranks["bm25"].values()) == [1]
    assert (pool.bm25 > 0).all() and pool.rows.tolist() == [0, 1]
    assert set(pool.ranks["keywords"].values()) == {1}


def test_near_only_bm25_knows_the_nearest_alone() -> None:
    pool = pool_of(numbered(), "pump number1", 3, near_only=True)
    assert len(pool.rows) == 3 and pool.ranks["bm25"] == {}
    assert sorted(pool.ranks["dense"].values()) == [1, 2, 3]
    assert pool.bm25.max() > 0


class Fixed:
    """A host's lexical route that gives all chunks, knows no condition, and scores a few."""

    def __init__(self, index: Index, scores: dict[str, float]) -> None:
        self.index, self.scores = index, scores

    def search(self, request: Search) -> Ranking:
        ranking = [
            (chunk.id, self.scores.get(chunk.doc_id, 0.0))
            for chunk in self.index.chunks()
        ]
        return sorted(ranking, key=lambda item: -item[1])


def test_a_hosts_lexical_scores_stand_and_those_of_0_do_not_count() -> None:
    index = numbered()
    lexical = Fixed(index, {"d05": 3.0, "d06": 2.0, "d07": 1.0})
    pool = pool_of(index, "pump q7", 2, lexical=lexical)
    assert pool.ranks["bm25"] == {5: 1, 6: 2}
    scores = dict(zip(pool.rows.tolist(), pool.bm25.tolist(), strict=True))
    assert {row: score for row, score in scores.items() if score} == {5: 3.0, 6: 2.0}
    alone = pool_of(index, "pump", 9, ("bm25",), lexical=lexical)
    assert alone.rows.tolist() == [5, 6, 7]
    within = pool_of(index, "pump", 9, ("bm25",), {"doc_id": "d06"}, lexical=lexical)
    assert within.rows.tolist() == [6]


class Careless(HostStore):
    """A host's store that is given conditions and does not keep to them."""

    def __init__(self) -> None:
        super().__init__(wants_vectors=False)
        self.conditions: list[Any] = []

    def search(self, request: Search) -> Ranking:
        self.conditions.append(request.where)
        return [(chunk_id, 0.5) for chunk_id, _ in self.entries]


def test_a_hosts_store_is_given_the_condition_and_may_give_more() -> None:
    host = Careless()
    index = Index(dense_store=host, views=("raw",))
    index.add([Document(f"pump number{i}", id=f"d{i}") for i in range(4)])
    where = {"doc_id": ["d1", "d3"]}
    pool = pool_of(index, "pump", 9, ("dense",), where)
    assert host.conditions == [where]
    assert pool.rows.tolist() == [1, 3] and pool.cosine.tolist() == [0.5, 0.5]
