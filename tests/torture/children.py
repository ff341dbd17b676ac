"""Child processes: begun by fork, so that they have everything at once, killed at any moment."""

from __future__ import annotations

import gc
import itertools
import os
import re
import select
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torture.promise import NotHere

PATIENCE = 30.0  # seconds for a child to do something
MARK = "in a write"
# Events of `sys.addaudithook` at which something of a folder is about to change.
STEPS = {"open", "os.link", "os.mkdir", "os.remove", "os.rename", "os.rmdir"}


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

    def kill_at_mark(self, seconds: float) -> list[str]:
        """Kill it so long after it said MARK, or at its end; the other lines that it wrote."""
        while MARK not in self.lines and self._read(PATIENCE):
            pass
        time.sleep(seconds)
        return [line for line in self.kill() if line != MARK]

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


def stop_in_a_write(
    say: Callable[[str], None], folder: Path, step: int, *, dies: bool
) -> None:
    """Have this process say MARK at the n-th step of writing in a folder, or die there."""
    steps, fsync = itertools.count(1), os.fsync
    inside = re.compile(re.escape(str(folder)))

    def count() -> None:
        if next(steps) == step:
            if dies:
                os.kill(os.getpid(), signal.SIGKILL)
            say(MARK)

    def look(event: str, arguments: Sequence[Any]) -> None:
        reads = event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR)
        places = [str(place) for place in arguments[:2]]
        if event in STEPS and not reads and any(map(inside.match, places)):
            count()

    def counted_fsync(descriptor: int) -> None:
        count()
        fsync(descriptor)

    sys.addaudithook(look)
    os.fsync = counted_fsync


def _say(pipe: int, line: str) -> None:
    os.write(pipe, line.encode() + b"\n")
