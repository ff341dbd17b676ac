"""Two hops without a model: names in the first evidence lead to the second."""

from __future__ import annotations

import asyncio

import pytest
from doubles import HashEmbedder, ScriptedModel

from structrag.errors import InvalidParameter
from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever
from structrag.retrieval.multihop.selfask import SelfAsk
from structrag.retrieval.multihop.twohop import TwoHop, bridge_entities
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


def hit(key: str, text: str = "", rank: int = 1) -> Hit:
    return Hit(Chunk(key, "d", "d#0", 0, len(text), text), 1.0, rank)


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


def test_names_are_those_of_the_first_hits(retriever: MultiViewRetriever) -> None:
    more = MultiViewRetriever(retriever.index, k=3, routes=("bm25",))
    question = "tulips that grow well in a film"
    ranked = [found.chunk.path[-1] for found in more.search(question)]
    assert ranked == ["Gardens", "The Lantern", "Origins"]
    assert TwoHop(more, entity_hits=1).result(question).entities == ()
    assert "Ada Holm" in TwoHop(more).result(question).entities  # the first two
    third = TwoHop(
        more, find_entities=lambda text: ["Origin"] if "grew up" in text else []
    )
    assert third.result(question).entities == ()
    third.entity_hits = None
    assert third.result(question).entities == ("Origin",)
    with pytest.raises(
        InvalidParameter, match="entity_hits must be a number of at least 1"
    ):
        TwoHop(more, entity_hits=0)


def test_sync_is_async_and_the_limit_holds(retriever: MultiViewRetriever) -> None:
    hops = TwoHop(retriever, k=1)
    question = "Who shot The Lantern?"
    assert asyncio.run(hops.asearch(question)) == hops.search(question)
    assert asyncio.run(hops.aresult(question)) == hops.result(question)
    assert len(hops.search(question)) == 1


def test_self_ask_takes_it_as_a_retriever(retriever: MultiViewRetriever) -> None:
    model = ScriptedModel(
        lambda prompt: (
            "Follow up: Who shot The Lantern?"
            if "help of follow-up" in prompt
            else "Ada Holm"
        )
    )
    result = SelfAsk(TwoHop(retriever), model).answer(
        "Where did the maker of The Lantern grow up?"
    )
    assert result.answer == "Ada Holm"
    assert result.trace[0].retrieved.entities == ("Ada Holm",)


def test_names_in_most_hits_come_first_and_those_of_the_question_never() -> None:
    hits = [
        hit("a", "we met Alan Turing and Grace Hopper there, and later Grace Hopper"),
        hit("b", "then came Grace Hopper with John Backus"),
    ]
    assert bridge_entities("what did ALAN  turing do?", hits) == [
        "Grace Hopper",
        "John Backus",
    ]
    assert bridge_entities("who?", hits, 2) == ["Grace Hopper", "Alan Turing"]
    assert bridge_entities("who?", []) == []
    assert bridge_entities(
        "who?", hits, find_entities=lambda text: ["x", " X ", ""]
    ) == ["X"]


def test_at_most_five_names_are_taken_in_order_of_appearance() -> None:
    hits = [hit("a", "a b c d e f"), hit("b", "g f")]
    assert bridge_entities("?", hits, find_entities=str.split) == [*"fabcd"]
    assert bridge_entities("?", hits, 1, str.split) == ["f"]
    assert bridge_entities("a f", hits, 9, str.split) == [*"bcdeg"]


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


def test_bad_input_is_named(retriever: MultiViewRetriever) -> None:
    with pytest.raises(InvalidParameter, match="retriever"):
        TwoHop(None)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="max_entities"):
        TwoHop(retriever, max_entities=0)
    with pytest.raises(InvalidParameter, match="k must"):
        TwoHop(retriever, k=0)


def test_both_run_over_d3(retriever: MultiViewRetriever) -> None:
    index = D3Index(embedder=HashEmbedder())
    index.add(
        [
            read_text(TEXT, id="notes"),
            read_text("# Other\n## Ships\nNothing of this.\n", id="other"),
        ]
    )
    scores = D3Retriever(index, k=2)
    result = TwoHop(scores).result(
        "Who shot the film with the lantern that critics praised?",
        where={"doc_id": "notes"},
    )
    assert result.entities
    assert {"The Lantern", "Origins"} <= {found.chunk.path[-1] for found in result.hits}
    assert result.cost["route"].scored > 0
    model = ScriptedModel(
        lambda prompt: (
            "Follow up: Who shot it?" if "help of follow-up" in prompt else "Ada Holm"
        )
    )
    answered = SelfAsk(scores, model).answer(
        "Who shot The Lantern?", where={"doc_id": "notes"}
    )
    assert (answered.answer, answered.stopped) == ("Ada Holm", "repeated_followup")
    assert set(answered.cost) == {"ask", "answer", "route", "select"}
    assert (
        asyncio.run(
            SelfAsk(scores, model).aanswer(
                "Who shot The Lantern?", where={"doc_id": "notes"}
            )
        )
        == answered
    )
