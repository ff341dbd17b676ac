"""A tree index: an index with nodes, changed, priced, saved and loaded as any other."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from doubles import HashEmbedder, HostStore
from samples import manual, topics

from structrag import Document, Index, MultiViewRetriever
from structrag.errors import IndexDamaged, InvalidParameter
from structrag.retrieval.tree.index import TreeIndex

LONG = Document(
    "# A\n\n" + "The pump is blue. " * 80 + "\n\n## B\n\n" + "The valve is red. " * 80,
    id="long",
    format="markdown",
)


def facts(index: TreeIndex) -> list[object]:
    return [[(chunk.id, chunk.extras) for chunk in index.nodes()], index.chunks()]


def test_it_is_an_index_with_nodes() -> None:
    index = TreeIndex()
    plain = Index(views=["raw"])
    for one in (index, plain):
        one.add([manual(), topics()])
    assert index.chunks() == plain.chunks() and index.views == ("raw",)
    query = "How is the filter cleaned?"
    assert index.search(query) == plain.search(query)
    assert MultiViewRetriever(index).search(query) == MultiViewRetriever(plain).search(
        query
    )
    assert index.nodes(manual().id) and index.nodes() == [
        *index.nodes(manual().id),
        *index.nodes(topics().id),
    ]


@pytest.mark.parametrize("embedder", [None, HashEmbedder()])
def test_any_history_gives_the_index_made_afresh(embedder: HashEmbedder | None) -> None:
    index = TreeIndex(embedder=embedder)
    index.add(
        [replace(manual(), text=manual().text + "\n\n# New\n\nMore.\n"), topics()]
    )
    index.add([manual(), LONG])
    assert index.add([manual(), topics(), LONG]).unchanged == 3
    assert index.delete("long") and not index.delete("long")
    fresh = TreeIndex(embedder=embedder)
    fresh.add([manual(), topics()])
    assert facts(index) == facts(fresh)


def test_saved_and_loaded_with_its_settings(tmp_path: Path) -> None:
    index = TreeIndex(fan_out=3, summary_tokens=20)
    index.add([manual(), LONG])
    index.save(tmp_path / "tree")
    loaded = TreeIndex.load(tmp_path / "tree")
    assert facts(loaded) == facts(index) and loaded.tree_settings == index.tree_settings
    assert loaded.add([manual(), LONG]).unchanged == 2
    with pytest.raises(InvalidParameter, match="fan_out"):
        TreeIndex.load(tmp_path / "tree", fan_out=4)
    plain = Index(views=["raw"])
    plain.add([manual()])
    plain.save(tmp_path / "plain")
    with pytest.raises(IndexDamaged, match=r"TreeIndex\.save"):
        TreeIndex.load(tmp_path / "plain")


def test_settings_of_the_tree_decide_the_entry() -> None:
    assert TreeIndex().fingerprint(LONG) != TreeIndex(fan_out=5).fingerprint(LONG)
    with pytest.raises(InvalidParameter, match="fan_out"):
        TreeIndex(fan_out=1)
    with pytest.raises(InvalidParameter, match="summary_prompt"):
        TreeIndex(summary_prompt="Summarise.")


def test_an_estimate_is_what_adding_costs() -> None:
    long_answer = "The parts of it are blue and red. " * 30
    for views in (["raw"], ["raw", "keywords"]):
        index = TreeIndex(
            embedder=HashEmbedder(), llm=lambda prompt: long_answer, views=views
        )
        total = index.estimate([manual(), LONG]).total
        report = index.add([manual(), LONG])
        assert total.calls == report.usage["calls"] > 0
        assert total.embedded == pytest.approx(report.usage["embedded"], abs=1)


def test_a_failed_call_is_made_again_and_others_are_not() -> None:
    asked: list[str] = []
    fails = [True]

    def answer(prompt: str) -> str:
        asked.append(prompt)
        if fails[0] and "Title: A > B" in prompt:
            raise TimeoutError("no answer")
        return "All of it."

    index = TreeIndex(llm=answer)
    report = index.add([LONG])
    assert report.usage["fallbacks"] == {"chunks": 1}
    assert [node.extras["summary"] == "All of it." for node in index.nodes()].count(
        False
    ) == 1
    asked.clear()
    fails[0] = False
    assert index.add([LONG]).replaced == 1
    assert {node.extras["summary"] for node in index.nodes()} == {"All of it."}
    assert len(asked) < len(index.nodes()) + 1
    assert index.add([LONG]).unchanged == 1


def test_a_hosts_store_keeps_the_chunks_vectors_alone() -> None:
    store = HostStore(wants_vectors=True)
    index = TreeIndex(embedder=HashEmbedder(), dense_store=store)
    index.add([manual()])
    _, nodes = index.readers()
    assert nodes.dense("raw").search(HashEmbedder().vector("filter"), 1)


def test_async_adds_the_same() -> None:
    index, other = TreeIndex(), TreeIndex()
    asyncio.run(index.aadd([manual(), LONG]))
    other.add([manual(), LONG])
    assert facts(index) == facts(other)
