"""Words are found however they are written, by every retriever."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag import (
    D3Index,
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    Index,
    MultiViewRetriever,
    read_text,
)


def evidence(documents: Any) -> EvidenceRetriever:
    return EvidenceRetriever.from_documents(documents)


def multiview(documents: Any) -> MultiViewRetriever:
    index = Index()
    index.add(documents)
    return MultiViewRetriever(index)


def hiqa(documents: Any) -> HiQARetriever:
    index = Index()
    index.add(documents)
    return HiQARetriever(index, detect_keywords=False)


def d3(documents: Any) -> D3Retriever:
    index = D3Index()
    index.add(documents)
    return D3Retriever(index)


@pytest.mark.parametrize("made", [evidence, multiview, hiqa, d3])
@examples
def test_each_question_finds_its_text(made: Any, pairs: dict[str, str]) -> None:
    documents = [read_text(text, id=text, format="text") for text in pairs.values()]
    retriever = made(documents)
    found = {question: retriever.search(question, 1)[0] for question in pairs}
    assert {question: hit.chunk.doc_id for question, hit in found.items()} == pairs
    assert all(hit.score > 0 for hit in found.values())


def test_what_matches_is_shown_where_it_stands() -> None:
    text = "Die Hoch\u00addruck\u00adpumpe CB\u2011300 im Cafe\u0301 von \u732b\u5496 schreibt C++."
    retriever = evidence([read_text(text, id="d", format="text")])
    question = "Hochdruckpumpe cb300 caf\u00e9 \u732b C C++"
    hits = retriever.search(question, 1)
    (sentence,) = retriever.explain(question, hits)[0]
    assert [(one.word, text[one.start : one.end]) for one in sentence.words] == [
        ("Hochdruckpumpe", "Hoch\u00addruck\u00adpumpe"),
        ("cb300", "CB\u2011300"),
        ("caf\u00e9", "Cafe\u0301"),
        ("\u732b", "\u732b"),
        ("C", ""),
        ("C++", "C++"),
    ]
