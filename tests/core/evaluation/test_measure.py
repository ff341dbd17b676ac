"""What spans are counted in."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.errors import InvalidParameter
from structrag.evaluation import (
    SpanMeasure,
    heading_spans,
    span_recall,
)
from structrag.reading.outline import build_outline
from structrag.records import Document, Heading


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


@examples
def test_white_space_of_all_scripts_weighs_nothing(text: str, size: int) -> None:
    assert SpanMeasure({"d": text}).size("d", 0, len(text)) == size
    assert SpanMeasure({"d": text}, "char").size("d", 0, len(text)) == len(text)


def test_characters_need_no_text_where_nothing_is_ignored() -> None:
    assert SpanMeasure(unit="char").size("d", 3, 10) == 7
    ignoring = SpanMeasure({"d": "0123456789"}, "char", ignore=[("d", 2, 5)])
    assert (ignoring.size("d", 0, 10), ignoring.size("e", 0, 9)) == (7, 9)
    for unit, ignore in (("nonspace", []), ("char", [("d", 2, 5)])):
        with pytest.raises(InvalidParameter, match="got none for 'd'"):
            SpanMeasure(unit=unit, ignore=ignore).size("d", 0, 1)
