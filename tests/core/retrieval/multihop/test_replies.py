"""Replies of a model in a self-ask dialogue: whatever it writes is a follow-up, a final answer, or
nothing."""

from __future__ import annotations

import json
import time

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.multihop.replies import (
    LONGEST_FOLLOW_UP,
    is_nothing,
    read_answer,
    read_reply,
)

SPACE_ODYSSEY = "When did 2001: A Space Odyssey open?"


@pytest.mark.parametrize(
    ("reply", "kind", "text"),
    [
        (f"Follow up: {SPACE_ODYSSEY}", "follow_up", SPACE_ODYSSEY),
        (f"**Follow-up question 2:** {SPACE_ODYSSEY}", "follow_up", SPACE_ODYSSEY),
        (
            f"Are follow up questions needed here: Yes.\nFollow up: {SPACE_ODYSSEY}",
            "follow_up",
            SPACE_ODYSSEY,
        ),
        (
            "Are follow up questions needed here: No.\nSo the final answer is: 1968",
            "final",
            "1968",
        ),
        (
            "So the final answer is: 2001: A Space Odyssey",
            "final",
            "2001: A Space Odyssey",
        ),
        ("Kubrick made it. So the final answer is Kubrick", "final", "Kubrick"),
        ("The final answer: 12:30", "final", "12:30"),
        (
            "Follow up: Who?\nIntermediate answer: Ann\nSo the final answer is: Ann",
            "follow_up",
            "Who?",
        ),
        ("Follow up: none\nSo the final answer is: Ann", "final", "Ann"),
        (
            "So the final answer is: first line\nsecond line",
            "final",
            "first line\nsecond line",
        ),
        ('{"follow_up": "Who?"}', "follow_up", "Who?"),
        (
            '```json\n{"Follow-up question": "Who: Ann or Bo?", "final_answer": null}\n```',
            "follow_up",
            "Who: Ann or Bo?",
        ),
        ('Here it is: {"follow_up": "", "final answer": 42}', "final", "42"),
        ('{"final_answer": ["Ann", "Bo"]}', "final", "Ann"),
        ('{"final_answer": false}', "final", "No"),
        ('{"follow_up": "N/A", "answer": "Ann"}', "final", "Ann"),
        ("<think>Follow up: Not this?</think>Follow up: This?", "follow_up", "This?"),
        (
            "Dazu muss ich mehr wissen.\nWann wurde der Film gezeigt?",
            "follow_up",
            "Wann wurde der Film gezeigt?",
        ),
        ("这部电影是什么时候上映的？", "follow_up", "这部电影是什么时候上映的？"),
        ("It opened in 1968.", "final", "It opened in 1968."),
        (
            "So the final answer is: So the final answer is: x",
            "final",
            "So the final answer is: x",
        ),
        ("", "", ""),
        ("  \n", "", ""),
        ("I'm sorry, I cannot help with that.", "", ""),
        ("Follow up:", "", ""),
        ('{"follow_up": ""', "", ""),
    ],
)
def test_replies(reply: str, kind: str, text: str) -> None:
    assert read_reply(reply) == (kind, text)


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


def test_a_follow_up_of_ten_thousand_words_is_cut_at_a_word() -> None:
    kind, text = read_reply("Follow up: " + "question " * 10_000)
    assert kind == "follow_up"
    assert len(text) <= LONGEST_FOLLOW_UP
    assert set(text.split()) == {"question"}


@pytest.mark.parametrize(
    ("question", "length"),
    [
        ("x" * 599 + "?", 600),
        ("x" * 600 + "?", 600),  # without a space: anywhere
        ("ab " * 199 + "abc", 600),
        ("ab " * 199 + "abcd", 596),  # a whole word less
    ],
    ids=["word", "long word", "words", "long words"],
)
def test_a_follow_up_of_600_characters_is_kept(question: str, length: int) -> None:
    kind, text = read_reply(f"Follow up: {question}")
    assert (kind, len(text)) == ("follow_up", length) and question.startswith(text)


def test_only_follow_ups_are_cut_and_put_on_one_line() -> None:
    assert read_reply("Follow up: Who\n  made  it?").text == "Who made it?"
    assert read_reply('{"final_answer": "a\\n  b"}').text == "a\n  b"
    assert len(read_reply("So the final answer is: " + "x" * 601).text) == 601


@examples
def test_values_of_json_and_the_first_of_several_markers(
    reply: str, kind: str, text: str
) -> None:
    assert read_reply(reply) == (kind, text)


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


@pytest.mark.parametrize(
    "answer", ["0", "no", "No one", "The Unknown Soldier", "None of the three films"]
)
def test_answers_that_say_something(answer: str) -> None:
    assert not is_nothing(answer)
