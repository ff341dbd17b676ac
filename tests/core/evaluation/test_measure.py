"""What spans are counted in."""

from __future__ import annotations

import pytest

from structrag.evaluation import (
    SpanMeasure,
    heading_spans,
    span_recall,
    spans_of,
)
from structrag.reading.outline import build_outline
from structrag.records import Chunk, Document, Heading


def test_trimmed_border_costs_nothing_in_nonspace() -> None:
    texts = {"d": "gold  sentence"}
    chunks = [("d", 0, 4), ("d", 6, 14)]
    assert span_recall([("d", 0, 14)], chunks, SpanMeasure(texts)) == 1
    assert span_recall(
        [("d", 0, 14)], chunks, SpanMeasure(texts, "char")
    ) == pytest.approx(12 / 14)


def test_token_unit_counts_a_token_where_its_first_letter_is() -> None:
    measure = SpanMeasure(
        {"d": "ab cd ef"}, "token", token_spans=lambda _: [(0, 2), (2, 5), (5, 8)]
    )
    assert (
        measure.size("d", 3, 8) == 2
    )  # " cd" and " ef" although the span begins after the first space
    assert span_recall([("d", 0, 8)], [("d", 3, 5)], measure) == pytest.approx(1 / 3)


def test_headings_can_be_ignored() -> None:
    document = Document("# Title\nbody text\n", id="d")
    outline = build_outline(
        document, [Heading(1, "Title", 0, 8)], lambda start, end: []
    )
    gold, chunks = [("d", 0, 18)], [("d", 8, 18)]
    assert heading_spans(outline) == [("d", 0, 8)]
    for unit, expected in (("nonspace", 8 / 14), ("char", 10 / 18)):
        assert span_recall(
            gold, chunks, SpanMeasure({"d": document.text}, unit)
        ) == pytest.approx(expected)
        ignoring = SpanMeasure(
            {"d": document.text}, unit, ignore=heading_spans(outline)
        )
        assert span_recall(gold, chunks, ignoring) == 1


def test_spans_of_chunks() -> None:
    chunk = Chunk("x", "d", "s", 3, 5, "ab")
    assert chunk.span == ("d", 3, 5)
    assert spans_of([chunk, chunk]) == [("d", 3, 5), ("d", 3, 5)]
