"""The runner: batching, limits, cache, failures; every test both synchronously and on an event
loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from doubles import HashTokens
from fixture_cases import examples

from structrag.errors import (
    BudgetExceeded,
    InvalidAnswer,
    InvalidParameter,
    ModelFailed,
)
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    EmbedTokens,
    Failed,
    Flow,
    Search,
)
from structrag.model_calls.runner import Runner
from structrag.models.embedders import FunctionEmbedder, as_embedder

Drive = Callable[[Runner, Any], Any]
USER = contextvars.ContextVar("USER", default="nobody")


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    if request.param == "sync":
        return lambda runner, flow: runner.run(flow)
    return lambda runner, flow: asyncio.run(runner.arun(flow))


class Model:
    """Answers with the prompt in capitals; remembers what it was asked and how many calls were open
    at once."""

    name = "model-a"

    def __init__(
        self, fail: str = "", error: Exception | None = None, margin: Any = 0.5
    ) -> None:
        self.asked: list[str] = []
        self.fail, self.error, self.margin = fail, error or RuntimeError("no"), margin
        self.open, self.most = 0, 0
        self.users: set[str] = set()
        self.lock = threading.Lock()

    def begin(self, prompt: str) -> None:
        with self.lock:
            self.asked.append(prompt)
            self.users.add(USER.get())
            self.open += 1
            self.most = max(self.most, self.open)

    def end(self, prompt: str) -> str:
        with self.lock:
            self.open -= 1
        if self.fail and prompt == self.fail:
            raise self.error
        return prompt.upper()

    def complete(self, prompt: str) -> str:
        self.begin(prompt)
        time.sleep(0.002)
        return self.end(prompt)

    async def acomplete(self, prompt: str) -> str:
        self.begin(prompt)
        await asyncio.sleep(0.002)
        return self.end(prompt)

    def choose(self, prompt: str, options: tuple[str, str]) -> Any:
        return self.margin

    async def achoose(self, prompt: str, options: tuple[str, str]) -> Any:
        return self.margin


class Vectors:
    name = "vectors-a"

    def __init__(self, answer: Callable[[Sequence[str]], Any] | None = None) -> None:
        self.batches: list[list[str]] = []
        self.answer = answer or (
            lambda texts: [[float(len(text)), 1.0] for text in texts]
        )

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.batches.append(list(texts))
        return self.answer(texts)

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        return self.embed(texts, query=query)


def yields(*requests: Any) -> Any:
    return (yield list(requests))


def test_answers_stand_where_their_requests_stood(drive: Drive) -> None:
    class Route:
        def search(self, request: Search) -> Any:
            return [(request.query, 1.0)]

        async def asearch(self, request: Search) -> Any:
            return self.search(request)

    runner = Runner(llm=Model(), embedder=Vectors(), routes={"r": Route()})
    answers = drive(
        runner,
        yields(
            Search("r", "q", None, 3),
            Ask("one"),
            Embed(("aa", "b")),
            Choose("x", ("a", "b")),
            Ask("two"),
            Embed(()),
        ),
    )
    assert answers[0] == [("q", 1.0)]
    assert answers[1] == "ONE"
    assert answers[2].tolist() == [[2.0, 1.0], [1.0, 1.0]]
    assert answers[3:5] == [0.5, "TWO"]
    assert answers[5].shape == (0, 0)
    assert runner.usage.as_dict()["calls"] == 3
    assert runner.usage.embedded == 2


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda texts: [[1.0], [1.0, 2.0]], "one vector of numbers"),
        (lambda texts: [[1.0]], "2 vectors for 2 texts"),
        (lambda texts: None, "2 vectors for 2 texts"),
        (lambda texts: [["a"]] * 2, "one vector of numbers"),
        (lambda texts: [[]] * 2, "2 vectors for 2 texts"),
        (lambda texts: [[1.0], [float("nan")]], "NaN or infinite values for the text"),
        (lambda texts: [[1e300]] * 2, "NaN or infinite"),
    ],
)
def test_unusable_vectors_are_refused_and_not_kept(
    drive: Drive, answer: Any, message: str
) -> None:
    cache = Cache(":memory:")
    with pytest.raises(InvalidAnswer, match=message):
        drive(Runner(embedder=Vectors(answer), cache=cache), yields(Embed(("t", "uu"))))
    assert len(cache) == 0


def test_vectors_of_another_length_in_the_cache_are_noticed(drive: Drive) -> None:
    cache = Cache(":memory:")
    drive(Runner(embedder=Vectors(), cache=cache), yields(Embed(("t",))))
    with pytest.raises(InvalidAnswer, match="different dimensions"):
        drive(
            Runner(
                embedder=Vectors(lambda texts: np.ones((len(texts), 3))), cache=cache
            ),
            yields(Embed(("t", "u"))),
        )


def test_what_is_missing_is_named(drive: Drive) -> None:
    answers = drive(Runner(), yields(Ask("p"), Choose("p", ("a", "b"))))
    assert all(
        isinstance(answer, Failed) and "llm=" in str(answer.reason)
        for answer in answers
    )
    with pytest.raises(ModelFailed, match="embedder="):
        drive(Runner(), yields(Embed(("t",))))
    with pytest.raises(InvalidParameter, match="'none'"):
        drive(Runner(), yields(Search("none", "q", None, 1)))
    with pytest.raises(InvalidParameter, match="batch_size"):
        Runner(batch_size=0)


@examples
def test_an_error_says_what_to_do_now(drive: Drive, query: bool, cure: str) -> None:
    runner = Runner(embedder=Vectors(lambda texts: 1 / 0))
    with pytest.raises(ModelFailed) as caught:
        drive(runner, yields(Embed(("t",), query)))
    assert str(caught.value).endswith(f"Fix the cause and {cure}.")
    assert ("kept whole" in str(caught.value)) is not query


def test_an_error_of_ours_cancels_the_calls_that_wait(drive: Drive) -> None:
    model = Model(fail="p0", error=ModelFailed("key refused"))
    with pytest.raises(ModelFailed, match="key refused"):
        drive(
            Runner(llm=model, max_concurrency=1),
            yields(*(Ask(f"p{i}") for i in range(50))),
        )
    assert len(model.asked) < 50
    assert model.open <= 1


OPTIONS = ("1", "2")


class Weigher:
    """Margins by the length of the prompt; notes each call. `fails` names prompts that raise."""

    name = "weigher"

    def __init__(
        self, fails: Sequence[str] = (), error: Exception | None = None
    ) -> None:
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
        return (
            (len(prompt) if options == OPTIONS else -len(prompt)) / 10
            if prompt
            else None
        )


class Awaited(Weigher):
    async def achoose_many(
        self, prompts: Sequence[str], options: tuple[str, str]
    ) -> Any:
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
        sorted(model.together)
        == [["", "dddd", "eeeee"], ["a", "bb", "ccc"], ["a", "ccc"]]
        and not model.single
    )
    assert runner.usage.calls == 9 and told[-1] == (9, 9) and len(cache) == 9
    assert (
        answers_of(runner, requests[1:], mode) == found[1:] and len(model.together) == 3
    )
    assert answers_of(runner, [Choose("new", OPTIONS)], mode) == [
        0.3
    ] and model.single == ["new"]


@MODES
def test_one_that_fails_does_not_take_the_others_with_it(mode: str) -> None:
    model, cache = Weigher(fails=["bb"]), Cache(":memory:")
    found = answers_of(
        Runner(llm=model, cache=cache),
        [Choose(p, OPTIONS) for p in ("a", "bb", "ccc")],
        mode,
    )
    assert found[0] == 0.1 and found[2] == 0.3 and len(cache) == 2
    assert (
        isinstance(found[1], Failed)
        and found[1].reason is model.error
        and model.single == ["a", "bb", "ccc"]
    )


@MODES
def test_errors_on_purpose_pass_through_and_the_budget_counts_choices(
    mode: str,
) -> None:
    wrong = Weigher(fails=["a"], error=InvalidParameter("options must be others"))
    with pytest.raises(InvalidParameter, match="options must be others"):
        answers_of(
            Runner(llm=wrong), [Choose("a", OPTIONS), Choose("bb", OPTIONS)], mode
        )
    assert not wrong.single
    model, cache = Weigher(), Cache(":memory:")
    with pytest.raises(BudgetExceeded):
        answers_of(
            Runner(llm=model, max_calls=2, cache=cache),
            [Choose("x" * n, OPTIONS) for n in (1, 2, 3)],
            mode,
        )
    assert model.together == [["x", "xx"]] and len(cache) == 2


def test_token_vectors_come_in_batches_and_are_counted(drive: Drive) -> None:
    encoder, shown = HashTokens(), []
    runner = Runner(batch_size=2, progress=lambda *facts: shown.append(facts))

    def call_settings() -> Flow[Any]:
        return (yield [EmbedTokens(("one two", "three", "four"), encoder)])

    (tokens,) = drive(runner, call_settings())
    assert [len(one.ids) for one in tokens] == [2, 1, 1]
    assert encoder.passes == [("one two", "three"), ("four",)]
    assert runner.usage.embedded == 3 and shown[-1] == ("embedding passages", 3, 3)


def test_an_embedder_that_changes_its_dimension_is_refused(drive: Drive) -> None:
    widths = iter([3, 2])
    embedder = FunctionEmbedder(
        lambda texts: [[1.0] * next(widths) for _ in texts], name="odd"
    )

    def flow() -> Flow[None]:
        yield [Embed(("a",))]
        yield [Embed(("a",), query=True)]

    with pytest.raises(
        InvalidAnswer, match="'odd' returned vectors of 3 dimensions, then of 2"
    ):
        drive(Runner(embedder=embedder), flow())


def test_a_cache_warns_of_a_model_without_a_name() -> None:
    unnamed = as_embedder(lambda texts: [[1.0]] * len(texts))
    with pytest.warns(
        UserWarning, match="cache cannot keep answers of the embedder"
    ) as warned:
        Runner(llm=Model(), embedder=unnamed, cache=Cache(":memory:"))
    assert len(warned) == 1 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Runner(embedder=unnamed)
        Runner(embedder=Vectors(), cache=Cache(":memory:"))
