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
    entry_of,
    fill_in,
    is_kept,
    jobs_of,
    model_for,
    usable_answer,
)
from structrag.asking.counted import CallTokens, counted, told_tokens
from structrag.asking.failures import acall_models, call_models
from structrag.asking.requests import Ask, Choose, Failed, LanguageModel
from structrag.errors import InvalidAnswer, InvalidParameter, ModelFailed, NoModel

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


def test_only_choices_between_equal_options_go_together_and_only_where_the_model_can() -> (
    None
):
    mixed = [*choices(2), *choices(2, ("a", "b")), *choices(1)]
    assert sizes(mixed, Weighing(), 8) == [3, 2]
    assert sizes(mixed, ScriptedModel("x"), 8) == sizes(mixed, None, 8) == [1] * 5
    prompts = [Call(Ask("p", component="c"), "k", named=True)] * 2
    assert sizes(prompts, Weighing(), 8) == [1, 1]


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


def test_prompts_go_out_together_to_a_model_that_answers_many() -> None:
    assert sizes(prompts_for(5), Answering(), 2) == [2, 2, 1]
    other = Answering()
    assert sizes(
        [*prompts_for(2), *prompts_for(2, other), *choices(1)], Answering(), 8
    ) == [
        2,
        2,
        1,
    ]
    assert sizes(prompts_for(2, ScriptedModel("x")), Answering(), 8) == [1, 1]
    assert ask_model(prompts_for(2, other), None) == ["P0", "P1"] and other.asked == [
        ["p0", "p1"]
    ]


@pytest.mark.parametrize("answer", [ValueError("too many"), ["P0"], None])
def test_prompts_that_fail_together_are_asked_one_by_one(answer: Any) -> None:
    model = Answering(answer)
    assert ask_model(prompts_for(2), model) == ["P0", "P1"]
    assert model.asked == [["p0", "p1"], *([] if answer is None else [["p0"], ["p1"]])]
    assert asyncio.run(aask_model(prompts_for(2), Answering(answer))) == ["P0", "P1"]


@pytest.mark.parametrize("answer", [ValueError("too many"), [0.5], None])
def test_a_job_that_fails_as_a_whole_is_asked_call_by_call(answer: Any) -> None:
    model = Weighing(answer)
    expected = [0.5, 0.5] if answer is None else [0.25, 0.25]
    assert ask_model(choices(2), model) == expected
    assert model.asked == [["p0", "p1"], *([] if answer is None else [["p0"], ["p1"]])]
    assert asyncio.run(aask_model(choices(2), Weighing(answer))) == expected
    assert ask_model(choices(1), Weighing(answer)) == [0.25]


def test_errors_on_purpose_pass_through_and_others_are_failed_calls() -> None:
    job = [Call(Ask("p", component="c"), "k", named=True)]
    (failed,) = ask_model(job, ScriptedModel(ValueError("broken")))
    assert isinstance(failed, Failed) and str(failed.reason) == "broken"
    (failed,) = asyncio.run(aask_model(job, ScriptedModel(ValueError("broken"))))
    assert isinstance(failed, Failed) and str(failed.reason) == "broken"
    wrong = InvalidParameter("wrong")
    for model, calls in ((ScriptedModel(wrong), job), (Weighing(wrong), choices(2))):
        with pytest.raises(InvalidParameter, match="wrong"):
            ask_model(calls, model)
        with pytest.raises(InvalidParameter, match="wrong"):
            asyncio.run(aask_model(calls, model))


def test_the_model_is_the_requests_else_the_default_else_there_is_none() -> None:
    default, other = ScriptedModel("x"), ScriptedModel("y")
    assert model_for(Ask("p", component="c"), default) is default
    assert model_for(Ask("p", component="c", llm=other), default) is other
    none = model_for(Ask("p", component="c"), None)
    assert isinstance(none, Failed) and isinstance(none.reason, NoModel)
    unable = model_for(choices(1)[0].request, default)
    assert isinstance(unable, Failed) and isinstance(unable.reason, ModelFailed)
    assert model_for(choices(1)[0].request, Weighing()) is not None  # type: ignore[arg-type]


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


def test_all_answers_of_requests_that_may_be_cached_are_kept() -> None:
    assert is_kept(Ask("p", component="c"), "")
    assert not is_kept(Ask("p", component="c", use_cache=False), "long")
    assert not is_kept(Ask("p", component="c"), Failed(ValueError()))
    assert is_kept(choices(1)[0].request, 0.5)


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


def test_keys_differ_by_model_component_prompt_and_options() -> None:
    keys = [
        ask_key("m", Ask("p", component="c")),
        ask_key("n", Ask("p", component="c")),
        ask_key("m", Ask("q", component="c")),
        ask_key("m", Ask("p", component="d")),
        ask_key("m", Choose("p", YES, component="c")),
        ask_key("m", Choose("p", ("no", "yes"), component="c")),
    ]
    assert len(set(keys)) == len(keys)
    assert ask_key("m", Ask("p", component="c", use_cache=False)) == keys[0]


def test_an_answer_stands_wherever_it_was_asked_for() -> None:
    answers: list[Any] = [None] * 4
    first, second = choices(2)
    first.positions, second.positions = [0, 3], [1]
    fill_in(answers, [first, second], ["a", "b"])
    assert answers == ["a", "b", None, "a"]


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


def test_the_cache_keeps_the_tokens_of_an_answer_where_they_are_known() -> None:
    ask, cache = Ask("p"), Cache(":memory:")
    assert entry_of("text") == {"answer": "text"}
    entry = entry_of(counted("text", CallTokens(7, 2)))
    assert entry == {"answer": "text", "tokens": (7, 2)}
    cache.put("counted", entry)
    again = cached_entry(cache, "counted", ask)
    assert again is not None and told_tokens(again["answer"]) == CallTokens(7, 2)
