"""Call a caller's models, in this thread or awaited, within a time. Their errors, and those of a
caller's stores, are kept apart from structrag's own."""

from __future__ import annotations

import asyncio
import contextvars
from collections import Counter
from collections.abc import (
    Callable,
    Coroutine,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from threading import Thread
from typing import Any

from structrag.errors import ModelFailed, StructragError, TimedOut
from structrag.model_calls.flow import Done, advance
from structrag.model_calls.requests import Failed, T
from structrag.records import Chunk


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call of a method of a caller's model."""

    who: str  # such as "embedder 'e5'", for errors
    model: Any
    method: str  # without the "a" of one that is awaited
    arguments: tuple[Any, ...]
    options: Mapping[str, Any] = field(default_factory=dict)


# A generator of calls to one model after another. It receives what each returned or raised.
Calls = Generator[ModelCall, Any, T]


async def acall(model: Any, method: str, *arguments: Any, **options: Any) -> Any:
    """Call a model's method on an event loop. The method of the same name with an "a" in front is
    awaited; a model without one is called in a worker thread."""
    awaitable = getattr(model, f"a{method}", None)
    if awaitable is not None:
        return await awaitable(*arguments, **options)
    return await asyncio.to_thread(
        called_in_thread, getattr(model, method), *arguments, **options
    )


_loop: contextvars.ContextVar[asyncio.AbstractEventLoop | None] = (
    contextvars.ContextVar("structrag_loop", default=None)
)


@contextmanager
def stores_awaited() -> Iterator[None]:
    """Within it, worker threads call a host's store by its async methods, on this event loop."""
    token = _loop.set(asyncio.get_running_loop())
    try:
        yield
    finally:
        _loop.reset(token)


def call_store(
    method: Callable[..., T],
    amethod: Callable[..., Coroutine[Any, Any, T]],
    *arguments: Any,
    **options: Any,
) -> T:
    """Call a method of a host's store; within `stores_awaited` its async form."""
    loop = _loop.get()
    if loop is None:
        return method(*arguments, **options)
    call = amethod(*arguments, **options)
    return asyncio.run_coroutine_threadsafe(call, loop).result()


def called_in_thread(
    function: Callable[..., Any], *arguments: Any, **options: Any
) -> Any:
    """The result of a call in a thread. StopIteration would never leave it."""
    try:
        return function(*arguments, **options)
    except StopIteration as stop:
        raise RuntimeError(f"raised StopIteration: {stop}") from stop


def within(
    seconds: float | None,
    what: str,
    call: Callable[..., T],
    *arguments: Any,
    **options: Any,
) -> T:
    """Return the result of a call; raise TimedOut if it takes longer.

    `None` sets no limit.

    Example:
        >>> within(5, "embedder 'e5'", str.upper, "yes")
        'YES'

    With a limit the call runs in a thread of its own, which nothing can stop: one that hangs stays
    until the process ends, and does not keep it from ending.
    """
    if seconds is None:
        return call(*arguments, **options)
    outcome: Future[T] = Future()
    context = contextvars.copy_context()

    def work() -> None:
        try:
            outcome.set_result(context.run(call, *arguments, **options))
        except BaseException as error:  # noqa: BLE001 - it is raised again by the thread that waits
            outcome.set_exception(error)

    Thread(target=work, daemon=True, name=f"structrag: {what}").start()
    if wait([outcome], seconds).not_done:
        raise _timed_out(seconds, what)
    return outcome.result()


async def awithin(
    seconds: float | None,
    what: str,
    model: Any,
    method: str,
    *arguments: Any,
    **options: Any,
) -> Any:
    """`within` on an event loop, for a method that may be awaited. It is called as `acall` calls
    it. A coroutine that takes longer is cancelled."""
    if seconds is None:
        return await acall(model, method, *arguments, **options)
    if not hasattr(model, f"a{method}"):
        call = getattr(model, method)
        limited = partial(within, seconds, what, call)
        return await asyncio.to_thread(called_in_thread, limited, *arguments, **options)
    work = asyncio.ensure_future(acall(model, method, *arguments, **options))
    try:
        # Not `wait_for`, which waits for the end of a coroutine that ignores being cancelled.
        await asyncio.wait([work], timeout=seconds)
        if work.done():
            return work.result()
        raise _timed_out(seconds, what)
    finally:
        work.cancel()


def call_models(calls: Calls[T], timeout: float | None) -> T:
    """Make the calls that are yielded, each `within` the time.

    What a call raises is raised where it was yielded, so that `calls` decides what it means.

    Example:
        >>> from structrag.model_calls.calling import ModelCall
        >>> def one_question():
        ...     return (yield ModelCall("model", "yes", "upper", ()))
        >>> call_models(one_question(), timeout=5)
        'YES'
    """
    turn = advance(calls, None)
    while not isinstance(turn, Done):
        answer, raised = None, None
        try:
            method = getattr(turn.model, turn.method)
            answer = within(timeout, turn.who, method, *turn.arguments, **turn.options)
        except Exception as error:  # noqa: BLE001 - `calls` decides
            raised = error
        turn = advance(calls, answer, raised)
    return turn.result


async def acall_models(calls: Calls[T], timeout: float | None) -> T:
    """`call_models` on an event loop. `calls` runs on its thread, models mostly on others."""
    turn = advance(calls, None)
    while not isinstance(turn, Done):
        answer, raised = None, None
        try:
            answer = await awithin(
                timeout,
                turn.who,
                turn.model,
                turn.method,
                *turn.arguments,
                **turn.options,
            )
        except Exception as error:  # noqa: BLE001 - `calls` decides
            raised = error
        turn = advance(calls, answer, raised)
    return turn.result


def _timed_out(seconds: float, what: str) -> TimedOut:
    return TimedOut(
        f"The {what} did not answer within timeout={seconds:g} seconds. Raise timeout=, or lower "
        "batch_size=."
    )


WHILE_ADDING = (
    "What an index has finished is kept whole, and cached calls are not repeated. Fix the cause "
    "and call again."
)

# why an answer that enriches is not taken
NOT_ITS_OWN = "what the model wrote lost or invented names, or was too long"
AT_A_QUESTION = "Fix the cause and ask again."


@contextmanager
def raised_by(what: str, cure: str = WHILE_ADDING) -> Iterator[None]:
    """Turn an exception into a ModelFailed that names who raised it.

    The exception is its cause. Nothing but the call of the caller's object stands within it, so
    that no error of our own code is blamed on a model. Errors of structrag pass as they are.

    Example:
        >>> try:
        ...     with raised_by("embedder 'e5'"):
        ...         raise OSError("no network")
        ... except ModelFailed as failure:
        ...     print(str(failure).partition(".")[0])
        The embedder 'e5' raised OSError: no network
    """
    try:
        yield
    except StructragError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever it is, it is named
        # A context manager would let a StopIteration that is the cause take the error's place.
        cause = RuntimeError(repr(error)) if isinstance(error, StopIteration) else error
        message = str(error).removesuffix(".")
        said = f"{type(error).__name__}{': ' if message else ''}{message}"
        raise ModelFailed(f"The {what} raised {said}. {cure}") from cause


def cause_of(error: StructragError) -> str:
    """Return the message without the advice for adding documents by hand."""
    return str(error).removesuffix(WHILE_ADDING).rstrip()


def fallbacks_of(
    chunks: Sequence[Chunk], failures: Sequence[Failed]
) -> tuple[Counter[str], dict[str, str]]:
    """Count what chunks lack because a model failed, with the reasons.

    Under "chunks" are those that fell back, under "enrichment" the answers that were not taken;
    `failures` are the calls that failed.
    """
    degraded = [chunk for chunk in chunks if chunk.extras.get("degraded")]
    dropped = sum(chunk.extras.get("dropped", 0) for chunk in chunks)
    reasons = {"enrichment": NOT_ITS_OWN} if dropped else {}
    if degraded:
        of_chunks = (
            chunk.extras["failure"] for chunk in degraded if chunk.extras.get("failure")
        )
        reason = (
            str(failures[0])
            if failures
            else next(of_chunks, "an answer cannot be used")
        )
        reasons["chunks"] = reason
    return +Counter(chunks=len(degraded), enrichment=dropped), reasons
