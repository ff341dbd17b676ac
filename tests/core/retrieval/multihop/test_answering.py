"""Answers from evidence within its tokens."""

from __future__ import annotations

from doubles import ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st
from multihop_making import QUESTION, hits_for, index_of

from structrag.retrieval.multihop.hops import (
    answer_flow,
    evidence_text,
)
from structrag.text.tokens import count_tokens


@settings(max_examples=50, deadline=None)
@given(st.integers(1, 60), st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_evidence_never_takes_more_than_its_tokens(
    limit: int, lengths: list[int]
) -> None:
    hits = hits_for(*("Some words of evidence. " * n for n in lengths))
    text, shown = evidence_text(hits, limit)
    assert count_tokens(text) <= limit
    assert shown == text.count("[")
    assert shown <= len(hits)


def test_without_evidence_nothing_is_asked() -> None:
    model = ScriptedModel("Oslo")
    answered = index_of(llm=model).run(answer_flow(QUESTION, []))
    assert (answered.answer, answered.shown) == ("Unanswerable", 0)
    assert model.prompts == []
