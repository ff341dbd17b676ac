"""Span recall and its relatives, chunking error, recall at a token budget."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.evaluation import (
    SpanMeasure,
    chunking_error,
    heading_spans,
    paper_recall,
    recall_at_budget,
    span_f1,
    span_iou,
    span_precision,
    span_recall,
    spans_at_budget,
    spans_of,
    texts_at_budget,
    tokens_taken,
)
from structrag.reading.outline import build_outline
from structrag.records import Chunk, Document, Heading

CHAR = SpanMeasure(unit="char")
TEXTS = {"a": "one two\n\n three  four five six ", "b": " seven eight\t"}
MEASURES = {
    "char": SpanMeasure(TEXTS, "char"),
    "nonspace": SpanMeasure(TEXTS),
    "token": SpanMeasure(
        TEXTS,
        "token",
        token_spans=lambda text: [m.span() for m in re.finditer(r"\s*\S{1,3}", text)],
    ),
}


def spans(min_size: int = 0) -> st.SearchStrategy[list[tuple[str, int, int]]]:
    def of(doc_id: str) -> st.SearchStrategy[tuple[str, int, int]]:
        offsets = st.integers(0, len(TEXTS[doc_id]))
        return st.tuples(offsets, offsets).map(lambda pair: (doc_id, min(pair), max(pair)))

    return st.lists(st.sampled_from(sorted(TEXTS)).flatmap(of), min_size=min_size, max_size=6)


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
    assert paper_recall(gold, chunks, CHAR) == pytest.approx(0.90)
    assert chunking_error(gold, chunks) == 1
    assert chunking_error([("d", 100, 150)], chunks) == 0
    assert chunking_error([*gold, ("d", 100, 150)], chunks) == 0.5
    assert span_precision(gold, chunks, CHAR) == pytest.approx(80 / 90)
    assert span_iou(gold, chunks, CHAR) == pytest.approx(80 / 110)
    assert span_f1(gold, chunks, CHAR) == pytest.approx(160 / 190)


def test_trimmed_border_costs_nothing_in_nonspace() -> None:
    texts = {"d": "gold  sentence"}
    chunks = [("d", 0, 4), ("d", 6, 14)]
    assert span_recall([("d", 0, 14)], chunks, SpanMeasure(texts)) == 1
    assert span_recall([("d", 0, 14)], chunks, SpanMeasure(texts, "char")) == pytest.approx(12 / 14)


def test_token_unit_counts_a_token_where_its_first_letter_is() -> None:
    measure = SpanMeasure(
        {"d": "ab cd ef"}, "token", token_spans=lambda _: [(0, 2), (2, 5), (5, 8)]
    )
    assert (
        measure.size("d", 3, 8) == 2
    )  # " cd" and " ef" although the span begins after the first space
    assert span_recall([("d", 0, 8)], [("d", 3, 5)], measure) == pytest.approx(1 / 3)


def test_any_mode_takes_the_best_occurrence() -> None:
    gold, found = [("d", 0, 10), ("e", 0, 10)], [("e", 0, 9), ("x", 0, 50)]
    assert span_recall(gold, found, CHAR, mode="any") == pytest.approx(0.9)
    assert span_recall(gold, found, CHAR) == pytest.approx(0.45)


def test_headings_can_be_ignored() -> None:
    document = Document("# Title\nbody text\n", id="d")
    outline = build_outline(document, [Heading(1, "Title", 0, 8)], lambda start, end: [])
    gold, chunks = [("d", 0, 18)], [("d", 8, 18)]
    assert heading_spans(outline) == [("d", 0, 8)]
    for unit, expected in (("nonspace", 8 / 14), ("char", 10 / 18)):
        assert span_recall(gold, chunks, SpanMeasure({"d": document.text}, unit)) == pytest.approx(
            expected
        )
        ignoring = SpanMeasure({"d": document.text}, unit, ignore=heading_spans(outline))
        assert span_recall(gold, chunks, ignoring) == 1


def test_gold_is_trimmed_before_chunking_error() -> None:
    texts = {"d": "a  gold  b"}
    assert chunking_error([("d", 1, 9)], [("d", 3, 7)], texts) == 0
    assert chunking_error([("d", 1, 9)], [("d", 3, 7)]) == 1
    assert chunking_error([("d", 1, 3)], [("d", 3, 7)], texts) is None


def test_no_gold_and_nothing_retrieved() -> None:
    for metric in (span_recall, paper_recall, span_precision, span_f1, span_iou):
        assert metric([], [("a", 0, 3)], MEASURES["char"]) is None
        assert metric([("a", 7, 9)], [("a", 0, 3)], MEASURES["nonspace"]) is None
        assert metric([("a", 0, 3)], [], MEASURES["char"]) == 0
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
    assert span_recall(gold, retrieved, measure) == pytest.approx(len(wanted & found) / len(wanted))
    assert span_precision(gold, retrieved, measure) == pytest.approx(
        len(wanted & found) / max(1, len(found))
    )
    assert span_iou(gold, retrieved, measure) == pytest.approx(
        len(wanted & found) / len(wanted | found)
    )
    best = max(
        len(covered([g], measure) & found) / len(covered([g], measure))
        for g in gold
        if covered([g], measure)
    )
    assert span_recall(gold, retrieved, measure, mode="any") == pytest.approx(best)


@pytest.mark.parametrize("mode", ["all", "any"])
@given(gold=spans(1), retrieved=spans(), more=spans(), data=st.data())
def test_recall_invariants(mode, gold, retrieved, more, data) -> None:
    measure = MEASURES["nonspace"]
    score = span_recall(gold, retrieved, measure, mode=mode)
    if score is None:
        return
    assert 0 <= score <= 1
    assert span_recall(gold, retrieved + more, measure, mode=mode) >= score
    assert span_recall(gold, [*reversed(retrieved), *retrieved], measure, mode=mode) == score
    halves = []
    for doc_id, start, end in retrieved:
        cut = data.draw(st.integers(start, end))
        halves += [(doc_id, cut, end), (doc_id, start, cut)]
    assert span_recall(gold, halves, measure, mode=mode) == score
    assert (
        span_recall(
            gold, [(doc_id, 0, len(text)) for doc_id, text in TEXTS.items()], measure, mode=mode
        )
        == 1
    )
    assert paper_recall(gold, retrieved, measure) >= span_recall(gold, retrieved, measure) - 1e-12


@given(
    gold=spans(1),
    cuts=st.lists(st.integers(0, 30), max_size=5),
    more=st.lists(st.integers(0, 30), max_size=5),
)
def test_tilings(gold, cuts, more) -> None:
    def tiling(places):
        return [
            (doc_id, start, end)
            for doc_id, text in TEXTS.items()
            for edges in [sorted({0, len(text), *(p for p in places if p < len(text))})]
            for start, end in pairwise(edges)
        ]

    measure = MEASURES["nonspace"]
    if chunking_error(gold, tiling([]), TEXTS) is None:
        return
    assert chunking_error(gold, tiling([]), TEXTS) == 0
    assert chunking_error(gold, tiling(cuts + more), TEXTS) >= chunking_error(
        gold, tiling(cuts), TEXTS
    )
    chunks = tiling(cuts)[::2]
    assert paper_recall(gold, chunks, measure) == pytest.approx(span_recall(gold, chunks, measure))


@given(gold=spans(1), chunks=spans())
def test_chunking_error_against_all_pairs(gold, chunks) -> None:
    real = [g for g in gold if g[1] < g[2]]
    if not real:
        assert chunking_error(gold, chunks) is None
        return
    inside = sum(any(c[0] == g[0] and c[1] <= g[1] and g[2] <= c[2] for c in chunks) for g in real)
    assert chunking_error(gold, chunks) == pytest.approx(1 - inside / len(real))


RANKING, SIZES, GOLD = [("d", 0, 400), ("d", 400, 1200)], [100, 200], [("d", 300, 900)]


@pytest.mark.parametrize(
    ("budget", "cut", "expected"),
    [
        (100, "truncate", 100 / 600),
        (200, "truncate", 500 / 600),
        (200, "stop", 100 / 600),
        (300, "truncate", 1),
        (300, "stop", 1),
        (50, "truncate", 0),
        (50, "stop", 100 / 600),
    ],
)
def test_recall_at_budget_worked(budget, cut, expected) -> None:
    assert recall_at_budget(GOLD, RANKING, budget, CHAR, sizes=SIZES, cut=cut) == pytest.approx(
        expected
    )


def test_overlapping_text_costs_each_time() -> None:
    twice = [("d", 0, 400), ("d", 0, 400), ("d", 400, 1200)]
    assert recall_at_budget(GOLD, twice, 200, CHAR, sizes=[100, 100, 200]) == pytest.approx(
        100 / 600
    )


def test_tokens_taken() -> None:
    assert tokens_taken([100, 200, 5], 200) == [100, 100]
    assert tokens_taken([100, 200, 5], 200, cut="stop") == [
        100
    ]  # the small one after it is left out too
    assert tokens_taken([300], 200, cut="stop") == [300]
    assert tokens_taken([100, 0, 1], 100) == [100, 0]
    assert tokens_taken([], 100) == []


def words(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(r"\S+", text)]


def test_cuts_fall_on_tokens_and_context_is_paid_first() -> None:
    text = "one two three four"
    measure = SpanMeasure({"d": text})
    chunk = [("d", 0, len(text))]

    def kept(size, budget):
        spans = spans_at_budget(chunk, budget, measure, sizes=[size], token_spans=words)
        assert texts_at_budget([text], budget, sizes=[size], token_spans=words) == [
            text[a:b] for _, a, b in spans
        ]
        return [text[a:b] for _, a, b in spans]

    assert kept(4, 2) == ["one two"]
    assert kept(4, 4) == [text]
    assert kept(7, 5) == ["one two"]  # three tokens of context stand in front
    assert kept(7, 2) == [""]
    counter = lambda piece: len(words(piece))  # noqa: E731
    assert texts_at_budget([text, "five six"], 5, sizes=counter, token_spans=words) == [
        text,
        "five",
    ]
    assert spans_at_budget(chunk, 2, measure, sizes=counter) == [
        ("d", 0, 9)
    ]  # half of 18 characters


@given(gold=spans(1), ranking=spans(1), data=st.data())
def test_budget_invariants(gold, ranking, data) -> None:
    measure = MEASURES["nonspace"]
    sizes = [data.draw(st.integers(0, 9)) for _ in ranking]
    if span_recall(gold, ranking, measure) is None:
        return
    for token_spans in (None, words):
        scores = {
            cut: [
                recall_at_budget(
                    gold, ranking, b, measure, sizes=sizes, cut=cut, token_spans=token_spans
                )
                for b in range(1, sum(sizes) + 2)
            ]
            for cut in ("truncate", "stop")
        }
        for values in scores.values():
            assert values == sorted(values)
            assert values[-1] == span_recall(gold, ranking, measure)
        assert all(
            t >= s for t, s in list(zip(*scores.values(), strict=True))[max(0, sizes[0] - 1) :]
        )
    for budget in range(1, sum(sizes) + 2):
        assert sum(tokens_taken(sizes, budget)) == min(budget, sum(sizes))


def test_spans_of_chunks() -> None:
    chunk = Chunk("x", "d", "s", 3, 5, "ab")
    assert chunk.span == ("d", 3, 5)
    assert spans_of([chunk, chunk]) == [("d", 3, 5), ("d", 3, 5)]


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
        (lambda: tokens_taken([1], 5, cut="drop"), "cut must be one of 'stop', 'truncate'"),
        (
            lambda: recall_at_budget(GOLD, RANKING, 5, CHAR, sizes=[1]),
            "one entry per ranked chunk, here 2; got 1",
        ),
    ],
)
def test_bad_input(call, message) -> None:
    with pytest.raises(InvalidParameter, match=message):
        call()
