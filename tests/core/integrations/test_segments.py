"""HiQA's segments in a host's lexical engine, and back."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.index.index import Index
from structrag.integrations.segments import (
    EngineResult,
    indexed_segments,
    segment_ranking,
)
from structrag.reading.files import read_text

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
