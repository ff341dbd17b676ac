"""Two hops without a model: names in the first evidence lead to the second."""

from __future__ import annotations

import asyncio

import pytest
from doubles import HashEmbedder

from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.retrieval.d3.selection import StageCost
from structrag.retrieval.multihop.agents import TwoHop
from structrag.retrieval.multiview import MultiViewRetriever

TEXT = """# Notes
## The Lantern
The film The Lantern was shot by the crew of Ada Holm and praised by critics.
## Gardens
Tulips grow well in sandy soil and need little water.
## Origins
Ada Holm grew up in a harbour town.
## Kitchens
Copper pots keep their heat.
"""


@pytest.fixture
def retriever() -> MultiViewRetriever:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add([read_text(TEXT, id="notes")])
    return MultiViewRetriever(index, k=1, routes=("bm25",))


def test_the_second_hop_finds_what_the_question_does_not_name(
    retriever: MultiViewRetriever,
) -> None:
    question = "Who shot the film with the lantern that critics praised?"
    assert [found.chunk.path[-1] for found in retriever.search(question, 1)] == [
        "The Lantern"
    ]
    result = TwoHop(MultiViewRetriever(retriever.index, k=2, routes=("bm25",))).result(
        question
    )
    assert "Ada Holm" in result.entities
    assert "Origins" in [found.chunk.path[-1] for found in result.hits[:3]]
    assert [found.rank for found in result.hits] == list(range(1, len(result.hits) + 1))
    assert len({found.chunk.id for found in result.hits}) == len(result.hits)


def test_without_a_new_name_there_is_one_hop(retriever: MultiViewRetriever) -> None:
    result = TwoHop(retriever).result("How do copper pots behave?")
    assert result.entities == ()
    assert [found.chunk.id for found in result.hits] == [
        f.chunk.id for f in retriever.search("How do copper pots behave?")
    ]


def test_sync_is_async_and_the_limit_holds(retriever: MultiViewRetriever) -> None:
    hops = TwoHop(retriever, k=1)
    question = "Who shot The Lantern?"
    assert asyncio.run(hops.asearch(question)) == hops.search(question)
    assert asyncio.run(hops.aresult(question)) == hops.result(question)
    assert len(hops.search(question)) == 1


def test_a_number_of_hits_holds_for_its_search(retriever: MultiViewRetriever) -> None:
    two = MultiViewRetriever(retriever.index, k=2, routes=("bm25",))
    question = "Who shot The Lantern?"
    hops = TwoHop(two, k=1)
    assert [len(hops.search(question, k)) for k in (None, 1, 2, 3)] == [1, 1, 2, 3]
    everything = TwoHop(two).result(question)
    assert [one.chunk.id for one in hops.search(question, 3)] == [
        one.chunk.id for one in everything.hits[:3]
    ]
    assert everything.cost == {} and everything.total == StageCost()
