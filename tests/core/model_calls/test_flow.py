"""Combinators of steps, against the loops that say the same by hand."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from doubles import HashEmbedder
from hypothesis import given
from hypothesis import strategies as st

from structrag.model_calls.requests import (
    Ask,
    Choose,
    Done,
    Embed,
    Flow,
    Request,
    adrive,
    advance,
    drive,
    gather,
    handle,
    memoised,
)
from structrag.model_calls.runner import Runner

WORDS = st.sampled_from(["a", "b", "c", ""])
REQUESTS = st.one_of(
    st.builds(Ask, WORDS, use_cache=st.booleans()),
    st.builds(Choose, WORDS, st.just(("yes", "no"))),
    st.builds(Embed, st.lists(WORDS, max_size=3).map(tuple), query=st.booleans()),
)
TURNS = st.lists(st.lists(REQUESTS, max_size=4), max_size=4)


def call_settings(turns: Sequence[Sequence[Request]]) -> Flow[list[Any]]:
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
    def by_hand(flow: Flow[Any]) -> Flow[Any]:
        answers: Any = None
        while True:
            turn = advance(flow, answers)
            if isinstance(turn, Done):
                return turn.result
            others = [request for request in turn if not is_odd(request)]
            replies = iter((yield others) if others else [])
            answers = ["here" if is_odd(request) else next(replies) for request in turn]

    def answer(request: Request) -> Flow[Any]:
        if is_odd(request):
            return "here"
        return (yield [request])[0]

    ours, theirs = World(), World()
    result = drive(handle(call_settings(turns), answer), ours)
    assert plain(result) == plain(drive(by_hand(call_settings(turns)), theirs))
    assert ours.turns == theirs.turns


@given(TURNS)
def test_remembered_answers_are_those_of_the_first_time(
    turns: list[list[Request]],
) -> None:
    world, first = World(), {}
    result = drive(memoised(call_settings(turns)), world)
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


@given(st.lists(TURNS, max_size=4))
def test_steps_side_by_side_give_what_they_give_alone(
    algorithms: list[list[list[Request]]],
) -> None:
    def reply(requests: Sequence[Request]) -> list[Any]:
        return [
            World().answer(request) if isinstance(request, Embed) else str(request)
            for request in requests
        ]

    results = drive(gather([call_settings(turns) for turns in algorithms]), reply)
    assert plain(results) == [
        plain(drive(call_settings(turns), reply)) for turns in algorithms
    ]


@given(TURNS)
def test_on_an_event_loop_the_result_is_the_same(turns: list[list[Request]]) -> None:
    async def run() -> Any:
        world = World()

        async def reply(requests: Sequence[Request]) -> list[Any]:
            return world(requests)

        return await adrive(call_settings(turns), reply)

    assert plain(asyncio.run(run())) == plain(drive(call_settings(turns), World()))


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
    found = runner.run(memoised(gather([first, second])))
    assert (one.texts, two.texts, own.texts) == (["a", "b", "c"], ["a"], ["a"])
    assert (
        np.array_equal(found[1][0], [own.vector("b"), own.vector("c")])
        and found[1][2].shape[0] == 0
    )
    assert hash(Embed(("a",), embedder=[])) == hash(Embed(("a",)))  # type: ignore[arg-type]


def test_the_end_of_a_loop_waits_for_the_steps_in_their_thread() -> None:
    running, ended = threading.Event(), threading.Event()
    tasks = []

    def flow() -> Flow[None]:
        yield []
        running.set()
        time.sleep(0.2)
        ended.set()

    async def main() -> None:
        tasks.append(asyncio.create_task(Runner().arun(flow())))
        await asyncio.to_thread(running.wait)

    asyncio.run(main())
    assert ended.is_set() and tasks[0].cancelled()
