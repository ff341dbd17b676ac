"""Choices that a runner asks several at once: the same answers, cache, budget and failures as one
by one."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from structrag.asking.cache import Cache
from structrag.asking.requests import Ask, Choose, Failed
from structrag.asking.runner import Runner
from structrag.errors import BudgetExceeded, InvalidAnswer, InvalidParameter

OPTIONS = ("1", "2")


class Weigher:
    """Margins by the length of the prompt; notes each call. `fails` names prompts that raise."""

    name = "weigher"

    def __init__(self, fails: Sequence[str] = (), error: Exception | None = None) -> None:
        self.fails = fails
        self.error = error or RuntimeError("out of memory")
        self.together: list[list[str]] = []
        self.single: list[str] = []

    def choose_many(self, prompts: Sequence[str], options: tuple[str, str]) -> Any:
        self.together.append(list(prompts))
        return [self._margin(prompt, options) for prompt in prompts]

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        self.single.append(prompt)
        return self._margin(prompt, options)

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        return self.choose(prompt, options)

    def complete(self, prompt: str) -> str:
        return prompt.upper()

    async def acomplete(self, prompt: str) -> str:
        return self.complete(prompt)

    def _margin(self, prompt: str, options: tuple[str, str]) -> float | None:
        if prompt in self.fails:
            raise self.error
        return (len(prompt) if options == OPTIONS else -len(prompt)) / 10 if prompt else None


class Awaited(Weigher):
    async def achoose_many(self, prompts: Sequence[str], options: tuple[str, str]) -> Any:
        await asyncio.sleep(0)
        return self.choose_many(prompts, options)


def one_round(requests: Sequence[Any]) -> Any:
    answers = yield requests
    return answers


def answers_of(runner: Runner, requests: Sequence[Any], mode: str) -> list[Any]:
    if mode == "sync":
        return runner.run(one_round(requests))
    return asyncio.run(runner.arun(one_round(requests)))


MODES = pytest.mark.parametrize("mode", ["sync", "async"])


@MODES
@pytest.mark.parametrize("kind", [Weigher, Awaited])
def test_choices_go_out_together_and_every_answer_is_where_it_belongs(
    mode: str, kind: type[Weigher]
) -> None:
    model, cache = kind(), Cache(":memory:")
    told: list[tuple[int, int]] = []
    runner = Runner(
        llm=model,
        cache=cache,
        batch_size=3,
        progress=lambda _, done, total: told.append((done, total)),
    )
    prompts = ["a", "bb", "ccc", "", "bb", "dddd", "eeeee"]
    swapped = ("2", "1")
    requests = [
        Ask("hello"),
        *(Choose(p, OPTIONS) for p in prompts),
        Choose("a", swapped),
        Choose("ccc", swapped),
    ]
    found = answers_of(runner, requests, mode)
    assert found == ["HELLO", 0.1, 0.2, 0.3, None, 0.2, 0.4, 0.5, -0.1, -0.3]
    assert (
        sorted(model.together) == [["", "dddd", "eeeee"], ["a", "bb", "ccc"], ["a", "ccc"]]
        and not model.single
    )
    assert runner.usage.calls == 9 and told[-1] == (9, 9) and len(cache) == 9
    assert answers_of(runner, requests[1:], mode) == found[1:] and len(model.together) == 3
    assert answers_of(runner, [Choose("new", OPTIONS)], mode) == [0.3] and model.single == ["new"]


@MODES
def test_one_that_fails_does_not_take_the_others_with_it(mode: str) -> None:
    model, cache = Weigher(fails=["bb"]), Cache(":memory:")
    found = answers_of(
        Runner(llm=model, cache=cache), [Choose(p, OPTIONS) for p in ("a", "bb", "ccc")], mode
    )
    assert found[0] == 0.1 and found[2] == 0.3 and len(cache) == 2
    assert (
        isinstance(found[1], Failed)
        and found[1].reason is model.error
        and model.single == ["a", "bb", "ccc"]
    )


@MODES
@pytest.mark.parametrize("answer", [[0.1], 0.5, None])
def test_an_answer_of_another_length_is_not_trusted(mode: str, answer: Any) -> None:
    model = Awaited()
    model.choose_many = lambda prompts, options: answer  # type: ignore[method-assign]
    found = answers_of(Runner(llm=model), [Choose("a", OPTIONS), Choose("bb", OPTIONS)], mode)
    assert found == [0.1, 0.2] and model.single == ["a", "bb"]


@MODES
def test_margins_are_checked_one_by_one(mode: str) -> None:
    model = Weigher()
    found = answers_of(Runner(llm=model), [Choose("x" * 20, OPTIONS), Choose("bb", OPTIONS)], mode)
    assert (
        isinstance(found[0], Failed)
        and isinstance(found[0].reason, InvalidAnswer)
        and found[1] == 0.2
    )


@MODES
def test_errors_on_purpose_pass_through_and_the_budget_counts_choices(mode: str) -> None:
    wrong = Weigher(fails=["a"], error=InvalidParameter("options must be others"))
    with pytest.raises(InvalidParameter, match="options must be others"):
        answers_of(Runner(llm=wrong), [Choose("a", OPTIONS), Choose("bb", OPTIONS)], mode)
    assert not wrong.single
    model, cache = Weigher(), Cache(":memory:")
    with pytest.raises(BudgetExceeded):
        answers_of(
            Runner(llm=model, max_calls=2, cache=cache),
            [Choose("x" * n, OPTIONS) for n in (1, 2, 3)],
            mode,
        )
    assert model.together == [["x", "xx"]] and len(cache) == 2
