"""The runner: batching, limits, cache, failures; every test both synchronously and on an event
loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
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
from structrag.models.embedders import FunctionEmbedder

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


class Weigher(Model):
    """Margins by the length of the prompt, of several together."""

    def __init__(self, fails: str = "", error: Exception | None = None) -> None:
        super().__init__(fails, error)
        self.together: list[list[str]] = []

    def choose_many(self, prompts: Sequence[str], options: tuple[str, str]) -> Any:
        self.together.append(list(prompts))
        return [self.choose(prompt, options) for prompt in prompts]

    def choose(self, prompt: str, options: tuple[str, str]) -> Any:
        if prompt == self.fail:
            raise self.error
        return (len(prompt) if options == OPTIONS else -len(prompt)) / 10

    async def achoose(self, prompt: str, options: tuple[str, str]) -> Any:
        return self.choose(prompt, options)


def test_choices_of_the_same_options_go_out_together(drive: Drive) -> None:
    model, cache = Weigher(), Cache(":memory:")
    runner = Runner(llm=model, cache=cache, batch_size=3)
    choices = [Choose(prompt, OPTIONS) for prompt in ("a", "bb", "ccc", "bb", "dddd")]
    choices += [Choose("a", ("2", "1")), Choose("ccc", ("2", "1"))]
    for _ in range(2):
        answers = drive(runner, yields(Ask("hello"), *choices))
        assert answers == ["HELLO", 0.1, 0.2, 0.3, 0.2, 0.4, -0.1, -0.3]
    assert ["a", "bb", "ccc"] in model.together and ["a", "ccc"] in model.together
    assert runner.usage.calls == 7 and len(cache) == 7


def test_a_choice_that_fails_does_not_take_the_others_with_it(drive: Drive) -> None:
    choices = [Choose(prompt, OPTIONS) for prompt in ("a", "bb", "ccc")]
    model, cache = Weigher("bb"), Cache(":memory:")
    first, failed, last = drive(Runner(llm=model, cache=cache), yields(*choices))
    assert (first, failed.reason, last) == (0.1, model.error, 0.3) and len(cache) == 2
    wrong = Weigher("bb", InvalidParameter("options must be others"))
    with pytest.raises(InvalidParameter, match="options must be others"):
        drive(Runner(llm=wrong), yields(*choices))
    with pytest.raises(BudgetExceeded):
        drive(Runner(llm=Weigher(), max_calls=2), yields(*choices))
