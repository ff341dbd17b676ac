"""HiQA's segments in a host's lexical engine, and back."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.errors import InvalidParameter
from structrag.index.index import Index
from structrag.integrations.segments import (
    EngineResult,
    check_packing,
    indexed_segments,
    packed,
    segment_ranking,
    with_segments,
)
from structrag.reading.files import read_text
from structrag.records import Hit

TEXT = "# A\n\nOne.\n\n# B\n\nTwo.\n\n# C\n\nThree.\n"


@pytest.fixture(scope="module")
def index() -> Index:
    index = Index(views=("raw",))
    index.add([read_text(TEXT, id="doc")])
    return index


def ranking(index: Index, *results: EngineResult) -> Any:
    return segment_ranking(results, index.store, lambda: "the id 'x'")


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        ([3, 2.5, 2.5], [3.0, 2.5, 2.5]),
        ([1, 2, 3], [1.0, 0.5, 1 / 3]),  # distances
        ([3, None, 1], [1.0, 0.5, 1 / 3]),
        ([3, "2", 1], [1.0, 0.5, 1 / 3]),
    ],
)
def test_scores_are_the_hosts_where_they_order_the_results(
    index: Index, scores: list[Any], expected: list[float]
) -> None:
    results = [
        EngineResult(chunk.id, score=score)
        for chunk, score in zip(index.store.chunks(), scores, strict=True)
    ]
    assert [score for _, score in ranking(index, *results)] == expected


def test_strangers_are_left_out_and_only_strangers_are_an_error(index: Index) -> None:
    chunk = index.store.chunks()[0]
    stranger = EngineResult(names=("x",), doc_id="doc", start=0, end=len(TEXT))
    assert ranking(index, stranger, EngineResult(chunk.id)) == [(chunk.id, 0.5)]
    assert ranking(index) == []
    with pytest.raises(
        InvalidParameter,
        match=r"none of its 1 results is one\. The first has the id 'x'\. Index",
    ):
        ranking(index, stranger)


def test_segments_that_the_index_has_lost_are_no_error(index: Index) -> None:
    assert ranking(index, EngineResult("doc:0-9999")) == []


def test_segments_to_be_indexed_elsewhere(index: Index) -> None:
    segments = list(indexed_segments(index.store, "raw"))
    assert [chunk.id for chunk, _ in segments] == [
        chunk.id for chunk in index.store.chunks()
    ]
    assert all(chunk.text.strip() in text for chunk, text in segments)


def test_an_index_splits_into_segments_unless_told_otherwise() -> None:
    index = Index(views=("raw",), language="german")
    splitter = index.splitter
    assert with_segments(index, splitter).splitter is splitter
    assert with_segments(index).splitter == HiQASplitter(language="german")


def test_packing_is_by_rank_in_the_language_of_the_index(index: Index) -> None:
    hits = [Hit(chunk, 1.0, 3 - i) for i, chunk in enumerate(index.store.chunks())]
    assert packed(hits, index, None, len) is hits
    assert packed(hits, index, 24, len, lambda chunk: chunk.text) == hits[1:]
    check_packing(None)
    check_packing(0)
    with pytest.raises(InvalidParameter, match="max_tokens must be"):
        check_packing(-1)


@examples
def test_a_place_is_told_by_numbers(
    index: Index, start: Any, end: Any, number: int | None
) -> None:
    chunks = index.store.chunks()
    place = EngineResult(doc_id="doc", start=start, end=end)
    names = [name for name, _ in ranking(index, place, EngineResult(chunks[2].id))]
    expected = [] if number is None else [chunks[number].id]
    assert names == [*expected, chunks[2].id]


def test_more_segments_than_are_read_at_once_come_all() -> None:
    index = Index(views=("raw",), splitter=HiQASplitter())
    index.add([read_text(TEXT, id=f"{number:04}") for number in range(334)])
    segments = [chunk.id for chunk, _ in indexed_segments(index.store, "raw")]
    assert segments == [chunk.id for chunk in index.store.chunks()]
    assert len(segments) == 1002
