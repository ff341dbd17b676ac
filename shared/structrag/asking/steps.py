"""Moving algorithms on from one list of requests to the next: one, in a worker thread; several side
by side; one that asks again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from structrag.asking.calls import is_kept
from structrag.asking.requests import Ask, Choose, Embed, Request, Steps, T

R = TypeVar("R")


def advance(steps: Generator[R, Any, T], answers: Any) -> tuple[R | None, Any]:
    """Send the answers (None at first): the next requests and None, or at the end None and the
    result."""
    try:
        return steps.send(answers), None
    except StopIteration as stop:
        return None, stop.value


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """`asyncio.to_thread`, except that a cancelled caller waits until the thread has let go of the
    arguments."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise


def together(steps: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Run several steps side by side: the requests of one round go out together. Results in the
    order given.

    The texts of a round are one request, so that batches are full however short the documents.
    """
    results: list[Any] = [None] * len(steps)
    waiting: dict[int, Sequence[Request]] = {}

    def move(i: int, answers: list[Any] | None) -> None:
        requests, result = advance(steps[i], answers)
        if requests is None:
            results[i] = result
            waiting.pop(i, None)
        else:
            waiting[i] = requests

    for i in range(len(steps)):
        move(i, None)
    while waiting:
        current = dict(waiting)
        requests = [request for several in current.values() for request in several]
        merged, places = _merged(requests)
        answers = yield merged
        first = 0
        for i, several in current.items():
            own = places[first : first + len(several)]
            move(i, [answers[k] if rows is None else answers[k][rows] for k, rows in own])
            first += len(several)
    return results


def remembering(steps: Steps[T]) -> Steps[T]:
    """The same steps with what was answered once not asked again: equal prompts that may be cached,
    and texts that have a vector."""
    known: dict[Request, Any] = {}
    vectors: dict[tuple[object, str], Any] = {}
    answers: Any = None
    while True:
        requests, result = advance(steps, answers)
        if requests is None:
            return result  # type: ignore[no-any-return]
        missing: dict[int, Request] = {}  # place in `requests` -> what is asked for it
        for i, request in enumerate(requests):
            if isinstance(request, Embed):
                texts = tuple(
                    dict.fromkeys(
                        text for text in request.texts if (request.kind, text) not in vectors
                    )
                )
                missing.update({i: replace(request, texts=texts)} if texts else {})
            elif not _may_repeat(request) or request not in known:
                missing[i] = request
        found = dict(zip(missing, (yield list(missing.values())) if missing else [], strict=True))
        answers = []
        for i, request in enumerate(requests):
            if isinstance(request, Embed):
                asked = missing.get(i)
                if isinstance(asked, Embed):
                    vectors.update(
                        zip(((asked.kind, text) for text in asked.texts), found[i], strict=True)
                    )
                answers.append(_rows(vectors, request))
                continue
            if _may_repeat(request):
                known.setdefault(request, found.get(i))
            answers.append(found[i] if i in found else known[request])


def keeping(steps: Steps[T], known: dict[Request, Any]) -> Steps[T]:
    """The same steps with the language model's answers in `known` not asked for again, and new ones
    that can be used put there."""
    answers: Any = None
    while True:
        requests, result = advance(steps, answers)
        if requests is None:
            return result  # type: ignore[no-any-return]
        missing = {
            i: r for i, r in enumerate(requests) if not (isinstance(r, Ask | Choose) and r in known)
        }
        given = dict(zip(missing, (yield list(missing.values())) if missing else [], strict=True))
        for i, answer in given.items():
            request = requests[i]
            if isinstance(request, Ask | Choose) and is_kept(request, answer):
                known[request] = answer
        answers = [given[i] if i in given else known[request] for i, request in enumerate(requests)]


def _may_repeat(request: Request) -> bool:
    return isinstance(request, Choose) or (isinstance(request, Ask) and request.use_cache)


def _rows(vectors: Mapping[tuple[object, str], Any], request: Embed) -> Any:
    rows = [vectors[request.kind, text] for text in request.texts]
    return np.stack(rows) if rows else np.zeros((0, 0), dtype=np.float32)


def _merged(requests: Sequence[Request]) -> tuple[list[Request], list[tuple[int, slice | None]]]:
    """The requests with all texts to embed in one of each kind, and where each request's answer
    will be: which one, which rows."""
    merged: list[Request] = []
    texts: dict[object, list[str]] = {}
    first: dict[object, tuple[int, Embed]] = {}
    places: list[tuple[int, slice | None]] = []
    for request in requests:
        if not isinstance(request, Embed):
            places.append((len(merged), None))
            merged.append(request)
            continue
        if request.kind not in texts:
            texts[request.kind], first[request.kind] = [], (len(merged), request)
            merged.append(request)
        known = texts[request.kind]
        places.append((first[request.kind][0], slice(len(known), len(known) + len(request.texts))))
        known += request.texts
    for kind, several in texts.items():
        number, request = first[kind]
        merged[number] = replace(request, texts=tuple(several))
    return merged, places
