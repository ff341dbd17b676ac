"""Running algorithms that ask: to the end, together, or partly answered."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, Generic, TypeVar

import numpy as np

from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embed,
    EmbedTokens,
    Failed,
    Flow,
    Request,
    T,
)

R = TypeVar("R")


@dataclass(frozen=True, slots=True)
class Done(Generic[T]):
    """The end of an algorithm, in place of its next requests."""

    result: T


def advance(
    flow: Generator[R, Any, T], answers: Any, error: Exception | None = None
) -> R | Done[T]:
    """Send answers or raise an error; take requests or the end. The first answers are None."""
    try:
        return flow.send(answers) if error is None else flow.throw(error)
    except StopIteration as stop:
        return Done(stop.value)


def drive(flow: Generator[R, Any, T], answer: Callable[[R], Any]) -> T:
    """Run steps to their result; `answer` is called with what they yield.

    Example:
        >>> def one_question():
        ...     (answer,) = yield ["Is it so?"]
        ...     return answer.upper()
        >>> drive(one_question(), lambda requests: ["yes" for _ in requests])
        'YES'
    """
    turn = advance(flow, None)
    while not isinstance(turn, Done):
        turn = advance(flow, answer(turn))
    return turn.result


async def adrive(
    flow: Generator[R, Any, T], answer: Callable[[R], Awaitable[Any]]
) -> T:
    """`drive` on an event loop; the steps themselves run in worker threads."""
    turn: R | Done[T] = await in_thread(advance, flow, None)
    while not isinstance(turn, Done):
        turn = await in_thread(advance, flow, await answer(turn))
    return turn.result


async def in_thread(
    function: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """`asyncio.to_thread`, except that a cancelled caller waits until the thread has ended. So
    nothing that the thread reads changes under it, however often the caller is cancelled."""
    call = partial(contextvars.copy_context().run, function, *arguments, **options)
    # A future, no task: the end of `asyncio.run` cancels all tasks, and would not wait for this.
    work = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        while not work.done():
            with suppress(asyncio.CancelledError):
                await asyncio.wait([work])
        raise


def ask(request: Request) -> Flow[Any]:
    """The answer to one request.

    Example:
        >>> from structrag.model_calls.requests import Ask
        >>> def one_question():
        ...     answer = yield from ask(Ask("Is it so?"))
        ...     return answer.upper()
        >>> drive(one_question(), lambda requests: ["yes" for _ in requests])
        'YES'
    """
    return (yield [request])[0]


def gather(flow: Sequence[Flow[T]]) -> Flow[list[T]]:
    """Run steps side by side; the requests of one turn go together.

    Results are in the order of `flow`. The texts of a turn are one request, so that batches are
    full however short the documents.
    """
    return _side_by_side(flow, _merged)


def handle(flow: Flow[T], answer: Callable[[Request], Flow[Any]]) -> Flow[T]:
    """Answer each request of `flow` by steps of its own.

    What `answer(request)` returns is the answer. What it yields is asked outside, all of one turn
    together: to pass a request on, yield it alone and return the one answer.

    Example:
        >>> from structrag.model_calls.requests import Ask
        >>> def one_question():
        ...     return (yield [Ask("one"), Ask("two")])
        >>> def known_one(request):
        ...     if request.prompt == "one":
        ...         return "1"
        ...     return (yield from ask(request))
        >>> drive(handle(one_question(), known_one), lambda requests: ["?" for _ in requests])
        ['1', '?']
    """
    turn = advance(flow, None)
    while not isinstance(turn, Done):
        answers = yield from _side_by_side(
            [answer(request) for request in turn], _unchanged
        )
        turn = advance(flow, answers)
    return turn.result


def map_requests(flow: Flow[T], change: Callable[[Request], Request]) -> Flow[T]:
    """Run `flow` with each request changed before it goes out."""

    return handle(flow, lambda request: ask(change(request)))


def memoised(flow: Flow[T]) -> Flow[T]:
    """Run `flow`, but answer repeated prompts and embedded texts from memory. Prompts that must not
    be cached are asked again."""
    answers: dict[Request, Any] = {}
    vectors: dict[tuple[object, str], Any] = {}

    def embed(request: Embed) -> Flow[Any]:
        new = [text for text in request.texts if (request.kind, text) not in vectors]
        if new:
            texts = tuple(dict.fromkeys(new))
            matrix = yield from ask(replace(request, texts=texts))
            keys = [(request.kind, text) for text in texts]
            vectors.update(zip(keys, matrix, strict=True))
        return _rows(vectors, request)

    def recall(request: Request) -> Flow[Any]:
        if isinstance(request, Embed):
            return (yield from embed(request))
        may_repeat = isinstance(request, Ask | Choose) and request.use_cache
        if may_repeat and request in answers:
            return answers[request]
        answer = yield from ask(request)
        if may_repeat:
            answers.setdefault(request, answer)
        return answer

    return handle(flow, recall)


def reuse_answers(flow: Flow[T], answers: dict[Request, Any]) -> Flow[T]:
    """Run `flow`, but take what the language model answered from `answers`. New answers are put
    there, failed calls are not."""

    def recall(request: Request) -> Flow[Any]:
        if not isinstance(request, Ask | Choose):
            return (yield from ask(request))
        if request in answers:
            return answers[request]
        answer = yield from ask(request)
        if request.use_cache and not isinstance(answer, Failed):
            answers[request] = answer
        return answer

    return handle(flow, recall)


def record_failures(flow: Flow[T], failures: list[Failed]) -> Flow[T]:
    """Run `flow`, and put each failed model call into `failures`."""

    def answer(request: Request) -> Flow[Any]:
        answer = yield from ask(request)
        if isinstance(answer, Failed) and answer.asked:
            failures.append(answer)
        return answer

    return handle(flow, answer)


Place = tuple[int, slice | None]  # of an answer: in which reply, in which rows of it
Join = Callable[[Sequence[Request]], tuple[Sequence[Request], list[Place]]]


def _side_by_side(flow: Sequence[Flow[T]], join: Join) -> Flow[list[T]]:
    """Run steps side by side; `join` makes the requests of each turn."""
    turns = [advance(one, None) for one in flow]
    while waiting := _unfinished(turns):
        requests, places = join(
            [request for turn in waiting.values() for request in turn]
        )
        replies = yield requests
        answers = iter([_part(replies, place) for place in places])
        for i, turn in waiting.items():
            turns[i] = advance(flow[i], list(islice(answers, len(turn))))
    return [turn.result for turn in turns if isinstance(turn, Done)]


def _unfinished(
    turns: Sequence[Sequence[Request] | Done[T]],
) -> dict[int, Sequence[Request]]:
    """The requests of steps that have not ended, by their positions."""
    return {i: turn for i, turn in enumerate(turns) if not isinstance(turn, Done)}


def _part(replies: Sequence[Any], place: Place) -> Any:
    """The answer to one request: a reply, or some rows of it."""
    number, rows = place
    return replies[number] if rows is None else replies[number][rows]


def _unchanged(requests: Sequence[Request]) -> tuple[Sequence[Request], list[Place]]:
    return requests, [(i, None) for i in range(len(requests))]


def _merged(requests: Sequence[Request]) -> tuple[Sequence[Request], list[Place]]:
    """The requests, texts of one kind joined; where the answers will be."""
    merged: list[Request] = []
    texts: dict[object, list[str]] = {}
    numbers: dict[object, int] = {}  # kind -> its place in `merged`
    places: list[Place] = []
    for request in requests:
        if not isinstance(request, Embed | EmbedTokens):
            places.append((len(merged), None))
            merged.append(request)
            continue
        if request.kind not in texts:
            texts[request.kind], numbers[request.kind] = [], len(merged)
            merged.append(request)
        first = len(texts[request.kind])
        places.append((numbers[request.kind], slice(first, first + len(request.texts))))
        texts[request.kind] += request.texts
    for kind, number in numbers.items():
        embed = merged[number]
        if isinstance(embed, Embed | EmbedTokens):
            merged[number] = replace(embed, texts=tuple(texts[kind]))
    return merged, places


def _rows(vectors: Mapping[tuple[object, str], Any], request: Embed) -> Any:
    rows = [vectors[request.kind, text] for text in request.texts]
    return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)
