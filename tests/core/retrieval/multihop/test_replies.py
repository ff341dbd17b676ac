"""Replies of a model in a self-ask dialogue: whatever it writes is a follow-up, a final answer, or
nothing."""

from __future__ import annotations

import json
import time

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.multihop.hops import (
    is_nothing,
    read_answer,
    read_reply,
)


@given(
    st.text(
        alphabet=st.characters(exclude_characters="\r\n*_`<>{}\u2028\u2029"),
        min_size=1,
        max_size=80,
    )
)
def test_what_stands_behind_the_first_marker_is_kept_whole(question: str) -> None:
    question = " ".join(question.split())
    if not is_nothing(question):
        assert read_reply(f"Follow up: {question}") == ("follow_up", question)
        assert read_reply(json.dumps({"follow_up": question})) == (
            "follow_up",
            question,
        )


@given(
    st.text(max_size=300)
    | st.sampled_from(
        ['{"follow_up": ', "Follow up: ", "So the final answer is: ", "?", "}\n"]
    )
)
def test_any_text_is_read(reply: str) -> None:
    kind, text = read_reply(reply + reply)
    assert kind in ("follow_up", "final", "")
    assert bool(kind) == bool(text) or kind == "final"
    assert isinstance(read_answer(reply), str)


@examples
def test_values_of_json_and_the_first_of_several_markers(
    reply: str, kind: str, text: str
) -> None:
    assert read_reply(reply) == (kind, text)


@pytest.mark.slow
@examples
def test_long_replies_are_read_in_no_time(piece: str) -> None:
    began = time.process_time()
    read_reply("Follow up: x" + piece * 50_000)
    read_reply(piece * 50_000)
    read_answer(piece * 50_000)
    assert time.process_time() - began < 2


@examples
def test_answers_are_freed_of_what_stands_around_them(reply: str, answer: str) -> None:
    assert read_answer(reply) == answer


@examples
def test_answers_that_say_nothing(answer: str) -> None:
    assert is_nothing(answer)
