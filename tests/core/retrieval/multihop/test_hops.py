"""Rounds of questions, and where they end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from doubles import ScriptedModel
from multihop_making import QUESTION, call_settings, is_next

from structrag.retrieval.multihop.agents import SelfAsk, SelfAskResult


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Callable[[SelfAsk, str], SelfAskResult]:
    if request.param == "sync":
        return lambda agent, question: agent.answer(question)
    return lambda agent, question: asyncio.run(agent.aanswer(question))


def test_most_follow_ups(ask: Any) -> None:
    number = itertools.count()
    model = ScriptedModel(
        lambda prompt: (
            f"Follow up: Question {next(number)}?" if is_next(prompt) else "something"
        )
    )
    result = ask(call_settings(model, max_followups=3), QUESTION)
    assert (result.stopped, len(result.trace), result.answer) == (
        "max_followups",
        3,
        "something",
    )
    assert result.total.calls == 3 + 4 + 1
    assert "Intermediate answer: something" in model.prompts[-1]


def test_two_empty_answers_in_a_row_end_the_loop(ask: Any) -> None:
    number, answers = itertools.count(), iter(["", "yes", "N/A", "unknown", "Bergen"])
    model = ScriptedModel(
        lambda prompt: (
            f"Follow up: Question {next(number)}?" if is_next(prompt) else next(answers)
        )
    )
    result = ask(call_settings(model, max_followups=9), QUESTION)
    assert (result.stopped, len(result.trace), result.answer) == (
        "empty_answers",
        4,
        "Bergen",
    )
