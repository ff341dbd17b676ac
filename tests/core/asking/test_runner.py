"""The runner: batching, limits, cache, failures; every test both synchronously and on an event
loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashTokens, ScriptedModel
from fixture_cases import examples
from ticking import ticking

from structrag.asking.cache import Cache
from structrag.asking.requests import (
    Ask,
    Choose,
    Embed,
    EmbedTokens,
    Failed,
    Score,
    Search,
    Steps,
)
from structrag.asking.runner import Runner
from structrag.errors import (
    BudgetExceeded,
    InvalidAnswer,
    InvalidParameter,
    ModelFailed,
)
from structrag.models.embedders import FunctionEmbedder, as_embedder

Drive = Callable[[Runner, Any], Any]
USER = contextvars.ContextVar("USER", default="nobody")


@pytest.fixture(params=["sync", "async"])
def drive(request: pytest.FixtureRequest) -> Drive:
    if request.param == "sync":
        return lambda runner, steps: runner.run(steps)
    return lambda runner, steps: asyncio.run(runner.arun(steps))


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


class Local:
    """A model, an embedder and a route in one, without any method to await."""

    name = "local"

    def __init__(self) -> None:
        self.threads: set[int] = set()
        self.open, self.most, self.lock = 0, 0, threading.Lock()

    def _called(self) -> None:
        self.threads.add(threading.get_ident())
        with self.lock:
            self.open += 1
            self.most = max(self.most, self.open)
        time.sleep(0.002)
        with self.lock:
            self.open -= 1

    def complete(self, prompt: str) -> str:
        self._called()
        return prompt.upper()

    def choose(self, prompt: str, options: tuple[str, str]) -> float:
        self._called()
        return 0.25

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self._called()
        return [[float(len(text)), float(query)] for text in texts]

    def search(self, request: Search) -> Any:
        self._called()
        return [(request.query, 1.0)]


async def test_models_without_async_methods_run_in_worker_threads() -> None:
    requests = [
        Ask("one"),
        Choose("x", ("a", "b")),
        Embed(("aa",), query=True),
        Search("r", "q", None, 3),
        *[Ask(f"prompt {i}") for i in range(20)],
    ]
    local = Local()
    runner = Runner(llm=local, embedder=local, routes={"r": local}, max_concurrency=3)
    answers = await runner.arun(yields(*requests))
    assert answers[:2] == ["ONE", 0.25]
    assert answers[2].tolist() == [[2.0, 1.0]]
    assert answers[3] == [("q", 1.0)]
    assert answers[4:] == [f"PROMPT {i}" for i in range(20)]
    assert threading.get_ident() not in local.threads
    assert local.most <= 3


def test_texts_are_sent_once_in_bounded_batches(drive: Drive) -> None:
    vectors = Vectors()
    texts = tuple("x" * (i % 7 + 1) for i in range(50))
    answer = drive(Runner(embedder=vectors, batch_size=3), yields(Embed(texts)))[0]
    sent = [text for batch in vectors.batches for text in batch]
    assert max(map(len, vectors.batches)) == 3
    assert sorted(sent) == sorted(set(texts))
    assert answer[:, 0].tolist() == [float(len(text)) for text in texts]


def test_concurrency_stays_within_its_limit(drive: Drive) -> None:
    model = Model()
    answers = drive(
        Runner(llm=model, max_concurrency=3), yields(*(Ask(f"p{i}") for i in range(20)))
    )
    assert answers == [f"P{i}" for i in range(20)]
    assert 1 < model.most <= 3


def test_a_prompt_may_name_who_answers_it(drive: Drive) -> None:
    own, other = Model(), Model()
    other.name = "model-b"
    runner = Runner(llm=own, cache=Cache(":memory:"), max_calls=3)
    steps = (Ask("a"), Ask("a", llm=other), Ask("b", llm=other))
    assert (
        drive(runner, yields(*steps))
        == drive(runner, yields(*steps))
        == ["A", "A", "B"]
    )
    assert (own.asked, sorted(other.asked)) == (["a"], ["a", "b"])
    assert drive(Runner(), yields(Ask("a", llm=other))) == ["A"]
    assert runner.usage.as_dict()["calls"] == 3


def test_equal_requests_are_one_call_unless_they_must_not_be_cached(
    drive: Drive,
) -> None:
    model = Model()
    assert drive(Runner(llm=model), yields(Ask("a"), Ask("a"))) == ["A", "A"]
    assert model.asked == ["a"]
    drive(
        Runner(llm=model), yields(Ask("b", use_cache=False), Ask("b", use_cache=False))
    )
    assert model.asked == ["a", "b", "b"]


def test_a_run_that_crashed_repeats_no_finished_call(
    drive: Drive, tmp_path: Path
) -> None:
    texts = tuple(f"text {i}" for i in range(10))

    def steps() -> Any:
        asked = yield [Ask("one"), Ask("two")]
        return asked, (yield [Embed(texts)])[0]

    sent: list[str] = []

    def third_fails(batch: Sequence[str]) -> Any:
        if len(sent) == 4:
            raise OSError("connection lost")
        sent.extend(batch)
        return [[1.0, 2.0]] * len(batch)

    with pytest.raises(ModelFailed, match="connection lost"):
        drive(
            Runner(
                llm=Model(),
                embedder=Vectors(third_fails),
                cache=Cache(tmp_path / "c"),
                batch_size=2,
            ),
            steps(),
        )
    model, vectors = Model(), Vectors()
    runner = Runner(
        llm=model, embedder=vectors, cache=Cache(tmp_path / "c"), batch_size=2
    )
    assert drive(runner, steps())[0] == ["ONE", "TWO"]
    assert model.asked == []
    assert {text for batch in vectors.batches for text in batch} == set(texts) - set(
        sent
    )
    assert runner.usage.cache_hits == 6


def test_failed_answers_are_given_to_the_algorithm_and_not_kept(drive: Drive) -> None:
    cache = Cache(":memory:")
    answers = drive(
        Runner(llm=Model(fail="bad"), cache=cache), yields(Ask("good"), Ask("bad"))
    )
    assert answers[0] == "GOOD"
    assert isinstance(answers[1], Failed)
    assert str(answers[1].reason) == "no"
    assert drive(Runner(llm=Model(), cache=cache), yields(Ask("bad"))) == ["BAD"]


@examples
def test_the_cache_key_holds_everything_that_changes_the_answer(
    change: dict[str, Any],
) -> None:
    cache = Cache(":memory:")
    fields = {"prompt": "p", "options": ("a", "b"), "component": "c"}
    Runner(llm=Model(margin=0.25), cache=cache).run(yields(Choose(**fields)))
    model = Model(margin=-0.25)
    assert Runner(llm=model, cache=cache).run(yields(Choose(**fields))) == [0.25]
    model.name = change.pop("name", model.name)
    assert Runner(llm=model, cache=cache).run(
        yields(Choose(**{**fields, **change}))
    ) == [-0.25]


def test_budget_makes_the_calls_it_allows_and_stops(drive: Drive) -> None:
    model, cache = Model(), Cache(":memory:")
    runner = Runner(llm=model, cache=cache, max_calls=3, max_concurrency=2)
    with pytest.raises(BudgetExceeded, match="max_calls=3"):
        drive(runner, yields(*(Ask(f"p{i}") for i in range(8))))
    assert sorted(model.asked) == ["p0", "p1", "p2"]
    assert runner.usage.calls == len(cache) == 3
    again = Model()
    drive(Runner(llm=again, cache=cache), yields(*(Ask(f"p{i}") for i in range(8))))
    assert len(again.asked) == 5


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


@pytest.mark.parametrize("margin", [2.0, float("nan"), "yes", [1]])
def test_unusable_margins_are_failed_answers(drive: Drive, margin: Any) -> None:
    answer = drive(Runner(llm=Model(margin=margin)), yields(Choose("p", ("a", "b"))))[0]
    assert isinstance(answer, Failed)
    assert isinstance(answer.reason, InvalidAnswer)


def test_margins_of_numpy_can_be_kept(drive: Drive) -> None:
    cache = Cache(":memory:")
    for _ in range(2):
        assert drive(
            Runner(llm=Model(margin=np.float32(0.5)), cache=cache),
            yields(Choose("p", ("a", "b"))),
        ) == [0.5]


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


def test_a_model_that_stops_iterating_does_not_end_the_run_in_silence() -> None:
    def stops(texts: Sequence[str]) -> Any:
        raise StopIteration

    with pytest.raises((StopIteration, RuntimeError)):
        Runner(embedder=Vectors(stops)).run(yields(Embed(("t",))))


def test_the_algorithm_is_closed_when_a_model_raises(drive: Drive) -> None:
    closed = []

    def steps() -> Any:
        try:
            yield [Embed(("t",))]
        finally:
            closed.append(True)

    with pytest.raises(ModelFailed, match="ZeroDivisionError"):
        drive(Runner(embedder=Vectors(lambda texts: 1 / 0)), steps())
    assert closed == [True]


@examples
def test_an_error_says_what_to_do_now(drive: Drive, query: bool, cure: str) -> None:
    runner = Runner(embedder=Vectors(lambda texts: 1 / 0))
    with pytest.raises(ModelFailed) as caught:
        drive(runner, yields(Embed(("t",), query)))
    assert str(caught.value).endswith(f"Mend the cause and {cure}.")
    assert ("Documents" in str(caught.value)) is not query


def test_an_error_of_ours_cancels_the_calls_that_wait(drive: Drive) -> None:
    model = Model(fail="p0", error=ModelFailed("key refused"))
    with pytest.raises(ModelFailed, match="key refused"):
        drive(
            Runner(llm=model, max_concurrency=1),
            yields(*(Ask(f"p{i}") for i in range(50))),
        )
    assert len(model.asked) < 50
    assert model.open <= 1


def test_context_variables_reach_the_models(drive: Drive) -> None:
    model = Model()
    token = USER.set("reader")
    try:
        drive(Runner(llm=model), yields(Ask("a"), Ask("b")))
    finally:
        USER.reset(token)
    assert model.users == {"reader"}


def test_progress_tells_every_step(drive: Drive) -> None:
    told: list[tuple[str, int, int]] = []
    runner = Runner(
        llm=Model(),
        embedder=Vectors(),
        batch_size=2,
        progress=lambda *step: told.append(step),
    )
    drive(runner, yields(Ask("a"), Ask("b"), Embed(("t", "u", "v"))))
    assert told == [
        ("asking the language model", 1, 2),
        ("asking the language model", 2, 2),
        ("embedding", 2, 3),
        ("embedding", 3, 3),
    ]


async def test_the_event_loop_keeps_running(tmp_path: Path) -> None:
    runner = Runner(llm=Model(), cache=Cache(tmp_path / "c"), max_concurrency=2)
    async with ticking(0) as ticks:
        await runner.arun(yields(*(Ask(f"p{i}") for i in range(20))))
    assert ticks() > 20


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
@pytest.mark.parametrize("answer", [[0.1], 0.5, None])
def test_an_answer_of_another_length_is_not_trusted(mode: str, answer: Any) -> None:
    model = Awaited()
    model.choose_many = lambda prompts, options: answer  # type: ignore[method-assign]
    found = answers_of(
        Runner(llm=model), [Choose("a", OPTIONS), Choose("bb", OPTIONS)], mode
    )
    assert found == [0.1, 0.2] and model.single == ["a", "bb"]


@MODES
def test_margins_are_checked_one_by_one(mode: str) -> None:
    model = Weigher()
    found = answers_of(
        Runner(llm=model), [Choose("x" * 20, OPTIONS), Choose("bb", OPTIONS)], mode
    )
    assert (
        isinstance(found[0], Failed)
        and isinstance(found[0].reason, InvalidAnswer)
        and found[1] == 0.2
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


def test_every_answer_is_kept_and_a_failed_call_is_repeated(
    drive: Drive, tmp_path: Path
) -> None:
    script: list[Any] = [TimeoutError("too slow"), "", "never"]

    def answer(prompt: str) -> str:
        reply = script.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return str(reply)

    runner = Runner(llm=ScriptedModel(answer), cache=Cache(tmp_path / "c"))

    def steps() -> Any:
        return (yield [Ask("?", "t"), Ask("?", "t")])

    assert [str(failed) for failed in drive(runner, steps())] == [
        "TimeoutError: too slow"
    ] * 2
    assert drive(runner, steps()) == drive(runner, steps()) == ["", ""]
    assert (runner.usage.calls, runner.usage.failed) == (2, 1)


def test_a_run_of_which_every_call_fails_warns_with_the_first_reason(
    drive: Drive,
) -> None:
    def steps() -> Any:
        first = yield [Ask("a"), Ask("b")]
        return [*first, *(yield [Ask("c")])]

    down = Runner(llm=ScriptedModel(ConnectionError("the service is down")))
    with pytest.warns(
        UserWarning, match="first with ConnectionError: the service is down"
    ):
        drive(down, steps())
    assert (down.usage.calls, down.usage.failed) == (3, 3)

    def now_and_then(prompt: str) -> str:
        if prompt != "c":
            raise TimeoutError
        return "yes"

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        drive(Runner(llm=ScriptedModel(now_and_then)), steps())
        drive(Runner(), steps())  # nothing was called


def test_token_vectors_come_in_batches_and_are_counted(drive: Drive) -> None:
    encoder, shown = HashTokens(), []
    runner = Runner(batch_size=2, progress=lambda *facts: shown.append(facts))

    def asking() -> Steps[Any]:
        return (yield [EmbedTokens(("one two", "three", "four"), encoder)])

    (tokens,) = drive(runner, asking())
    assert [len(one.ids) for one in tokens] == [2, 1, 1]
    assert encoder.passes == [("one two", "three"), ("four",)]
    assert runner.usage.embedded == 3 and shown[-1] == ("embedding", 3, 3)


def test_an_embedder_that_changes_its_dimension_is_refused(drive: Drive) -> None:
    widths = iter([3, 2])
    embedder = FunctionEmbedder(
        lambda texts: [[1.0] * next(widths) for _ in texts], name="odd"
    )

    def steps() -> Steps[None]:
        yield [Embed(("a",))]
        yield [Embed(("a",), query=True)]

    with pytest.raises(
        InvalidAnswer, match="'odd' returned vectors of 3 dimensions, then of 2"
    ):
        drive(Runner(embedder=embedder), steps())


def test_a_budget_is_of_all_runs_together(drive: Drive) -> None:
    model = Model()
    runner = Runner(llm=model, max_calls=3)
    assert drive(runner, yields(Ask("p0"), Ask("p1"))) == ["P0", "P1"]
    with pytest.raises(BudgetExceeded):
        drive(runner, yields(Ask("p2"), Ask("p3")))
    with pytest.raises(BudgetExceeded):
        drive(runner, yields(Ask("p4")))
    assert sorted(model.asked) == ["p0", "p1", "p2"]


def test_a_route_that_raises_is_named_and_one_of_ours_is_not(drive: Drive) -> None:
    class Broken:
        def search(self, request: Search) -> Any:
            raise ZeroDivisionError("by zero")

    class Ours(Broken):
        is_ours = True

    class Labelled(Broken):
        label = "store 'pumps'"

    search = Search("r", "q", None, 3)
    with pytest.raises(ModelFailed, match=r"route Broken .*ask again"):
        drive(Runner(routes={"r": Broken()}), yields(search))
    with pytest.raises(ModelFailed, match="store 'pumps' "):
        drive(Runner(routes={"r": Labelled()}), yields(search))
    with pytest.raises(ZeroDivisionError, match="by zero"):
        drive(Runner(routes={"r": Ours()}), yields(search))


def test_a_scorer_that_raises_asks_for_the_question_again(drive: Drive) -> None:
    class Broken:
        name = "judge"

        def score(self, query: str, texts: Sequence[str]) -> Any:
            raise ZeroDivisionError

    with pytest.raises(ModelFailed, match=r"'judge' .*Mend the cause and ask again\.$"):
        drive(Runner(), yields(Score("q", ("a",), Broken())))


def test_a_cache_warns_of_a_model_without_a_name() -> None:
    unnamed = as_embedder(lambda texts: [[1.0]] * len(texts))
    with pytest.warns(
        UserWarning, match="cache keeps nothing of the embedder"
    ) as warned:
        Runner(llm=Model(), embedder=unnamed, cache=Cache(":memory:"))
    assert len(warned) == 1 and warned[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Runner(embedder=unnamed)
        Runner(embedder=Vectors(), cache=Cache(":memory:"))


def test_the_warning_of_a_failed_run_names_the_callers_line() -> None:
    runner = Runner(llm=ScriptedModel(ConnectionError("down")))
    with pytest.warns(
        UserWarning, match=r"Every call .* ConnectionError: down\."
    ) as at:
        runner.run(yields(Ask("a")))
    assert at[0].filename == __file__


def test_a_run_that_fails_waits_for_the_calls_it_began() -> None:
    began = threading.Event()
    ended: list[str] = []

    class Slow(Model):
        def complete(self, prompt: str) -> str:
            if prompt == "fails":
                began.wait(5)
                raise ModelFailed("key refused")
            began.set()
            time.sleep(0.02)
            ended.append(prompt)
            return prompt

    with pytest.raises(ModelFailed, match="key refused"):
        Runner(llm=Slow(), max_concurrency=2).run(yields(Ask("fails"), Ask("slow")))
    assert ended == ["slow"]


async def test_an_awaited_run_that_fails_waits_for_what_it_cancels() -> None:
    ended: list[str] = []

    class Slow(Model):
        async def acomplete(self, prompt: str) -> str:
            if prompt == "fails":
                await asyncio.sleep(0)
                raise ModelFailed("key refused")
            try:
                await asyncio.sleep(60)
            finally:
                for _ in range(9):  # closes its connection
                    await asyncio.sleep(0)
                ended.append(prompt)
            return prompt

    runner = Runner(llm=Slow(), max_concurrency=2)
    with pytest.raises(ModelFailed, match="key refused"):
        await runner.arun(yields(Ask("fails"), Ask("slow")))
    assert ended == ["slow"]
