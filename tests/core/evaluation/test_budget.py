"""Recall within a budget of tokens."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from span_making import CHAR, MEASURES, spans

from structrag.evaluation import (
    SpanMeasure,
    recall_at_budget,
    span_recall,
    spans_at_budget,
    tokens_taken,
)

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
    assert recall_at_budget(
        GOLD, RANKING, budget, CHAR, sizes=SIZES, cut=cut
    ) == pytest.approx(expected)


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
        return [text[a:b] for _, a, b in spans]

    assert kept(4, 2) == ["one two"]
    assert kept(4, 4) == [text]
    assert kept(7, 5) == ["one two"]  # three tokens of context stand in front
    assert kept(7, 2) == [""]
    counter = lambda piece: len(words(piece))  # noqa: E731
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
                    gold,
                    ranking,
                    b,
                    measure,
                    sizes=sizes,
                    cut=cut,
                    token_spans=token_spans,
                )
                for b in range(1, sum(sizes) + 2)
            ]
            for cut in ("truncate", "stop")
        }
        for values in scores.values():
            assert values == sorted(values)
            assert values[-1] == span_recall(gold, ranking, measure)
        assert all(
            t >= s
            for t, s in list(zip(*scores.values(), strict=True))[max(0, sizes[0] - 1) :]
        )
    for budget in range(1, sum(sizes) + 2):
        assert sum(tokens_taken(sizes, budget)) == min(budget, sum(sizes))
