"""D3 by the best sentences of sections and paragraphs."""

from __future__ import annotations

from typing import Any

import pytest
from doubles import HashEmbedder, HashTokens

from structrag import D3Index, D3Retriever, Document, EvidenceRetriever, read_text
from structrag.errors import InvalidParameter

FILLER = (
    "Nothing of interest happens in this long paragraph about weather and trains. " * 12
)
TEXT = f"""Opening words.

# Birds

{FILLER} The heron eats frogs. {FILLER}

The owl hunts mice.

# Engines

The engine burns diesel.

| part | weight |
|---|---|
| piston | 3 kg |

{FILLER}
"""
OTHER = "# Fish\n\nThe pike eats small fish.\n"
DOCUMENTS = [
    read_text(TEXT, format="markdown", id="report"),
    read_text(OTHER, format="markdown", id="other"),
]


@pytest.fixture(scope="module", params=[None, "tokens", "vectors"])
def evidence(request: Any) -> EvidenceRetriever:
    embedding = {None: None, "tokens": HashTokens(), "vectors": HashEmbedder()}[
        request.param
    ]
    return EvidenceRetriever.from_documents(DOCUMENTS, embedding)


@pytest.fixture(scope="module")
def index() -> D3Index:
    made = D3Index(embedder=HashEmbedder())
    made.add(DOCUMENTS)
    return made


@pytest.mark.parametrize("how", ["sync", "async"])
async def test_without_a_model_sections_and_paragraphs_are_found_by_sentences(
    index: D3Index, evidence: EvidenceRetriever, how: str
) -> None:
    retriever = D3Retriever(index, evidence=evidence, k=1)
    assert (retriever.router, retriever.strategy) == ("evidence", "evidence")
    question = "What does the heron eat?"
    result = (
        retriever.result(question)
        if how == "sync"
        else await retriever.aresult(question)
    )
    assert result.route.how == "evidence"
    assert [hit.chunk.path for hit in result.hits] == [("Birds",)]
    assert "heron" in result.hits[0].chunk.text and result.hits[0].score == 1.0
    only = retriever.search("What does the pike eat?", where={"doc_id": "other"})
    assert {hit.chunk.doc_id for hit in only} == {"other"}
    assert retriever.search("  ") == []


def test_evidence_must_be_there_and_hold_the_documents(index: D3Index) -> None:
    for options in ({"router": "evidence"}, {"strategy": "evidence"}):
        with pytest.raises(InvalidParameter, match="evidence must be passed"):
            D3Retriever(index, **options)  # type: ignore[arg-type]
    with pytest.raises(InvalidParameter, match="evidence must be an EvidenceRetriever"):
        D3Retriever(index, evidence="mine")  # type: ignore[arg-type]
    other = EvidenceRetriever.from_documents([Document("Cats.", id="report")])
    with pytest.raises(InvalidParameter, match="lacks 'other'"):
        D3Retriever(index, evidence=other).search("cats")
