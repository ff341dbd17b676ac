"""Hits of the page."""

from __future__ import annotations

from typing import Any

import pytest
from doubles import HashTokens
from view_making import MANUAL, manual, splitters

from structrag import ContentAwareSplitter, PICSplitter, read_text
from structrag.chunks.fixed import FixedSplitter
from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.errors import InvalidParameter
from structrag.evaluation.searched import Passages
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.show.view import gather


@pytest.mark.parametrize("name", ["content_aware", "hiqa"])
def test_shares_of_the_routes_add_up_to_the_score(name: str) -> None:
    splitter = {
        "content_aware": ContentAwareSplitter(max_tokens=60),
        "hiqa": HiQASplitter(max_tokens=60),
    }[name]
    data = gather([manual()], {name: splitter}, query="dry filter 7", k=4)
    (search,) = data["searches"]
    assert len(search["hits"]) == 4
    for hit in search["hits"]:
        assert sum(hit["shares"]) == pytest.approx(hit["score"])
        assert all(
            share == 0
            for share, rank in zip(hit["shares"], hit["ranks"], strict=True)
            if rank is None
        )
    retriever = {"content_aware": MultiViewRetriever, "hiqa": HiQARetriever}[name]
    assert search["retriever"] == retriever.__name__


def test_hits_are_those_of_the_retriever() -> None:
    from structrag import Index

    documents = [manual(), read_text("# Tap\n\nThe tap drips.\n", id="tap")]
    (search,) = gather(documents, splitters(), query="the tap drips", k=3)["searches"]
    index = Index(splitter=ContentAwareSplitter(max_tokens=60))
    index.add(documents)
    expected = MultiViewRetriever(index, k=3).search("the tap drips")
    assert [hit["score"] for hit in search["hits"]] == pytest.approx(
        [hit.score for hit in expected]
    )
    assert (search["hits"][0]["document"], search["hits"][0]["chunk"]) == (1, 0)


def test_an_empty_document_can_be_shown_and_searched() -> None:
    data = gather(
        [read_text("", id="empty")],
        {"fixed": FixedSplitter(), "pic": PICSplitter()},
        query="water",
    )
    assert [split["chunks"] for split in data["documents"][0]["splits"]] == [[], []]
    assert [search["hits"] for search in data["searches"]] == [[], []]


@pytest.mark.parametrize("embedder", [None, HashTokens()], ids=["lsa", "tokens"])
def test_passages_say_what_matches_the_question_word_by_word(embedder: Any) -> None:
    tap = read_text("The tap drips.", id="tap")
    methods = splitters(evidence=Passages())
    query = "How do I dry the filter 7?"
    data = gather([tap, manual()], methods, query=query, k=3, embedder=embedder)
    search = data["searches"][1]
    assert search["retriever"] == "EvidenceRetriever" and len(search["hits"]) == 3
    best = search["hits"][0]
    assert sum(best["shares"]) == pytest.approx(best["score"]) and best["ranks"] is None
    chunk = data["documents"][best["document"]]["splits"][1]["chunks"][best["chunk"]]
    assert MANUAL[chunk["start"] : chunk["end"]].startswith("Rinse filter 7")
    words = {}
    for sentence in best["sentences"]:
        assert chunk["start"] <= sentence["start"] < sentence["end"] <= chunk["end"]
        for word in sentence["words"]:
            if word["similarity"] > 0.9:
                words[word["word"]] = MANUAL[word["start"] : word["end"]]
    assert words == {"dry": "Dry", "filter": "filter", "7": "7"}


def test_passages_need_a_question() -> None:
    with pytest.raises(
        InvalidParameter, match="evidence finds passages for a question"
    ):
        gather([manual()], splitters(evidence=Passages()))
