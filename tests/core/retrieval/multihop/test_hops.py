"""Rounds of questions, and where they end."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from doubles import HashEmbedder, ScriptedModel

from structrag.index.index import Index
from structrag.reading.files import read_text
from structrag.retrieval.multihop.selfask import SelfAsk, SelfAskResult
from structrag.retrieval.multiview import MultiViewRetriever

FILMS = """# Films
## The Lantern
The Lantern is a film from 1968. It was directed by Ada Holm.
## Directors
Ada Holm was born in Bergen in 1931.
## Cities
Bergen lies on the west coast of Norway.
"""


QUESTION = "Where was the director of The Lantern born?"


def index_of(text: str = FILMS, **options: Any) -> Index:
    index = Index(embedder=HashEmbedder(), views=("raw",), **options)
    index.add([read_text(text, id="films")])
    return index


def is_next(prompt: str) -> bool:
    return prompt.startswith("Answer a question with the help of follow-up questions")


def is_final(prompt: str) -> bool:
    return "the evidence and the intermediate answers" in prompt


def asking(model: Any, *, k: int = 1, **options: Any) -> SelfAsk:
    return SelfAsk(MultiViewRetriever(index_of(), k=k), model, **options)


@pytest.fixture(params=["sync", "async"])
def ask(request: pytest.FixtureRequest) -> Callable[[SelfAsk, str], SelfAskResult]:
    if request.param == "sync":
        return lambda agent, question: agent.answer(question)
    return lambda agent, question: asyncio.run(agent.aanswer(question))


@pytest.mark.parametrize(
    "written", ["Follow up: Who directed it?", "follow up:  WHO   directed IT?"]
)
def test_a_follow_up_that_repeats_for_ever_ends_the_loop(ask: Any, written: str) -> None:
    replies = itertools.chain(["Follow up: Who directed it?"], itertools.repeat(written))
    model = ScriptedModel(lambda prompt: next(replies) if is_next(prompt) else "Bergen")
    result = ask(asking(model), QUESTION)
    assert (result.stopped, len(result.trace), result.answer) == ("repeated_followup", 1, "Bergen")
    assert is_final(model.prompts[-1])


def test_most_follow_ups(ask: Any) -> None:
    number = itertools.count()
    model = ScriptedModel(
        lambda prompt: f"Follow up: Question {next(number)}?" if is_next(prompt) else "something"
    )
    result = ask(asking(model, max_followups=3), QUESTION)
    assert (result.stopped, len(result.trace), result.answer) == ("max_followups", 3, "something")
    assert result.total.calls == 3 + 4 + 1
    assert "Intermediate answer: something" in model.prompts[-1]


def test_two_empty_answers_in_a_row_end_the_loop(ask: Any) -> None:
    number, answers = itertools.count(), iter(["", "yes", "N/A", "unknown", "Bergen"])
    model = ScriptedModel(
        lambda prompt: f"Follow up: Question {next(number)}?" if is_next(prompt) else next(answers)
    )
    result = ask(asking(model, max_followups=9), QUESTION)
    assert (result.stopped, len(result.trace), result.answer) == ("empty_answers", 4, "Bergen")
