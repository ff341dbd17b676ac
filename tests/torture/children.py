"""Child processes: begun by fork, so that they have everything at once, killed at any moment."""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

from torture.promise import NotHere

PATIENCE = 30.0  # seconds for a child to do something


@dataclass
class Child:
    """A process that runs a function, and writes a line whenever it has done something."""

    pid: int
    pipe: int
    buffer: bytes = b""
    lines: list[str] = field(default_factory=list)

    def wait_for_line(self, seconds: float = PATIENCE) -> str:
        """The next line; raises AssertionError if none comes."""
        end = time.monotonic() + seconds
        while not self.lines:
            if not self._read(max(0.0, end - time.monotonic())):
                raise AssertionError("a child said nothing more")
        return self.lines.pop(0)

    def _read(self, seconds: float) -> bool:
        """Take what was written; False at the end, or if nothing came."""
        if not select.select([self.pipe], [], [], seconds)[0]:
            return False
        data = os.read(self.pipe, 1 << 16)
        *lines, self.buffer = (self.buffer + data).split(b"\n")
        self.lines += [line.decode() for line in lines]
        return bool(data)

    def kill(self) -> list[str]:
        """Kill it at once; the lines that it wrote and nobody read."""
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        return self._rest()

    def join(self, seconds: float = PATIENCE) -> list[str]:
        """Wait for its end; the lines it wrote. Raises AssertionError if it failed or hangs."""
        end = time.monotonic() + seconds
        while self._read(max(0.0, end - time.monotonic())):
            pass
        if time.monotonic() >= end:
            self.kill()
            raise AssertionError("a child hangs")
        _, status = os.waitpid(self.pid, 0)
        lines = self._rest()
        if status:
            raise AssertionError(
                f"a child ended with {status}: {' '.join(lines)[-300:]}"
            )
        return lines

    def _rest(self) -> list[str]:
        while self._read(0):
            pass
        os.close(self.pipe)
        lines, self.lines = self.lines, []
        return lines


def start(work: Callable[[Callable[[str], None]], None]) -> Child:
    """Run `work(say)` in a child; what it says can be read line by line."""
    if not hasattr(os, "fork"):
        raise NotHere("this system has no fork")
    for thread in threading.enumerate():
        if thread is not threading.current_thread():
            thread.join(
                PATIENCE
            )  # a child has no other threads, and waits for their locks for ever
    reading, writing = os.pipe()
    pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid, reading)
    status = 1
    try:
        os.close(reading)
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)
        gc.freeze()  # what came from the parent need not be looked at, or copied
        work(lambda line: _say(writing, line))
        status = 0
    except BaseException:
        _say(writing, " ".join(traceback.format_exc().splitlines()[-3:]))
    finally:
        sys.stdout.flush()
        os._exit(status)


def _say(pipe: int, line: str) -> None:
    os.write(pipe, line.encode() + b"\n")
