"""The chunks that are compared."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from phone_making import phone_retriever, phones

from structrag.retrieval.hiqa.candidates import _positions, _within


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


def test_a_pool_holds_the_best_of_both_routes_and_what_has_a_keyword() -> None:
    index = phones(HashEmbedder())
    source = phone_retriever(index).source
    query = "How long does the Nova C10 last?"
    n = 2
    pool = index.run(source.flow(index.reader(), query, n, None))
    vector = HashEmbedder().embed([query], query=True)[0]
    dense = [row for row, _ in index.store.reader().search_dense("raw", vector, n)]
    bm25 = [row for row, _ in index.store.reader().search_lexical("raw", query, n)]
    named = pool.rows[pool.held.any(axis=0)].tolist()
    assert set(pool.rows.tolist()) == {*dense, *bm25, *named} and named
    (few,) = index.run(source.flow(index.reader(), query, 1, None)).ranks["dense"]
    assert few == dense[0]
    # all of them have a cosine and a score of BM25, whichever route found them
    cosines = dict(index.store.reader().search_dense("raw", vector, len(index)))
    weights = dict(index.store.reader().search_lexical("raw", query, len(index)))
    for row, cosine, weight in zip(
        pool.rows.tolist(), pool.cosine, pool.bm25, strict=True
    ):
        assert cosine == pytest.approx(cosines[row])
        assert weight == pytest.approx(weights.get(row, 0.0))
