"""Calls of the language model: which go out together, what a model can do, what the cache keeps."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from doubles import ScriptedModel
from fixture_cases import examples

from structrag.errors import InvalidAnswer, ModelFailed, NoModel
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Ask, Choose, Failed
from structrag.model_calls.runner import Runner

YES = ("yes", "no")
Drive = Callable[..., list[Any]]


def flow(requests: Sequence[Any]) -> Any:
    return (yield list(requests))


@pytest.fixture(params=["sync", "async"])
def answers(request: pytest.FixtureRequest) -> Drive:
    def drive(model: Any, *requests: Any, **options: Any) -> list[Any]:
        runner = Runner(llm=model, **options)
        if request.param == "sync":
            return runner.run(flow(requests))
        return asyncio.run(runner.arun(flow(requests)))

    return drive


class Answering:
    """Answers many prompts at once, by a script; writes JSON."""

    name = "answering"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def complete_many(self, prompts: Sequence[str]) -> Any:
        self.asked.append(list(prompts))
        if isinstance(self.answer, Exception):
            raise self.answer
        capitals = [prompt.upper() for prompt in prompts]
        return capitals if self.answer is None else self.answer

    def complete(self, prompt: str) -> str:
        self.asked.append([prompt])
        return prompt.upper()

    def complete_json(self, prompt: str, schema: Any) -> str:
        return f"{prompt} {schema['type']}"


@pytest.mark.parametrize("answer", [ValueError("too many"), ["P0"], 7])
def test_prompts_that_fail_together_are_asked_one_by_one(
    answers: Drive, answer: Any
) -> None:
    model = Answering(answer)
    assert answers(model, Ask("p0"), Ask("p1")) == ["P0", "P1"]
    assert model.asked == [["p0", "p1"], ["p0"], ["p1"]]


def test_schemas_go_alone_to_a_model_that_can_be_held_to_them(
    answers: Drive,
) -> None:
    asks = [
        Ask("b"),
        Ask("c", schema={"type": "object"}),
        Ask("d"),
    ]
    model, plain = Answering(), ScriptedModel("plain")
    assert answers(model, *asks) == ["B", "c object", "D"]
    assert model.asked == [["b", "d"]]
    assert answers(plain, *asks) == ["plain"] * 3


def test_where_no_model_can_answer_none_is_asked(answers: Drive) -> None:
    for llm, error in ((None, NoModel), (ScriptedModel("x"), ModelFailed)):
        (failed,) = answers(llm, Choose("p", YES))
        assert isinstance(failed.reason, error) and not failed.asked


class Weighing:
    name = "weighing"

    def __init__(self, margin: Any) -> None:
        self.margin = margin

    def complete(self, prompt: str) -> str:
        return "text"

    def choose(self, prompt: str, options: tuple[str, str]) -> Any:
        return self.margin


def test_plain_differences_are_asked_of_a_models_other_form(answers: Drive) -> None:
    model = Weighing(0.5)
    model.unnormalised = Weighing(0.25)  # type: ignore[attr-defined]
    plain = Choose("p", YES, normalised=False)
    assert answers(model, Choose("p", YES)) == [0.5]
    assert answers(model, plain) == [0.25]
    assert answers(Weighing(0.5), plain) == [0.5]


@examples
def test_a_margin_is_a_number_from_minus_one_to_one_or_none(
    answers: Drive, answer: Any, margin: Any
) -> None:
    assert answers(Weighing(answer), Choose("p", YES)) == [margin]


@pytest.mark.parametrize(
    "answer", [1.001, -1.001, float("nan"), float("inf"), "much", [0.5], 10**400]
)
def test_what_is_no_margin_is_a_failure(answers: Drive, answer: Any) -> None:
    (failed,) = answers(Weighing(answer), Choose("p", YES))
    assert isinstance(failed, Failed) and isinstance(failed.reason, InvalidAnswer)


def test_keys_differ_by_all_that_an_answer_depends_on(answers: Drive) -> None:
    cache = Cache(":memory:")
    requests = [
        Ask("p", "c"),
        Ask("q", "c"),
        Ask("p", "d"),
        Ask("p", "c", schema={"type": "object"}),
        Ask("p", "c", schema={"type": "array"}),
        Choose("p", YES, "c"),
        Choose("p", ("no", "yes"), "c"),
    ]
    answers(Weighing(0.5), *requests, cache=cache)
    assert len(cache) == len(requests)
    answers(ScriptedModel("x"), requests[0], cache=cache)
    assert len(cache) == len(requests) + 1


@examples
def test_a_cached_answer_of_another_kind_is_asked_for_again(
    answers: Drive, damaged: Any
) -> None:
    kept: dict[str, Any] = {}

    class Damaged(Cache):
        def put(self, key: str, value: Any) -> None:
            kept[key] = value
            super().put(key, damaged)

    cache = Damaged(":memory:")
    for _ in range(2):
        assert answers(ScriptedModel("text"), Ask("p"), cache=cache) == ["text"]
    assert list(kept.values()) == [{"answer": "text"}]
