"""Moving an algorithm on from one list of requests to the next, here or in a worker thread."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from structrag.requests import Request, Steps, T


def advance(steps: Steps[T], answers: Any) -> tuple[Sequence[Request] | None, Any]:
    """Send the answers (None at first): the next requests and None, or at the end None and the result."""
    try:
        return steps.send(answers), None
    except StopIteration as stop:
        return None, stop.value


async def in_thread(function: Callable[..., Any], *arguments: Any) -> Any:
    """`asyncio.to_thread`, except that a cancelled caller waits until the thread has let go of the arguments."""
    work = asyncio.ensure_future(asyncio.to_thread(function, *arguments))
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])
        raise
