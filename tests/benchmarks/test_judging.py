"""Answers and judgements as MC-indexing asks for them."""

from __future__ import annotations

import pytest
from doubles import ScriptedModel
from fixture_cases import examples

from benchmarks.judging import (
    answer_prompt,
    judge_pair,
    parse_scores,
    winners,
)
from structrag.errors import InvalidParameter


def test_the_prompts_are_those_of_the_figures() -> None:
    prompt = answer_prompt("What leaks?", ["The {blue} pump leaks."])
    assert prompt.startswith("You are a helpful question answering assistant.")
    assert (
        "Contents: The {blue} pump leaks.\n\nQuestion: What leaks?\n\nInstruction:"
        in prompt
    )
    llm = ScriptedModel('They differ.\n{"answer_1_score":"7.5", "answer_2_score":"0"}')
    assert judge_pair("q", "t", ("a {1}", "b"), llm) == (7.5, 0.0)
    (prompt,) = llm.prompts
    assert "Ground truth answer: t\n\nAnswer 1: a {1}\nAnswer 2: b\n" in prompt
    assert prompt.endswith(
        'json format: {"answer_1_score":"...", "answer_2_score":"..."}'
    )


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        ('{"answer_1_score": 3, "answer_2_score": 10}', (3.0, 10.0)),
        ('{"answer_1_score":"1","answer_2_score":"2"} no: '
         '{"answer_1_score":"4","answer_2_score":"5"}', (4.0, 5.0)),
        ("```json\n{'answer_1_score': '6', 'answer_2_score': '6'}\n```", (6.0, 6.0)),
        ('{"answer_1_score":"...", "answer_2_score":"..."}', None),
        ('{"answer_1_score": 11, "answer_2_score": 1}', None),
        ('{"answer_1_score": 5}', None),
        ('{"answer_1_score": null, "answer_2_score": 1}', None),
        ("8 and 5", None),
        ("{" * 200, None),
        ("", None),
    ],
)  # fmt: skip
def test_scores_are_read_or_there_are_none(
    answer: str, scores: tuple[float, float] | None
) -> None:
    assert parse_scores(answer) == scores


def test_pic_asks_for_answers_as_in_its_table_8() -> None:
    assert answer_prompt("What leaks?", ["It leaks.", "Cats."], paper="pic") == (
        "Refer to the passages below and answer the following question with just a few words.\n"
        "It leaks.\nCats.\nRefer to the context above and answer the following question with just "
        "a few words.\nQuestion: What leaks?\nThe answer is"
    )
    with pytest.raises(
        InvalidParameter, match="paper must be one of 'hiqa', 'mc', 'pic'"
    ):
        answer_prompt("q", [], paper="d3")


@examples
def test_winners_by_scores_and_by_rounds(
    rounds: list[tuple[float, float]], expected: tuple[int, int]
) -> None:
    assert winners(rounds) == expected


@pytest.mark.filterwarnings("ignore:Every call")
def test_a_judge_that_fails_gives_no_scores() -> None:
    assert judge_pair("q", "t", ("a", "b"), ScriptedModel(OSError("down"))) is None
