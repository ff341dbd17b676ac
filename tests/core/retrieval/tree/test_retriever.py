"""Search in a tree: flat, over all levels, merged upward, walked down; always exact slices."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from doubles import HashEmbedder
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import manual, topics

from structrag import (
    ContentAwareSplitter,
    Document,
    Index,
    MultiViewRetriever,
    read_text,
)
from structrag.errors import InvalidParameter
from structrag.retrieval.retriever import Retriever
from structrag.retrieval.tree.index import TreeIndex
from structrag.retrieval.tree.retriever import TreeRetriever

TEXT = (
    "# Garden\n\nAll about gardens.\n\n"
    "## Pump\n\nAbout it.\n\n### Filter\n\nThe pump filter is rinsed.\n\n"
    "### Motor\n\nThe pump motor is oiled.\n\n### Colour\n\nBlue.\n\n"
    "## Trees\n\nApples.\n\n### Plums\n\nPlums are sweet.\n\n"
)
GARDEN = Document(TEXT, id="garden", format="markdown")
DOCUMENTS = [GARDEN, manual(), topics()]


def made(**options: Any) -> TreeIndex:
    index = TreeIndex(splitter=ContentAwareSplitter(max_tokens=100), **options)
    index.add(DOCUMENTS)
    return index


INDEX = made()
QUERY = "Which part of the pump is oiled, and which filter is rinsed?"
TEXTS = {document.id: document.text for document in DOCUMENTS}


@given(
    query=st.sampled_from([QUERY, "plums", "How is the filter cleaned?", "zzz"]),
    k=st.integers(1, 8),
    max_tokens=st.none() | st.integers(1, 400),
    levels=st.booleans(),
    share=st.none() | st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(max_examples=40)
def test_hits_are_slices_that_do_not_overlap_within_the_limits(
    query: str, k: int, max_tokens: int | None, levels: bool, share: float | None
) -> None:
    retriever = TreeRetriever(
        INDEX, k=k, max_tokens=max_tokens, levels=levels, merge_share=share
    )
    hits = retriever.search(query)
    assert 1 <= len(hits) <= k and [hit.rank for hit in hits] == list(
        range(1, len(hits) + 1)
    )
    places = set()
    for hit in hits:
        chunk = hit.chunk
        assert TEXTS[chunk.doc_id][chunk.start : chunk.end] == chunk.text
        characters = {(chunk.doc_id, i) for i in range(chunk.start, chunk.end)}
        assert not places & characters
        places |= characters
        assert 0 <= hit.score <= 1
        assert sum(hit.parts.values()) == pytest.approx(hit.score) or not hit.routes
    assert [hit.score for hit in hits] == sorted(
        (hit.score for hit in hits), reverse=True
    )
    if max_tokens is not None and len(hits) > 1:
        assert sum(hit.chunk.n_tokens for hit in hits) <= max_tokens


def test_without_levels_and_merging_it_is_the_flat_search() -> None:
    flat = TreeRetriever(INDEX, levels=False, merge_share=None, k=4).search(QUERY)
    plain = MultiViewRetriever(INDEX, k=4).search(QUERY)
    assert [(h.chunk.id, h.score, h.parts) for h in flat] == [
        (h.chunk.id, h.score, h.parts) for h in plain
    ]


def test_a_section_comes_in_the_place_of_its_chunks_with_its_summary() -> None:
    retriever = TreeRetriever(INDEX, k=2, levels=False, merge_share=0.4)
    (hit,) = retriever.search(QUERY, where={"doc_id": "garden"})
    assert hit.chunk.path == ("Garden", "Pump") and hit.chunk.text.startswith("## Pump")
    assert (
        len(hit.chunk.extras["merged"]) == 2 and "filter" in hit.chunk.extras["summary"]
    )
    (single,) = TreeRetriever(INDEX, k=1, merge_share=None).search(QUERY)
    assert "merged" not in single.chunk.extras


def test_a_section_of_a_page_has_its_place_in_the_markup() -> None:
    markup = (
        "<h1>Garden</h1><p>All about it.</p><h2>Pump</h2><p>About it.</p>"
        "<h3>Filter</h3><p>The pump filter is <b>rinsed</b>.</p>"
        "<h3>Motor</h3><p>The pump motor is oiled.</p><h2>Trees</h2><p>Apples.</p>"
    )
    index = TreeIndex(splitter=ContentAwareSplitter(max_tokens=20))
    index.add([read_text(markup, id="page", format="html")])
    retriever = TreeRetriever(index, k=2, levels=False, merge_share=0.4)
    (hit,) = retriever.search("Which pump filter and motor is rinsed, oiled?")
    extras = hit.chunk.extras
    assert hit.chunk.path == ("Garden", "Pump")
    place = markup[extras["source_start"] : extras["source_end"]]
    assert "Filter" in place and place.removesuffix("</p>").endswith(
        "The pump motor is oiled."
    )
    assert extras["views_hit"] == ["raw"] and "children" not in extras
    assert len(extras["merged"]) == 2 and hit.rank == 1


def test_of_many_tokens_the_first_hit_is_always_taken() -> None:
    (hit,) = TreeRetriever(INDEX, max_tokens=1).search(QUERY)
    (best,) = TreeRetriever(INDEX, k=1, merge_share=None).search(QUERY)
    assert hit.chunk.id == best.chunk.id and hit.chunk.n_tokens > 1


def test_a_hit_has_the_mean_of_what_is_above_it() -> None:
    retriever = TreeRetriever(INDEX, k=50, merge_share=None, level_weight=0.25)
    flat = TreeRetriever(INDEX, k=50, merge_share=None, levels=False)
    scores = {hit.chunk.id: hit.score for hit in flat.search(QUERY)}
    for hit in retriever.search(QUERY):
        mean = hit.scores["levels"]
        expected = (scores[hit.chunk.id] + 0.25 * mean) / 1.25
        assert hit.score == pytest.approx(expected)
    weightless = TreeRetriever(INDEX, k=50, merge_share=None, level_weight=0)
    assert [hit.chunk.id for hit in weightless.search(QUERY)] == list(scores)


def test_levels_raise_what_is_below_a_fitting_summary() -> None:
    query = "About it: the pump motor, filter"

    def score(title: str, **options: Any) -> float:
        retriever = TreeRetriever(INDEX, k=50, merge_share=None, **options)
        hits = retriever.search(query, where={"doc_id": "garden"})
        return next(hit.score for hit in hits if hit.chunk.path[-1:] == (title,))

    flat = score("Colour", levels=False) - score("Plums", levels=False)
    assert score("Colour", level_weight=1.0) - score("Plums", level_weight=1.0) > flat


def test_what_a_model_walks_to_comes_first() -> None:
    def answer(prompt: str) -> str:
        titles = [line for line in prompt.splitlines() if line.startswith("[")]
        chosen = [t for t in titles if t.endswith(("] garden", "] Trees"))]
        return chosen[0].partition(" ")[0] if chosen else "none"

    retriever = TreeRetriever(INDEX, k=3, llm=answer, merge_share=None)
    hits = retriever.search(QUERY)
    assert [hit.chunk.path[1:2] for hit in hits[:2]] == [("Trees",), ("Trees",)]
    assert hits[0].chunk.extras["walk"] == ["garden", "Trees"]
    silent = TreeRetriever(INDEX, k=3, llm=lambda prompt: "", merge_share=None).search(
        QUERY
    )
    assert silent[0].chunk.extras["failure"] and silent[0].chunk.extras["walk"] == []
    flat = TreeRetriever(INDEX, k=3, merge_share=None).search(QUERY)
    assert [hit.chunk.id for hit in silent] == [hit.chunk.id for hit in flat]


def test_the_question_is_embedded_once() -> None:
    embedder = HashEmbedder()
    index = made(embedder=embedder)
    TreeRetriever(index).search(QUERY)
    assert embedder.queries == [QUERY]


def test_async_finds_the_same_and_it_is_a_retriever() -> None:
    retriever = TreeRetriever(INDEX)
    assert isinstance(retriever, Retriever)
    assert asyncio.run(retriever.asearch(QUERY, 3)) == retriever.search(QUERY, 3)


def test_nothing_is_found_for_nothing() -> None:
    assert TreeRetriever(INDEX).search("  ") == []
    assert TreeRetriever(TreeIndex()).search(QUERY) == []


@pytest.mark.parametrize(
    ("name", "value"),
    [("k", 0), ("k", 1.5), ("max_tokens", 0), ("merge_share", 2), ("merge_tokens", 0),
     ("routes", ["sparse"]), ("level_weight", -1), ("walk_prompt", "no places")],
)  # fmt: skip
def test_settings_are_checked(name: str, value: Any) -> None:
    with pytest.raises(InvalidParameter, match=name):
        TreeRetriever(INDEX, **{name: value})


def test_another_index_has_no_tree() -> None:
    index: Any = Index()
    with pytest.raises(InvalidParameter, match="TreeIndex"):
        TreeRetriever(index)
