"""Locks and cached properties that a forked process finds free, whatever the threads of its parent
did at that moment."""

from __future__ import annotations

import functools
import logging  # noqa: F401 - it takes its lock at a fork: after ours, so that imports may end
import os
import sys
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import nullcontext
from types import FrameType
from typing import Any, TypeVar

T = TypeVar("T")
PATIENCE = 15.0  # seconds that a fork waits for a lock or an import


class Lock:
    """A reentrant lock that stays behind when its owner is pickled or deeply copied.

    A forked child has no thread that would release what a thread of its parent holds, so there the
    lock is free. What it guards is complete at any moment, such as a result that is assigned when
    it is computed.

    Args:
        awaited: A fork waits until no other thread holds the lock, so that a child gets what takes
            several steps whole. For what takes a moment; after `PATIENCE` a fork goes on.
    """

    def __init__(self, *, awaited: bool = False) -> None:
        self._lock = threading.RLock()
        self._awaited = awaited
        with _REGISTERING:
            _LOCKS.add(self)

    def __enter__(self) -> Any:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()

    def __reduce__(self) -> tuple[type[Lock], tuple[()]]:
        return Lock, ()

    def before_fork(self) -> None:
        """Called while the lock is held, where a fork waits for it."""


class cached_property(functools.cached_property[T]):
    """`functools.cached_property` as it is from Python 3.12 on: without a lock that all instances
    share, and that a forked child would wait for. Two threads may compute a value at once."""

    def __init__(self, function: Callable[[Any], T]) -> None:
        super().__init__(function)
        self.lock = nullcontext()


_LOCKS: weakref.WeakSet[Lock] = weakref.WeakSet()
_REGISTERING = threading.RLock()
_held = threading.local()


def _imports_elsewhere() -> bool:
    """Whether another thread is amid an import, which no child could finish."""
    for thread, top in sys._current_frames().items():
        frame: FrameType | None = None if thread == threading.get_ident() else top
        while frame:
            if frame.f_code.co_filename == "<frozen importlib._bootstrap>":
                return True
            frame = frame.f_back
    return False


def _before_fork() -> None:
    end = time.monotonic() + PATIENCE
    while _imports_elsewhere() and time.monotonic() < end:
        time.sleep(0.01)
    with _REGISTERING:
        awaited = [lock for lock in _LOCKS if lock._awaited]
    _held.locks = [lock for lock in awaited if lock._lock.acquire(timeout=PATIENCE)]
    for lock in _held.locks:
        lock.before_fork()


def _after_fork() -> None:
    while _held.locks:
        _held.locks.pop().__exit__()


def _after_fork_in_child() -> None:
    global _REGISTERING
    _REGISTERING = threading.RLock()
    _after_fork()
    for lock in _LOCKS:
        if lock._lock.acquire(blocking=False):  # free, or this thread's own
            lock._lock.release()
        else:
            lock._lock = threading.RLock()
    if torch := sys.modules.get("torch"):
        torch.set_num_threads(1)  # OpenMP waits for its others, which are the parent's


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=_after_fork,
        after_in_child=_after_fork_in_child,
    )
