"""Labelled questions: reading them, finding their quotes, and what recall says."""

from __future__ import annotations

from pathlib import Path

import pytest
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
