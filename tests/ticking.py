"""Whether the event loop keeps running while something is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager


@asynccontextmanager
async def ticking(seconds: float = 0.005) -> AsyncIterator[Callable[[], int]]:
    """Gives a function that tells how often the loop came by since the block began. Each time it
    waits `seconds`."""
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            await asyncio.sleep(seconds)
            ticks += 1

    ticker = asyncio.create_task(tick())
    try:
        yield lambda: ticks
    finally:
        ticker.cancel()
