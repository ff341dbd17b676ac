"""Calls of the language model: which go out together, which answers can be used, and what a model
that fails leaves."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from doubles import ScriptedModel
from fixture_cases import examples

from structrag.asking.cache import Cache
from structrag.asking.calls import (
    Call,
    ask_key,
    asking,
    cached_entry,
    jobs_of,
    model_for,
    usable_answer,
)
from structrag.asking.failures import acall_models, call_models
from structrag.asking.requests import Ask, Choose, Failed, LanguageModel
from structrag.errors import InvalidAnswer

YES = ("yes", "no")


def ask_model(job: Sequence[Call], model: LanguageModel | None) -> list[Any]:
    return call_models(asking(job, model), timeout=None)


async def aask_model(job: Sequence[Call], model: LanguageModel | None) -> list[Any]:
    return await acall_models(asking(job, model), timeout=None)


class Weighing:
    """A model that weighs many prompts at once, by a script."""

    name = "weighing"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def choose_many(self, prompts: Sequence[str], options: tuple[str, str]) -> Any:
        self.asked.append(list(prompts))
        if isinstance(self.answer, Exception):
            raise self.answer
        return [0.5] * len(prompts) if self.answer is None else self.answer

    def choose(self, prompt: str, options: tuple[str, str]) -> float:
        self.asked.append([prompt])
        return 0.25


def choices(n: int, options: tuple[str, str] = YES) -> list[Call]:
    return [
        Call(Choose(f"p{i}", options, component="c"), f"k{i}", named=True)
        for i in range(n)
    ]


def sizes(calls: Sequence[Call], model: Any, most: int) -> list[int]:
    return [len(job) for job in jobs_of(calls, model, most)]


@examples
def test_choices_go_out_together(n: int, most: int, expected: list[int]) -> None:
    assert sizes(choices(n), Weighing(), most) == expected


class Answering:
    """A model that answers many prompts at once, by a script."""

    name = "answering"

    def __init__(self, answer: Any = None) -> None:
        self.answer = answer
        self.asked: list[list[str]] = []

    def complete_many(self, prompts: Sequence[str]) -> Any:
        self.asked.append(list(prompts))
        if isinstance(self.answer, Exception):
            raise self.answer
        return (
            [prompt.upper() for prompt in prompts]
            if self.answer is None
            else self.answer
        )

    def complete(self, prompt: str) -> str:
        self.asked.append([prompt])
        return prompt.upper()


def prompts_for(n: int, llm: Any = None) -> list[Call]:
    return [
        Call(Ask(f"p{i}", component=str(i), llm=llm), f"k{i}", named=True)
        for i in range(n)
    ]


@pytest.mark.parametrize("answer", [ValueError("too many"), ["P0"], None])
def test_prompts_that_fail_together_are_asked_one_by_one(answer: Any) -> None:
    model = Answering(answer)
    assert ask_model(prompts_for(2), model) == ["P0", "P1"]
    assert model.asked == [["p0", "p1"], *([] if answer is None else [["p0"], ["p1"]])]
    assert asyncio.run(aask_model(prompts_for(2), Answering(answer))) == ["P0", "P1"]


@examples
def test_a_margin_is_a_number_from_minus_one_to_one_or_none(
    answer: Any, margin: Any
) -> None:
    assert usable_answer(choices(1)[0].request, answer) == margin


@pytest.mark.parametrize(
    "answer", [1.001, -1.001, float("nan"), float("inf"), "much", [0.5], 10**400]
)
def test_what_is_no_margin_is_a_failure(answer: Any) -> None:
    failed = usable_answer(choices(1)[0].request, answer)
    assert isinstance(failed, Failed) and isinstance(failed.reason, InvalidAnswer)


def test_a_prompt_is_answered_by_a_string() -> None:
    ask = Ask("p", component="c")
    assert usable_answer(ask, "") == ""
    failed = usable_answer(ask, 3)
    assert isinstance(failed, Failed) and str(failed.reason).endswith(
        "a string; got int."
    )


def test_a_cached_answer_of_another_kind_is_not_there(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "answers")
    cache.put("k", {"answer": "no"})
    assert cached_entry(cache, "k", Ask("p", component="c")) == {"answer": "no"}
    for damaged in ("no", ["no"], {}, {"answer": 7}, {"answer": None}):
        cache.put("damaged", damaged)
        assert cached_entry(cache, "damaged", Ask("p", component="c")) is None
    cache.put("choice", {"answer": 7})
    assert cached_entry(cache, "choice", choices(1)[0].request) is None
    assert cached_entry(cache, "k", Ask("p", component="c", use_cache=False)) is None
    assert cached_entry(cache, "x", Ask("p", component="c")) is None
    assert cached_entry(None, "k", Ask("p", component="c")) is None


class Picking:
    """A model that picks the last option and completes many prompts at once."""

    name = "picking"

    def complete(self, prompt: str) -> str:
        return "any text"

    def complete_many(self, prompts: Sequence[str]) -> list[str]:
        return ["any text"] * len(prompts)

    def pick(self, prompt: str, options: Sequence[str]) -> str:
        return options[-1]


async def test_a_prompt_with_options_goes_alone_to_a_model_that_picks() -> None:
    options = ("1", "2")
    calls = [
        Call(Ask(f"p{i}", options=options[:i]), f"k{i}", named=True)
        for i in (0, 2, 0, 2)
    ]
    assert [len(job) for job in jobs_of(calls, Picking(), 8)] == [2, 1, 1]
    assert (
        ask_model(calls[1:2], Picking())
        == await aask_model(calls[1:2], Picking())
        == ["2"]
    )
    assert ask_model(calls[:1], Picking()) == ["any text"]
    assert ask_model(calls[1:2], ScriptedModel("1 of them")) == ["1 of them"]
    assert ask_key("m", calls[0].request) != ask_key("m", Ask("p0", options=options))


@pytest.mark.parametrize("on_loop", [False, True])
def test_a_model_that_takes_schemas_is_given_them(on_loop: bool) -> None:
    class Held(ScriptedModel):
        def complete_json(self, prompt: str, schema: Any) -> str:
            return f"{prompt} {schema['type']}"

        def complete_many(self, prompts: Sequence[str]) -> list[str]:
            return [self.complete(prompt) for prompt in prompts]

    schema = {"type": "object"}
    calls = [
        Call(Ask(prompt, schema=kind), "k", named=True)
        for prompt, kind in (("a", schema), ("b", None), ("c", None), ("d", schema))
    ]
    model = Held("plain")
    jobs = jobs_of(calls, model, 8)
    assert [[call.request.prompt for call in job] for job in jobs] == [
        ["a"],
        ["b", "c"],
        ["d"],
    ]
    answers = []
    for job in jobs:
        answers += (
            asyncio.run(aask_model(job, model)) if on_loop else ask_model(job, model)
        )
    assert answers == ["a object", "plain", "plain", "d object"]
    plain = ScriptedModel("plain")
    assert ask_model(calls[:1], plain) == ["plain"]  # one that takes none


def test_where_no_model_can_answer_none_was_asked() -> None:
    for request in (Ask("p"), Choose("p", YES)):
        for default in (None, ScriptedModel("x")):
            failed = model_for(request, default)
            assert not isinstance(failed, Failed) or not failed.asked
    (called,) = ask_model(prompts_for(1), ScriptedModel(ValueError("broken")))
    assert called.asked


def test_plain_differences_are_asked_of_a_models_other_form() -> None:
    class TwoForms(Weighing):
        unnormalised = Weighing()

    model: Any = TwoForms()
    plain = Choose("p", YES, normalised=False)
    assert model_for(Choose("p", YES), model) is model
    assert model_for(plain, model) is model.unnormalised
    one_form: Any = Weighing()
    assert model_for(plain, one_form) is one_form
