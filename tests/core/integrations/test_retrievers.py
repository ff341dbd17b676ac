"""Another framework's retriever as one of the core."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.errors import (
    BudgetExceeded,
    InvalidParameter,
    ModelFailed,
    UnknownDocument,
)
from structrag.integrations.retrievers import (
    HostRetriever,
    chosen_embedding,
    lost_retriever,
    passage,
    resolve_aliases,
    results_of,
    warn_of_chunks,
)
from structrag.records import Chunk, Hit
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
        id=str(start),
        doc_id="d",
        section_id="",
        start=start,
        end=start + len(text),
        text=text,
    )


def hosted() -> HostRetriever:
    return HostRetriever("Words", found, afound, chunk_of)


async def test_two_hops_go_over_it_both_ways() -> None:
    hops = TwoHop(hosted())
    hits = hops.search("who made the X100")
    assert [hit.chunk.id for hit in hits] == ["0", "1"]
    assert await hops.asearch("who made the X100") == hits


def test_a_condition_on_documents_is_refused() -> None:
    with pytest.raises(InvalidParameter, match="where must be None with a Words"):
        TwoHop(hosted()).search("X100", where={"year": 2020})


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


def test_chunks_are_noticed() -> None:
    with pytest.warns(UserWarning, match="pass whole documents"):
        warn_of_chunks([False, True])
    warn_of_chunks([False])


def test_two_names_for_one_argument() -> None:
    names = {"k": "similarity_top_k"}
    assert resolve_aliases({"similarity_top_k": 3}, names) == resolve_aliases(
        {"k": 3}, names
    )
    with pytest.raises(
        InvalidParameter, match="similarity_top_k and k mean the same; got both"
    ):
        resolve_aliases({"k": 3, "similarity_top_k": 3}, names)


def test_hits_of_documents_that_are_gone_are_left_out() -> None:
    def text_of(hit: Hit) -> str:
        if hit.chunk.start == 1:
            raise UnknownDocument("doc_id must be a document of the store; 'd' is not.")
        return hit.chunk.text

    hits = [Hit(chunk_of(text), 1.0, rank) for rank, text in enumerate(TEXTS, start=1)]
    assert list(results_of(hits, text_of)) == [TEXTS[0], TEXTS[2]]


@examples
def test_at_most_k_results_are_hits(k: int | None, count: int) -> None:
    host = hosted()
    assert len(host.runner.run(host.flow("X100 Zeta", k))) == count


@examples
def test_where_a_model_fails_it_is_said_what_is_left(
    cache: str | None, rest: str
) -> None:
    for kind in (BudgetExceeded, ModelFailed):
        with (
            pytest.raises(kind) as failure,
            lost_retriever("from_documents", "add_documents", cache),
        ):
            raise kind("It is down.") from OSError("no server")
        sentence = str(failure.value)
        assert sentence.startswith(
            "It is down. But from_documents returned no retriever"
        )
        assert rest in sentence and "pass them to its add_documents." in sentence
        assert isinstance(failure.value.__cause__, OSError)
    with (
        pytest.raises(InvalidParameter, match=r"^other$"),
        lost_retriever("from_documents", "add_documents", cache),
    ):
        raise InvalidParameter("other")


@pytest.mark.parametrize("documents", [[], (), {}])
def test_no_collection_is_a_model(documents: object) -> None:
    with pytest.raises(InvalidParameter, match=r"embedding must be .* swapped"):
        chosen_embedding("embedding", documents)


def test_names_that_are_not_there_rename_nothing() -> None:
    names = {"k": "similarity_top_k", "top": "similarity_top_k"}
    assert resolve_aliases({"top": 3, "views": ["raw"]}, names) == {
        "similarity_top_k": 3,
        "views": ["raw"],
    }
    assert resolve_aliases({}, names) == {}
