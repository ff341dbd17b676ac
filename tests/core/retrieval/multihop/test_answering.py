"""Answers from evidence within its tokens."""

from __future__ import annotations

from doubles import ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st
from multihop_making import QUESTION, hits_for, index_of

from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.multihop.answering import (
    answer_steps,
    beginning,
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


def test_passages_that_do_not_fit_make_room_for_shorter_ones() -> None:
    text, shown = evidence_text(hits_for("short one.", "long " * 100, "short two."), 40)
    assert shown == 2
    assert "short one." in text
    assert "[2]\n## Part 2" in text


def test_a_long_passage_ends_behind_a_sentence() -> None:
    assert (
        beginning("One two three. Four five six. Seven eight nine.", 9)
        == "One two three. Four five six."
    )
    assert beginning("word " * 100, 13).split() == ["word"] * 10
    assert beginning("abc", 5) == "abc"


def test_an_answer_has_its_cost_and_its_failure() -> None:
    index = index_of(llm=ScriptedModel("Answer: Bergen"))
    answered = index.run(
        answer_steps(QUESTION, hits_for("Ada Holm was born in Bergen."))
    )
    assert (answered.answer, answered.shown, answered.cost.calls, answered.failure) == (
        "Bergen",
        1,
        1,
        None,
    )
    failing = index_of(llm=ScriptedModel(OSError("down"))).run(
        answer_steps(QUESTION, hits_for("x y z"))
    )
    assert (failing.answer, failing.cost.calls, failing.cost.answer_tokens) == (
        "",
        1,
        0,
    )
    assert isinstance(failing.failure, OSError)
    assert index.run(answer_steps(QUESTION, [])).cost == StageCost()
