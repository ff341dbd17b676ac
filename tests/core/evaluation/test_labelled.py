"""Labelled questions: reading them, finding their quotes, and what recall says."""

from __future__ import annotations

from pathlib import Path

import pytest
from doubles import HashEmbedder
from question_making import DOCUMENTS, PUMP, TANK, questions_of

from structrag.chunks.fixed import FixedSplitter
from structrag.errors import InvalidParameter
from structrag.evaluation.labelled import GoldQuestion, evaluate, question_recall
from structrag.evaluation.measure import SpanMeasure


def test_every_kind_of_gold_is_read(tmp_path: Path) -> None:
    spans, quotes, answers, docs, inside = questions_of(
        tmp_path,
        {
            "question": "a",
            "spans": [["pump.md", 0, 6], {"doc": "docs/tank.md", "start": 2, "end": 6}],
        },
        {
            "question": "b",
            "quotes": ["filter monthly with water.", "Fill it to 17 litres."],
        },
        {"question": "c", "answer": ["7", "seven"]},
        {"question": "d", "docs": ["pump.md", "docs/tank.md"]},
        {"query": "e", "quote": "Rinse the filter", "doc": "docs/tank.md"},
    )
    assert spans.spans == (("docs/pump.md", 0, 6), ("docs/tank.md", 2, 6))
    (first,), (second,) = quotes.places
    assert PUMP[first[1] : first[2]] == "filter\nmonthly with  water."
    assert TANK[second[1] : second[2]] == "Fill it to 17 litres."
    ((place,),) = answers.places
    assert place == ("docs/pump.md", PUMP.index("7 degrees"), PUMP.index(" degrees"))
    assert docs.docs == ("docs/pump.md", "docs/tank.md")
    assert (
        inside.places
        == ((("docs/tank.md", TANK.index("Rinse"), TANK.index(" weekly")),),)
        and not inside.docs
    )


def test_recall_by_hand() -> None:
    measure = SpanMeasure({"d": "abcdefghij", "e": "abcdefghij"})
    found = [("d", 0, 5)]
    assert (
        question_recall(
            GoldQuestion("q", spans=(("d", 0, 5), ("e", 0, 5))), found, measure
        )
        == 0.5
    )
    places = ((("e", 0, 4), ("d", 3, 7)), (("d", 0, 2),))
    assert (
        question_recall(GoldQuestion("q", places=places), found, measure)
        == (0.5 + 1) / 2
    )
    assert question_recall(GoldQuestion("q", docs=("d", "e")), found, measure) == 0.5
    assert question_recall(GoldQuestion("q", docs=("d",)), [], measure) == 0


def test_no_question_is_said() -> None:
    with pytest.raises(InvalidParameter, match="There is nothing to ask"):
        evaluate(DOCUMENTS, {"fixed": FixedSplitter()}, [])


def test_methods_are_measured_at_chunks_and_at_tokens() -> None:
    calls: list[tuple[str, int, int]] = []
    question = GoldQuestion("Rinse the filter weekly", docs=("docs/tank.md",))
    other = GoldQuestion("Rinse the filter monthly", docs=("docs/pump.md",))
    result = evaluate(
        DOCUMENTS,
        {"large": FixedSplitter(100), "small": FixedSplitter(4)},
        [question, other],
        depths=[1, 2],
        budgets=[4],
        progress=lambda *call: calls.append(call),
    )
    assert (result.documents, result.depths, result.budgets) == (3, (1, 2), (4,))
    large, small = result.methods
    assert large.chunks == 3 and small.chunks > 6
    points = ["first 1", "first 2", "4 tokens"]
    for method in (large, small):
        assert list(method.recall) == list(method.difference) == points
        assert list(method.tokens) == points[:2]
        assert [len(scores) for scores in method.scores.values()] == [2, 2, 2]
        for point in points:
            mean = sum(method.scores[point]) / 2
            assert method.recall[point].mean == mean
            gap = mean - large.recall[point].mean
            assert method.difference[point].mean == pytest.approx(gap)
    assert large.scores["first 1"] == (1.0, 1.0)
    assert small.tokens["first 1"] <= 4 < small.tokens["first 2"] <= 8
    assert large.tokens["first 2"] > large.tokens["first 1"] > 8
    of_method = [("large", number, 3) for number in range(4)]
    assert [call for call in calls if call[0] == "large"] == of_method
    assert calls.count(("questions", 2, 2)) == 2


def test_an_embedder_is_used_and_named() -> None:
    embedder = HashEmbedder()
    question = GoldQuestion("litres", docs=("docs/tank.md",))
    result = evaluate(
        DOCUMENTS,
        {"fixed": FixedSplitter(50)},
        [question],
        embedder=embedder,
        depths=[1],
        budgets=[9],
    )
    assert result.embedder == "hash"
    assert embedder.texts == [document.text for document in DOCUMENTS]
