"""One change at a time, from threads and event loops alike."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from threading import Lock
from weakref import WeakKeyDictionary

from structrag.errors import InvalidParameter

PAUSE = 0.005  # seconds between two looks at a lock that another thread holds


class Turns:
    """A lock that event loops await, and other code waits for.

    On one loop it is taken in the order of asking.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._queues: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = (
            WeakKeyDictionary()
        )
        self._held_on: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Hold the lock.

        Raises InvalidParameter on an event loop where a coroutine holds it: that could never go on.
        """
        if self._held_on is not None and self._held_on is _running_loop():
            raise InvalidParameter(
                "An index must not be changed by a plain call on the event loop that is changing "
                "it; await aadd or aupdate before, or call from a thread (asyncio.to_thread)."
            )
        with self._lock:
            yield

    @asynccontextmanager
    async def awaited(self) -> AsyncIterator[None]:
        """Hold the lock; the event loop goes on while others have it."""
        loop = asyncio.get_running_loop()
        async with self._queues.setdefault(loop, asyncio.Lock()):
            while not self._lock.acquire(blocking=False):
                await asyncio.sleep(PAUSE)
            self._held_on = loop
            try:
                yield
            finally:
                self._held_on = None
                self._lock.release()


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
