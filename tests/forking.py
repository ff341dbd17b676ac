"""Forked children of a process whose threads are at work."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

forks = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="no process is forked on this system"
)


def forked(work: Callable[[], object], seconds: int = 20) -> int:
    """The id of a child that does the work, and is killed where that takes longer."""
    with warnings.catch_warnings():
        # From 3.12: the process has threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            signal.signal(signal.SIGALRM, signal.SIG_DFL)
            signal.alarm(seconds)
            work()
            code = 0
        except BaseException:  # noqa: BLE001 - the parent sees the code
            traceback.print_exc()
        finally:
            os._exit(code)
    return pid


def exit_code(pid: int) -> int:
    """Of a child at its end; negative if it was killed."""
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


@contextmanager
def at_work(*works: Callable[[], object]) -> Iterator[None]:
    """Threads that do each work again and again."""
    done = threading.Event()
    errors: list[BaseException] = []

    def repeat(work: Callable[[], object]) -> None:
        try:
            while not done.is_set():
                work()
        except BaseException as error:  # noqa: BLE001 - raised below
            errors.append(error)

    threads = [threading.Thread(target=repeat, args=(work,)) for work in works]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(0.0005)  # who forks has its turn soon
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        done.set()
        for thread in threads:
            thread.join()
    if errors:
        raise errors[0]
