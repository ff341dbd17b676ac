"""The chunks that are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from phone_making import NAMES, phone_retriever, phones

from structrag import Document, Index
from structrag.index.snapshot import Reader
from structrag.retrieval.hiqa.pool import PoolSource


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
            "raw", HashEmbedder().embed(["How long does the last?"], query=True)[0], len(index)
        )
    )
    own = np.array([rest[row] for row in alone.rows[holds].tolist()])
    assert np.allclose(shift[holds], own - own.mean())


def test_one_chunk_with_the_name_keeps_its_score() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add(
        [
            Document(f"# {name}\n\nMade by Acme.", id=name, title=name, format="markdown")
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
        assert hit.score == pytest.approx(total / (1 + beta * np.log(2)))  # one keyword is asked
    assert len(embedder.queries) == 1
    both = [hit.score for hit in phone_retriever(index).search(query, 10)]
    assert both != pytest.approx([hit.score for hit in hits])
    again = phone_retriever(index, preset="paper", compare_rest=True).search(query, 10)
    assert [hit.score for hit in again] == pytest.approx(both)
