"""Another framework's retriever as one of the core."""

from __future__ import annotations

import pytest

from structrag.errors import InvalidParameter
from structrag.hosts.retrievers import HostRetriever
from structrag.records import Chunk
from structrag.retrieval.multihop.twohop import TwoHop

TEXTS = [
    "The X100 is made by Acme Works.",
    "Acme Works was founded by Jane Doe.",
    "Zeta makes lamps.",
]


def found(question: str) -> list[str]:
    return [
        text
        for text in TEXTS
        if any(word in text for word in question.split() if word[0].isupper())
    ]


async def afound(question: str) -> list[str]:
    return found(question)


def chunk_of(text: str) -> Chunk:
    start = TEXTS.index(text)
    return Chunk(
        id=str(start), doc_id="d", section_id="", start=start, end=start + len(text), text=text
    )


def hosted() -> HostRetriever:
    return HostRetriever("Words", found, afound, chunk_of)


def test_results_are_hits_in_the_order_they_came() -> None:
    host = hosted()
    hits = host.runner.run(host.steps("X100 Zeta"))
    assert [(hit.chunk.id, hit.rank, hit.score) for hit in hits] == [("0", 1, 1.0), ("2", 2, 0.5)]


async def test_two_hops_go_over_it_both_ways() -> None:
    hops = TwoHop(hosted())
    hits = hops.search("who made the X100")
    assert [hit.chunk.id for hit in hits] == ["0", "1"]
    assert await hops.asearch("who made the X100") == hits


def test_a_condition_on_documents_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="where must be None with a Words"):
        TwoHop(hosted()).search("X100", where={"year": 2020})
