"""Answers from evidence within its tokens."""

from __future__ import annotations

import pytest
from doubles import ScriptedModel
from hypothesis import given, settings
from hypothesis import strategies as st
from multihop_making import QUESTION, hits_for, index_of

from structrag.errors import InvalidParameter
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


def test_evidence_of_exactly_the_tokens_is_shown() -> None:
    hits = hits_for("One two three.", "Four five six seven eight.", "Nine.")
    first, second = (count_tokens(evidence_text([hit], 99)[0]) for hit in hits[:2])
    assert evidence_text(hits[:1], first) == ("[1]\n## Part 0\nOne two three.", 1)
    text, shown = evidence_text(hits, first + second)
    assert shown == 2 and text.endswith(
        "\n\n[2]\n## Part 1\nFour five six seven eight."
    )
    text, shown = evidence_text(hits, first + second - 1)
    assert shown == 2 and text.endswith("\n\n[2]\n## Part 2\nNine.")


def test_only_the_first_passage_is_cut() -> None:
    hits = hits_for("One two three. " * 9, "Four five six. " * 9)
    size = count_tokens(evidence_text(hits[:1], 999)[0])
    text, shown = evidence_text(hits, size - 1)
    assert shown == 1 and text.count("One") == 8
    text, shown = evidence_text(hits, size + 20)
    assert shown == 1 and text.count("One") == 9 and "Four" not in text


THREE = "One two three. Four five six. Seven eight nine."
ENDS = [THREE.index(".") + 1, THREE.index(" Seven"), len(THREE)]


@pytest.mark.parametrize("number", [0, 1, 2])
def test_as_many_sentences_as_fit_are_the_beginning(number: int) -> None:
    tokens = count_tokens(THREE[: ENDS[number]])
    assert beginning(THREE, tokens) == THREE[: ENDS[number]]
    shorter = beginning(THREE, tokens - 1)
    if number:
        assert shorter == THREE[: ENDS[number - 1]]
    else:  # not one sentence
        assert THREE.startswith(shorter) and count_tokens(shorter) == tokens - 1
        assert count_tokens(THREE[: len(shorter) + 2]) == tokens


def test_all_but_the_last_character_may_fit() -> None:
    tokens = count_tokens("水泵漏")
    assert tokens < count_tokens("水泵漏水")
    assert beginning("水泵漏水", tokens) == "水泵漏"


def test_a_text_that_fits_is_left_as_it_is() -> None:
    assert beginning("One two. \n", count_tokens("One two. \n")) == "One two. \n"


def test_evidence_must_be_of_one_token_at_least() -> None:
    with pytest.raises(InvalidParameter, match="max_tokens must be a number of at le"):
        index_of().run(answer_steps(QUESTION, hits_for("x"), max_tokens=0))
    answered = index_of().run(answer_steps(QUESTION, hits_for("x y z"), max_tokens=1))
    assert answered.shown in (0, 1)


def test_without_evidence_nothing_is_asked() -> None:
    model = ScriptedModel("Oslo")
    answered = index_of(llm=model).run(answer_steps(QUESTION, []))
    assert (answered.answer, answered.shown) == ("Unanswerable", 0)
    assert model.prompts == []


def test_other_places_of_the_prompt_are_filled() -> None:
    model = ScriptedModel("Oslo")
    template = "{evidence}|{history}|{question}"
    steps = answer_steps(
        "Where?", hits_for("x."), prompt=template, places={"history": "before"}
    )
    index_of(llm=model).run(steps)
    assert model.prompts[0].endswith("x.|before|Where?")


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
