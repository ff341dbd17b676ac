"""Workers that prepare documents, as their driver sees them."""

from __future__ import annotations

import os
import pickle
import subprocess
import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from queue import Queue
from typing import Any

from structrag.errors import InvalidParameter
from structrag.ingestion.tasks import (
    ModelFacts,
    ModelReply,
    ModelRequest,
    ModelServer,
    Ready,
    Setup,
    Stopped,
    Task,
    TaskResult,
)
from structrag.reading.processes import start_child

_PATIENCE = 10.0  # seconds in which a worker without work may end by itself

# (worker, what it says; None: it has ended)
Replies = Queue[tuple["Worker", Ready | TaskResult | Stopped | None]]


def packed(setup: Setup) -> bytes:
    """A setup as workers get it.

    Raises:
        InvalidParameter: `make` cannot be sent to another process.
    """
    function: Any = getattr(setup.make, "func", setup.make)  # of a partial
    name = getattr(function, "__qualname__", type(function).__name__)
    if getattr(function, "__module__", None) == "__main__":
        raise InvalidParameter(
            f"make must be a function of an importable module; {name} is defined in the running "
            "script or notebook. Move it into a separate file, or use "
            "functools.partial(EvidenceRetriever, 'model')."
        )
    try:
        return pickle.dumps(setup, protocol=pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        raise InvalidParameter(
            f"make must be something that pickle can send to another process; {name} raised "
            f"{type(error).__name__}: {error}. Use a function of a module, or "
            "functools.partial(EvidenceRetriever, 'model')."
        ) from error


class Worker(ABC):
    """One that prepares documents elsewhere, and the task it has."""

    def __init__(self, replies: Replies) -> None:
        self.replies = replies
        self.task: Task | None = None
        self.since: float = time.monotonic()  # it was started, or got its task
        self.is_ready = False

    def give(self, task: Task) -> None:
        """Send it a task. One that has died meanwhile says so by its end."""
        self.task, self.since = task, time.monotonic()
        self._send(pickle.dumps(task, protocol=pickle.HIGHEST_PROTOCOL))

    @abstractmethod
    def _send(self, request: bytes) -> None: ...

    @abstractmethod
    def ending(self) -> str:
        """How it ended, as people say it."""

    @abstractmethod
    def kill(self) -> None:
        """End it at once; its end is a reply."""

    @abstractmethod
    def close(self) -> None:
        """Let it end; one that is at work is killed."""


class WorkerPool(ABC):
    """Where workers run.

    Attributes:
        cores: How many workers it has room for.
        model: What workers know of the one model for all of them, if there is one.
    """

    cores: int
    model: ModelFacts | None = None

    @abstractmethod
    def start(self, setup: bytes, replies: Replies, count: int) -> Worker:
        """One of `count` workers. Raises OSError if the system refuses."""

    @abstractmethod
    def close(self) -> None:
        """End the model; workers have ended before."""


class ProcessRunner(WorkerPool):
    """Processes of this machine; with one model, that is in this process."""

    def __init__(self, embedding: Any, shared_model: bool) -> None:
        self.cores = os.cpu_count() or 1
        self.server = ModelServer(embedding) if shared_model else None
        self.model = None if self.server is None else self.server.facts

    def start(self, setup: bytes, replies: Replies, count: int) -> Worker:
        return ProcessWorker(setup, replies, max(1, self.cores // count), self.server)

    def close(self) -> None:
        if self.server is not None:
            self.server.close()


class ProcessWorker(Worker):
    """A process of this machine."""

    def __init__(
        self,
        setup: bytes,
        replies: Replies,
        threads: int,
        server: ModelServer | None = None,
    ) -> None:
        super().__init__(replies)
        self.server = server
        self._process = start_child(
            "structrag.ingestion.worker",
            env={
                **os.environ,
                "OMP_NUM_THREADS": str(threads),
                "TOKENIZERS_PARALLELISM": "false",
            },
        )
        self._send(setup)
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()

    @property
    def pid(self) -> int:
        return self._process.pid

    def tell(self, answer: ModelReply) -> None:
        """Send it what it asked the driver's model for."""
        self._send(pickle.dumps(answer, protocol=pickle.HIGHEST_PROTOCOL))

    def _send(self, request: bytes) -> None:
        assert self._process.stdin is not None  # noqa: S101
        with suppress(OSError):
            self._process.stdin.write(request)
            self._process.stdin.flush()

    def _read(self) -> None:
        """Pass on what it says, by a thread of its own."""
        assert self._process.stdout is not None  # noqa: S101
        with self._process.stdout as pipe:
            while True:
                try:
                    reply = pickle.load(pipe)
                except Exception:  # noqa: BLE001 - it ended, perhaps amid a word
                    self.replies.put((self, None))
                    return
                if isinstance(reply, ModelRequest) and self.server is not None:
                    self.server.asked.put((reply, self.tell))
                else:
                    self.replies.put((self, reply))

    def ending(self) -> str:
        code = self._process.wait()
        return f"by signal {-code}" if code < 0 else f"with exit status {code}"

    def kill(self) -> None:
        with suppress(OSError):
            self._process.kill()

    def close(self) -> None:
        if self.task is not None or not self.is_ready:
            self.kill()
        assert self._process.stdin is not None  # noqa: S101
        with suppress(OSError):
            self._process.stdin.close()  # which ends it
        try:
            self._process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._reading.join(_PATIENCE)
