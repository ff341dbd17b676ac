"""Passages measured beside chunks."""

from __future__ import annotations

from doubles import HashTokens

from structrag import read_text
from structrag.chunks.fixed import FixedSplitter
from structrag.evaluation.labelled import GoldQuestion, evaluate
from structrag.evaluation.measure import SpanMeasure
from structrag.evaluation.searched import Passages, search_passages
from structrag.text.tokens import count_tokens

PUMP = "# Pump\n\nThe blue pump leaks at the seal.\n\n## Care\n\nRinse it weekly. Dry it.\n"
DOCUMENT = read_text(PUMP, id="pump")


def test_every_limit_is_a_search_of_its_own() -> None:
    retriever = Passages().retriever([DOCUMENT], HashTokens())
    (ranking,) = search_passages(
        retriever, ["rinse weekly"], depths=[1, 2], budgets=[5, 100]
    )
    ((_, start, end),) = ranking.first(1)
    assert PUMP[start:end] == "Rinse it weekly. Dry it." and len(ranking.first(2)) == 2
    assert ranking.tokens_of_first(1) == count_tokens(PUMP[start:end])
    measure = SpanMeasure({"pump": PUMP})
    ((_, start, end),) = ranking.within(5, measure)
    assert count_tokens(PUMP[start:end]) <= 5 and len(ranking.within(100, measure)) > 0


def test_they_stand_beside_splitters() -> None:
    place = PUMP.index("Rinse"), PUMP.index(" Dry")
    question = GoldQuestion(
        "How often do I rinse it weekly?", spans=(("pump", *place),)
    )
    methods = {"fixed": FixedSplitter(8), "evidence": Passages({"max_tokens": 50})}
    result = evaluate([DOCUMENT], methods, [question], depths=[1], budgets=[8])
    fixed, evidence = result.methods
    assert evidence.recall["first 1"].mean == 1.0 and evidence.chunks == 5
    assert set(evidence.difference) == set(fixed.recall) == {"first 1", "8 tokens"}
