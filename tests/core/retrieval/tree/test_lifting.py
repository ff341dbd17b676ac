"""What summaries add to the scores of chunks."""

from __future__ import annotations

import pytest
from doubles import HashEmbedder

from structrag import Document, Hit
from structrag.asking.runner import Runner
from structrag.records import Chunk
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.lifting import lifted, node_score_steps
from structrag.retrieval.tree.shape import Place

HIT = Hit(
    Chunk("d:0-1", "d", "d#0", 0, 1, "a"),
    0.8,
    1,
    parts={"dense:raw": 0.5, "bm25:raw": 0.3},
)
ABOVE = [Place(4, 10, 2, True), Place(0, 20, 2, True)]


def test_the_mean_of_all_above_is_added() -> None:
    hit = lifted(HIT, ABOVE, {4: 1.0, 9: 1.0}, 1.0)
    assert hit.score == pytest.approx((0.8 + 0.5) / 2)
    assert sum(hit.parts.values()) == pytest.approx(hit.score)
    assert hit.scores["levels"] == 0.5


def test_each_part_is_divided_by_all_weights() -> None:
    hit = lifted(HIT, ABOVE, {4: 0.5, 0: 1.0}, 0.25)
    assert hit.parts == pytest.approx(
        {"dense:raw": 0.4, "bm25:raw": 0.24, "levels": 0.15}
    )
    assert (hit.scores["levels"], hit.rank) == (0.75, 1)
    alone = lifted(HIT, [], {4: 1.0}, 0.25)
    assert (alone.parts["levels"], alone.scores["levels"]) == (0.0, 0.0)


def test_without_anything_above_the_own_share_stays() -> None:
    assert lifted(HIT, [], {4: 1.0}, 0.25).score == pytest.approx(0.8 / 1.25)
    assert lifted(HIT, ABOVE, {4: 1.0}, 0.0).score == 0.8


def test_nodes_are_scored_by_their_summaries_within_the_condition() -> None:
    index = TreeIndex(embedder=HashEmbedder(256))
    text = (
        "# Top\n\n## {0}\n\n{0} one.\n\n### Part\n\n{0} two.\n\n## Other\n\nNothing.\n"
    )
    index.add(
        [Document(text.format(w), id=w, format="markdown") for w in ("pump", "valve")]
    )
    _, nodes = index.readers()
    runner = Runner(embedder=index.embedder)
    scores = runner.run(node_score_steps(nodes, "pump", ("dense", "bm25")))
    assert max(scores, key=lambda row: scores[row]) in nodes.rows_of("pump")
    assert all(0 <= score <= 1 for score in scores.values())
    dense, bm25 = (
        runner.run(node_score_steps(nodes, "pump", (route,)))
        for route in ("dense", "bm25")
    )
    assert max(dense.values()) == max(bm25.values()) == 1.0
    for row in nodes.rows_of("pump"):
        assert scores[row] == pytest.approx(
            (dense.get(row, 0.0) + bm25.get(row, 0.0)) / 2
        )
    assert set(scores) == {*dense, *bm25}
    # By vectors all nodes have a place, the last one that of 0; by words those that have one.
    assert set(dense) == {*nodes.rows_of("pump"), *nodes.rows_of("valve")}
    assert set(bm25) == set(nodes.rows_of("pump"))
    assert min(dense.values()) == 0.0
    words = runner.run(node_score_steps(nodes, "pump nothing", ("bm25",)))
    # The lowest that words find keeps its share of the highest.
    assert 0.3 < min(words.values()) < 0.4 and max(words.values()) == 1.0
    inside = runner.run(node_score_steps(nodes, "pump", ("bm25",), {"doc_id": "valve"}))
    assert not set(inside) - set(nodes.rows_of("valve"))
