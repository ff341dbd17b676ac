"""Another framework's retriever as one of the core."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.errors import (
    InvalidParameter,
)
from structrag.integrations.arguments import chosen_embedding
from structrag.integrations.retrievers import HostRetriever, passage
from structrag.records import Chunk

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
        id=str(start),
        doc_id="d",
        section_id="",
        start=start,
        end=start + len(text),
        text=text,
    )


def hosted() -> HostRetriever:
    return HostRetriever("Words", found, afound, chunk_of)


async def test_it_is_searched_both_ways() -> None:
    hits = hosted().search("who made the X100")
    assert [hit.chunk.id for hit in hits][:1] == ["0"]
    assert await hosted().asearch("who made the X100") == hits


def test_a_condition_on_documents_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="where must be None with a Words"):
        hosted().search("X100", where={"year": 2020})


@examples
def test_a_passage_of_a_host(start, path, context, span, titles) -> None:
    chunk = passage("c", "d", "text", start=start, path=path, extras={"n": 1})
    assert (chunk.context, chunk.span[1:], chunk.path) == (context, span, titles)
    assert (chunk.id, chunk.doc_id, chunk.extras) == ("c", "d", {"n": 1})


def test_documents_in_the_place_of_the_model_are_noticed() -> None:
    with pytest.raises(
        InvalidParameter, match=r"embedding must be .* got list\. Are the"
    ):
        chosen_embedding("embedding", ["a document"])


@pytest.mark.parametrize("documents", [[], (), {}])
def test_no_collection_is_a_model(documents: object) -> None:
    with pytest.raises(InvalidParameter, match=r"embedding must be .* swapped"):
        chosen_embedding("embedding", documents)
