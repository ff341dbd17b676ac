"""Span recall and its relatives, chunking error, recall at a token budget."""

from __future__ import annotations

import pytest
from hypothesis import given
from span_making import CHAR, MEASURES, TEXTS, spans

from structrag.errors import InvalidParameter
from structrag.evaluation import (
    SpanMeasure,
    chunking_error,
    recall_at_budget,
    span_recall,
    tokens_taken,
)


def covered(doc_spans, measure):
    """The slow oracle: the set of places that weigh something."""
    return {
        (doc_id, i)
        for doc_id, start, end in doc_spans
        for i in range(start, end)
        if measure.size(doc_id, i, i + 1)
    }


def test_worked_numbers() -> None:
    gold, chunks = [("d", 100, 200)], [("d", 90, 150), ("d", 140, 180)]
    assert span_recall(gold, chunks, CHAR) == pytest.approx(0.80)
    assert chunking_error(gold, chunks) == 1
    assert chunking_error([("d", 100, 150)], chunks) == 0
    assert chunking_error([*gold, ("d", 100, 150)], chunks) == 0.5


def test_gold_is_trimmed_before_chunking_error() -> None:
    texts = {"d": "a  gold  b"}
    assert chunking_error([("d", 1, 9)], [("d", 3, 7)], texts) == 0
    assert chunking_error([("d", 1, 9)], [("d", 3, 7)]) == 1
    assert chunking_error([("d", 1, 3)], [("d", 3, 7)], texts) is None


def test_no_gold_and_nothing_retrieved() -> None:
    assert span_recall([], [("a", 0, 3)], MEASURES["char"]) is None
    assert span_recall([("a", 7, 9)], [("a", 0, 3)], MEASURES["nonspace"]) is None
    assert span_recall([("a", 0, 3)], [], MEASURES["char"]) == 0
    assert chunking_error([], []) is None
    assert chunking_error([("a", 0, 3)], []) == 1


@pytest.mark.parametrize("measure", MEASURES.values(), ids=MEASURES)
@given(gold=spans(), retrieved=spans())
def test_against_sets_of_characters(measure, gold, retrieved) -> None:
    wanted, found = covered(gold, measure), covered(retrieved, measure)
    if measure.unit == "token" and wanted:  # places of tokens, one each
        assert sum(measure.size(d, i, i + 1) for d, i in wanted) == len(wanted)
    if not wanted:
        assert span_recall(gold, retrieved, measure) is None
        return
    assert span_recall(gold, retrieved, measure) == pytest.approx(
        len(wanted & found) / len(wanted)
    )
    best = max(
        len(covered([g], measure) & found) / len(covered([g], measure))
        for g in gold
        if covered([g], measure)
    )
    assert span_recall(gold, retrieved, measure, mode="any") == pytest.approx(best)


@given(gold=spans(1), chunks=spans())
def test_chunking_error_against_all_pairs(gold, chunks) -> None:
    real = [g for g in gold if g[1] < g[2]]
    if not real:
        assert chunking_error(gold, chunks) is None
        return
    inside = sum(
        any(c[0] == g[0] and c[1] <= g[1] and g[2] <= c[2] for c in chunks)
        for g in real
    )
    assert chunking_error(gold, chunks) == pytest.approx(1 - inside / len(real))


RANKING, SIZES, GOLD = [("d", 0, 400), ("d", 400, 1200)], [100, 200], [("d", 300, 900)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: SpanMeasure(unit="words"),
            r"unit must be one of 'char', 'nonspace', 'token'; got 'words'",
        ),
        (lambda: SpanMeasure(TEXTS, "token"), "token_spans must be a function"),
        (lambda: SpanMeasure(TEXTS).size("z", 0, 1), "got none for 'z'"),
        (
            lambda: SpanMeasure(TEXTS).size("b", 0, 99),
            "must lie inside its document's 13 characters",
        ),
        (lambda: span_recall([("d", 5, 3)], [], CHAR), "0 <= start <= end"),
        (
            lambda: span_recall([("d", 3, 5)], [], CHAR, mode="best"),
            "mode must be one of 'all', 'any'",
        ),
        (lambda: tokens_taken([1], 0), "budget must be a number of at least 1; got 0"),
        (lambda: tokens_taken([-1], 5), "sizes must be a number of at least 0; got -1"),
        (
            lambda: tokens_taken([1], 5, cut="drop"),
            "cut must be one of 'stop', 'truncate'",
        ),
        (
            lambda: recall_at_budget(GOLD, RANKING, 5, CHAR, sizes=[1]),
            "one entry per ranked chunk, here 2; got 1",
        ),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()
