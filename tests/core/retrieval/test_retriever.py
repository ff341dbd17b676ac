"""One interface for all retrievers: one function takes any of them, both ways, with k and where."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from doubles import HashEmbedder

from structrag import (
    D3Index,
    D3Retriever,
    HiQARetriever,
    Index,
    MultiViewRetriever,
    Retriever,
    read_text,
)
from structrag.errors import InvalidParameter
from structrag.records import Hit
from structrag.retrieval import Routing, Selection
from structrag.retrieval.retriever import check_retriever

SECTIONS = "".join(
    f"## {colour.title()} pump\nThe {colour} pump leaks {often} and costs {price} euros.\n"
    for colour, often, price in [
        ("blue", "never", 400),
        ("red", "often", 90),
        ("green", "rarely", 250),
        ("black", "daily", 20),
    ]
)
DOCUMENTS = [
    read_text(f"# {place}\n{SECTIONS}", id=place, format="markdown")
    for place in ("Bonn", "Kiel")
]
QUESTION = "Which pump leaks daily?"


def index() -> Index:
    made = Index(embedder=HashEmbedder(), views=("raw", "keywords"))
    made.add(DOCUMENTS)
    return made


def d3_index() -> D3Index:
    made = D3Index(embedder=HashEmbedder())
    made.add(DOCUMENTS)
    return made


MAKERS: dict[str, Callable[[], Retriever]] = {
    "multiview": lambda: MultiViewRetriever(index(), k=3),
    "hiqa": lambda: HiQARetriever(index(), k=3),
    "d3": lambda: D3Retriever(d3_index(), k=3),
    "d3 scoring": lambda: D3Retriever(
        d3_index(),
        k=3,
        routing=Routing(share=1),
        selection=Selection(strategy="lexical", threshold=0.0),
    ),
}


@pytest.fixture(params=MAKERS)
def retriever(request: pytest.FixtureRequest) -> Retriever:
    return MAKERS[request.param]()


def searched(retriever: Retriever, k: int | None, where: Any) -> list[Hit]:
    """The hits, which are the same at once, on an event loop, and as steps."""
    hits = retriever.search(QUESTION, k, where=where)
    assert asyncio.run(retriever.asearch(QUESTION, k, where=where)) == hits
    assert retriever.run(retriever.flow(QUESTION, k, where=where)) == hits
    return hits


def test_k_and_where_hold_for_every_retriever(retriever: Retriever) -> None:
    assert isinstance(retriever, Retriever)
    assert len(searched(retriever, None, None)) == 3
    assert [len(searched(retriever, k, None)) for k in (1, 2)] == [1, 2]
    kiel = searched(retriever, 2, {"doc_id": "Kiel"})
    assert {hit.chunk.doc_id for hit in kiel} == {"Kiel"}


@pytest.mark.parametrize("k", [0, -1, 1.5, float("inf")])
def test_a_k_that_is_no_whole_number_is_refused(retriever: Retriever, k: float) -> None:
    with pytest.raises(InvalidParameter, match="k must be"):
        retriever.search(QUESTION, k)


def test_what_is_no_retriever_is_refused() -> None:
    with pytest.raises(
        InvalidParameter, match=r"retriever must be a Retriever, .* got Index"
    ):
        check_retriever(index())


@pytest.mark.parametrize(
    ("retriever", "kind"),
    [
        (MultiViewRetriever, Index),
        (HiQARetriever, Index),
        (D3Retriever, D3Index),
    ],
)
def test_an_index_of_another_kind_is_refused(retriever: Any, kind: type) -> None:
    others = [None, D3Index() if kind is not D3Index else Index()]
    for index in others:
        message = (
            f"index must be a structrag {kind.__name__}; got {type(index).__name__}"
        )
        with pytest.raises(InvalidParameter, match=message):
            retriever(index)
