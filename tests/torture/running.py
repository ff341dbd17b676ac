"""Runs the cases of a promise in a few processes, until they or the time are over."""

from __future__ import annotations

import faulthandler
import multiprocessing
import os
import signal
import sys
import time
import traceback
from collections import deque
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from typing import Any

from torture.promise import CallStats, NotHere, Promise

HANGS = 300.0  # seconds beyond its own until a batch of cases is given up
# After which a batch begins no further case, so that slow ones are no hang.
BATCH_SECONDS = 60.0


class TooSlow(BaseException):
    """A case ran out of its time. No `except Exception` of the code under test may catch it."""


@contextmanager
def _time_limit(seconds: float) -> Iterator[None]:
    """Raise TooSlow in this thread after a time, where the system has an alarm."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def ring(*_: Any) -> None:
        raise TooSlow(f"it took longer than {seconds:.0f} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def failure_of(promise: Promise, number: int) -> str:
    """What breaks in one case; empty if nothing does. Raises NotHere."""
    try:
        with _time_limit(promise.seconds):
            promise.case(number)
    except NotHere:
        raise
    except (Exception, TooSlow) as error:
        frames = traceback.extract_tb(error.__traceback__)
        place = next(
            (f for f in reversed(frames) if "structrag" in f.filename), frames[-1]
        )
        file = "/".join(place.filename.split(os.sep)[-2:])
        message = f"{type(error).__name__}: {error}".replace("\n", "\\n")
        return f"{message[:300]} ({file}:{place.lineno})"
    return ""


def _try_all(
    promise: Promise, numbers: range, end: float
) -> tuple[int, dict[int, str], str]:
    """The number of cases tried, the failures, and why the promise cannot be tried here."""
    failures = {}
    pause = time.time() + BATCH_SECONDS
    for number in numbers:
        # Each batch tries one case at least, or a slow one would be handed out for ever.
        if time.time() > (end if number == numbers.start else min(end, pause)):
            return number - numbers.start, failures, ""
        try:
            failure = failure_of(promise, number)
        except NotHere as reason:
            return 0, {}, str(reason)
        if failure:
            failures[number] = failure
    return len(numbers), failures, ""


def run(
    promise: Promise, *, cases: int, seconds: float, workers: int, first: int = 0
) -> CallStats:
    """Try cases `first` to `cases` side by side; none is begun after the time is over."""
    tally = CallStats()
    begin = time.time()
    promise.prepare()
    size = max(1, min(100, cases // (workers * 4)))
    batches = deque(
        range(start, min(start + size, cases)) for start in range(first, cases, size)
    )
    while not tally.not_here and _one_pool(
        promise, batches, tally, begin + seconds, workers
    ):
        pass  # a process of the pool died: the rest goes to a fresh one
    tally.seconds = time.time() - begin
    return tally


def _one_pool(
    promise: Promise, batches: deque[range], tally: CallStats, end: float, workers: int
) -> bool:
    """Try batches in one pool of processes. True if it broke, and there may be more."""
    # Forked children have all modules and seeds already.
    method = "fork" if sys.platform.startswith("linux") else "spawn"
    pool = ProcessPoolExecutor(
        workers,
        mp_context=multiprocessing.get_context(method),
        initializer=faulthandler.enable,
    )
    running: dict[Future[Any], range] = {}
    try:
        while True:
            while batches and len(running) < workers * 2:
                if time.time() > end or tally.not_here:
                    break
                batch = batches.popleft()
                running[pool.submit(_try_all, promise, batch, end)] = batch
            if not running:
                return False
            done, _ = wait(
                running, timeout=promise.seconds + HANGS, return_when=FIRST_COMPLETED
            )
            if not done:
                for batch in running.values():
                    _lost(tally, batch, "never came back")
                _kill(pool)
                return True
            for future in done:
                batch = running.pop(future)
                if rest := batch[_take(tally, future, batch) :]:
                    batches.appendleft(rest)
    except BrokenProcessPool:
        for batch in running.values():
            _lost(tally, batch, "the process died")
        return True
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _take(tally: CallStats, future: Future[Any], batch: range) -> int:
    """Add what came of a batch to the tally. Return how many of its cases were tried."""
    try:
        cases, failures, not_here = future.result()
    except BrokenProcessPool:
        _lost(tally, batch, "the process died")
        raise
    tally.cases += cases
    tally.failures |= failures
    tally.not_here = tally.not_here or not_here
    return int(cases)


def _lost(tally: CallStats, batch: range, what: str) -> None:
    tally.cases += len(batch)
    tally.failures[batch.start] = (
        f"{what} in one of the cases {batch.start} to {batch.stop - 1}"
    )


def _kill(pool: ProcessPoolExecutor) -> None:
    """End the processes of a pool that hangs."""
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        process.kill()
