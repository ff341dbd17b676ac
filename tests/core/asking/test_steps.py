"""Combinators of steps, against the loops that say the same by hand."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, ScriptedModel
from hypothesis import given
from hypothesis import strategies as st

from structrag.asking.requests import Ask, Choose, Embed, Failed, Request, Steps
from structrag.asking.runner import Runner
from structrag.asking.steps import (
    Done,
    adrive,
    advance,
    drive,
    intercept,
    keeping,
    noting_failures,
    remembering,
    rewrite,
    together,
)
from structrag.errors import NoModel

WORDS = st.sampled_from(["a", "b", "c", ""])
REQUESTS = st.one_of(
    st.builds(Ask, WORDS, use_cache=st.booleans()),
    st.builds(Choose, WORDS, st.just(("yes", "no"))),
    st.builds(Embed, st.lists(WORDS, max_size=3).map(tuple), query=st.booleans()),
)
TURNS = st.lists(st.lists(REQUESTS, max_size=4), max_size=4)


def asking(turns: Sequence[Sequence[Request]]) -> Steps[list[Any]]:
    """Steps that ask the turns, one after the other, and return all answers."""
    answers = []
    for requests in turns:
        answers.append((yield list(requests)))
    return answers


class World:
    """Answers requests, and notes each turn of them; a prompt is answered by its number as well."""

    def __init__(self) -> None:
        self.turns: list[list[Request]] = []
        self.asked = 0

    def __call__(self, requests: Sequence[Request]) -> list[Any]:
        self.turns.append(list(requests))
        return [self.answer(request) for request in requests]

    def answer(self, request: Request) -> Any:
        if isinstance(request, Embed):
            rows = [
                [float(ord(text or " ")), float(request.query)]
                for text in request.texts
            ]
            return np.array(rows, dtype=np.float32).reshape(len(rows), 2)
        self.asked += 1
        return f"{request} {self.asked}"


def plain(value: Any) -> Any:
    """Arrays as lists, so that `==` compares them; no texts have no vectors of any dimension."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    return [plain(part) for part in value] if isinstance(value, list) else value


def is_odd(request: Request) -> bool:
    return isinstance(request, Ask) and request.prompt in {"a", "c"}


@given(TURNS)
def test_intercepted_requests_are_answered_here_and_the_others_outside(
    turns: list[list[Request]],
) -> None:
    def by_hand(steps: Steps[Any]) -> Steps[Any]:
        answers: Any = None
        while True:
            turn = advance(steps, answers)
            if isinstance(turn, Done):
                return turn.result
            others = [request for request in turn if not is_odd(request)]
            replies = iter((yield others) if others else [])
            answers = ["here" if is_odd(request) else next(replies) for request in turn]

    def answer(request: Request) -> Steps[Any]:
        if is_odd(request):
            return "here"
        return (yield [request])[0]

    ours, theirs = World(), World()
    result = drive(intercept(asking(turns), answer), ours)
    assert plain(result) == plain(drive(by_hand(asking(turns)), theirs))
    assert ours.turns == theirs.turns


@given(TURNS)
def test_rewritten_requests_go_out_changed(turns: list[list[Request]]) -> None:
    def change(request: Request) -> Request:
        return replace(request, prompt="other") if isinstance(request, Ask) else request

    ours, theirs = World(), World()
    result = drive(rewrite(asking(turns), change), ours)
    changed = [
        [change(request) for request in requests] for requests in turns if requests
    ]
    expected = iter(drive(asking(changed), theirs))
    assert plain(result) == [
        plain(next(expected)) if requests else [] for requests in turns
    ]
    assert ours.turns == theirs.turns


@given(TURNS)
def test_remembered_answers_are_those_of_the_first_time(
    turns: list[list[Request]],
) -> None:
    world, first = World(), {}
    result = drive(remembering(asking(turns)), world)
    embedded = [
        (r.kind, text)
        for t in world.turns
        for r in t
        if isinstance(r, Embed)
        for text in r.texts
    ]
    in_turns = [
        {(r.kind, text) for r in requests if isinstance(r, Embed) for text in r.texts}
        for requests in turns
    ]
    assert set(embedded) == set().union(*in_turns)
    for requests, answers in zip(turns, result, strict=True):
        new = {}
        for request, answer in zip(requests, answers, strict=True):
            if isinstance(request, Embed):
                if request.texts:
                    assert plain(answer) == plain(World().answer(request))
            elif isinstance(request, Choose) or request.use_cache:
                assert answer == first.get(request, answer)
                new.setdefault(request, answer)
        first = {**new, **first}


@given(TURNS, st.sets(WORDS))
def test_answers_that_are_there_are_not_asked_for(
    turns: list[list[Request]], prompts: set[str]
) -> None:
    before: dict[Request, Any] = {
        Ask(prompt): f"{prompt} of before" for prompt in prompts
    }
    answers, world = dict(before), World()
    result = drive(keeping(asking(turns), answers), world)
    for requests, replies in zip(turns, result, strict=True):
        for request, reply in zip(requests, replies, strict=True):
            if request in before:
                assert reply == before[request]
    asked = [request for turn in world.turns for request in turn]
    assert not before.keys() & {
        request for request in asked if not isinstance(request, Embed)
    }
    for request in answers.keys() - before.keys():
        assert isinstance(request, Choose) or request.use_cache


def test_failed_calls_are_noted_and_nothing_else() -> None:
    reasons = {"a": Failed(ValueError("no")), "b": Failed(NoModel("none"), asked=False)}
    failures: list[Failed] = []
    requests = [Ask("a"), Ask("b"), Ask("c")]
    answers = drive(
        noting_failures(asking([requests]), failures),
        lambda turn: [reasons.get(request.prompt, "yes") for request in turn],
    )
    assert answers == [[reasons["a"], reasons["b"], "yes"]] and failures == [
        reasons["a"]
    ]


def test_failures_are_not_kept() -> None:
    answers: dict[Request, Any] = {}
    failed = Failed(ValueError("no"))
    assert drive(keeping(asking([[Ask("a")]]), answers), lambda _: [failed]) == [
        [failed]
    ]
    assert answers == {}


@given(st.lists(TURNS, max_size=4))
def test_steps_side_by_side_give_what_they_give_alone(
    algorithms: list[list[list[Request]]],
) -> None:
    def reply(requests: Sequence[Request]) -> list[Any]:
        return [
            World().answer(request) if isinstance(request, Embed) else str(request)
            for request in requests
        ]

    results = drive(together([asking(turns) for turns in algorithms]), reply)
    assert plain(results) == [
        plain(drive(asking(turns), reply)) for turns in algorithms
    ]


@given(TURNS)
def test_on_an_event_loop_the_result_is_the_same(turns: list[list[Request]]) -> None:
    async def run() -> Any:
        world = World()

        async def reply(requests: Sequence[Request]) -> list[Any]:
            return world(requests)

        return await adrive(asking(turns), reply)

    assert plain(asyncio.run(run())) == plain(drive(asking(turns), World()))


def test_an_error_of_who_answers_comes_out() -> None:
    def fail(requests: Sequence[Request]) -> list[Any]:
        raise OSError("no connection")

    with pytest.raises(OSError, match="no connection"):
        drive(intercept(asking([[Ask("a")]]), lambda request: (yield [request])), fail)


class Counting(Runner):
    """A runner that notes the requests of each round."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.rounds: list[Any] = []

    def _answer(self, requests: Any, outcome: Any) -> list[Any]:
        self.rounds.append(list(requests))
        return super()._answer(requests, outcome)


def test_side_by_side_all_texts_of_a_round_are_one_request() -> None:
    runner = Counting(embedder=HashEmbedder(), llm=ScriptedModel(str.upper))
    first = asking([[Embed(("a", "b")), Ask("one")], [Embed(("c",), query=True)]])
    second = asking(
        [[Ask("two"), Embed(("b",)), Embed((), query=True), Embed(("q",), query=True)]]
    )
    one, two = runner.run(together([first, second]))
    assert [len(requests) for requests in runner.rounds] == [4, 1]
    vector = HashEmbedder().vector
    assert one[0][1] == "ONE" and np.array_equal(one[0][0], [vector("a"), vector("b")])
    assert np.array_equal(one[1][0], [vector("c")])
    assert two[0][0] == "TWO" and np.array_equal(two[0][1], [vector("b")])
    assert two[0][2].shape[0] == 0 and np.array_equal(two[0][3], [vector("q")])
    assert runner.run(together([])) == []


def test_what_was_answered_is_not_asked_again_except_votes() -> None:
    llm, embedder = ScriptedModel(str.upper), HashEmbedder()
    vote = Ask("vote", use_cache=False)
    rounds = [
        [Ask("one"), Embed(("a", "b")), vote, vote],
        [
            Ask("one"),
            Ask("two"),
            Embed(("b", "c")),
            Embed(("a",), query=True),
            vote,
            Embed(()),
        ],
        [Ask("two"), Embed(("c", "a"))],
    ]
    remembered = Runner(embedder=embedder, llm=llm).run(remembering(asking(rounds)))
    plain = Runner(embedder=HashEmbedder(), llm=ScriptedModel(str.upper)).run(
        asking(rounds)
    )
    for ours, expected in zip(remembered, plain, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(ours, expected, strict=True))
    assert sorted(llm.prompts) == ["one", "two", "vote", "vote", "vote"]
    assert sorted(embedder.texts) == ["a", "b", "c"] and embedder.queries == ["a"]


def test_requests_of_different_models_are_embedded_apart() -> None:
    def embedding(*requests: Embed) -> Any:
        answers = yield list(requests)
        return answers

    one, two = HashEmbedder(8, "one"), HashEmbedder(8, "two")
    own = HashEmbedder(8)
    runner = Runner(embedder=own)
    first = embedding(Embed(("a", "b"), embedder=one), Embed(("a",)))
    second = embedding(
        Embed(("b", "c"), embedder=one),
        Embed(("a",), embedder=two),
        Embed((), embedder=two),
    )
    found = runner.run(remembering(together([first, second])))
    assert (one.texts, two.texts, own.texts) == (["a", "b", "c"], ["a"], ["a"])
    assert (
        np.array_equal(found[1][0], [own.vector("b"), own.vector("c")])
        and found[1][2].shape[0] == 0
    )
    assert hash(Embed(("a",), embedder=[])) == hash(Embed(("a",)))  # type: ignore[arg-type]


@pytest.mark.parametrize("cancels", [1, 3])
def test_whoever_is_cancelled_waits_for_the_steps_in_their_thread(cancels: int) -> None:
    running, ended = threading.Event(), threading.Event()

    def steps() -> Steps[None]:
        yield []
        running.set()
        time.sleep(0.2)
        ended.set()

    async def main() -> None:
        task = asyncio.create_task(Runner().arun(steps()))
        await asyncio.to_thread(running.wait)
        for _ in range(cancels):
            task.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        assert ended.is_set()

    asyncio.run(main())


def test_the_end_of_a_loop_waits_for_the_steps_in_their_thread() -> None:
    running, ended = threading.Event(), threading.Event()
    tasks = []

    def steps() -> Steps[None]:
        yield []
        running.set()
        time.sleep(0.2)
        ended.set()

    async def main() -> None:
        tasks.append(asyncio.create_task(Runner().arun(steps())))
        await asyncio.to_thread(running.wait)

    asyncio.run(main())
    assert ended.is_set() and tasks[0].cancelled()
