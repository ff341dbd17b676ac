"""Setups that can be sent to a process; how a process ends."""

from __future__ import annotations

import subprocess
import sys
import threading
from functools import partial
from queue import Queue

import ingestion_makers as makers
import pytest
from doubles import HashEmbedder
from fixture_cases import examples

from structrag import EvidenceRetriever
from structrag.errors import InvalidParameter
from structrag.ingestion.tasks import Ready, Setup, Task
from structrag.ingestion.workers import (
    ProcessRunner,
    ProcessWorker,
    Replies,
    Worker,
    packed,
)


def test_what_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert packed(Setup(partial(EvidenceRetriever, "some/model"), {}))
    with pytest.raises(InvalidParameter, match="pickle can send"):
        packed(Setup(lambda: None, {}))
    monkeypatch.setattr(makers.index, "__module__", "__main__")
    with pytest.raises(
        InvalidParameter, match="index is defined in the running script"
    ):
        packed(Setup(makers.index, {}))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
def test_a_worker_says_how_it_ended() -> None:
    replies: Replies = Queue()
    worker = ProcessWorker(packed(Setup(makers.index, {})), replies, threads=1)
    _, ready = replies.get(timeout=60)
    assert isinstance(ready, Ready)
    assert ready.settings == makers.index().store.settings
    worker.kill()
    assert replies.get(timeout=60) == (worker, None)
    assert worker.ending() == "by signal 9"
    worker.close()


def test_one_model_is_in_the_process_of_the_driver() -> None:
    runner = ProcessRunner(HashEmbedder(), True)
    try:
        assert runner.model is not None and runner.model.name == "hash"
    finally:
        runner.close()


class Idle(ProcessWorker):
    """A process that does nothing until its standard input is closed."""

    def __init__(self, replies: Replies, code: int = 0) -> None:
        Worker.__init__(self, replies)
        self.server = None
        program = f"import sys; sys.stdin.read(); sys.exit({code})"
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals")
@examples
def test_a_worker_that_is_at_work_is_killed_and_an_idle_one_ends(
    is_ready: bool, is_at_work: bool, ending: str
) -> None:
    replies: Replies = Queue()
    worker = Idle(replies, code=3)
    worker.is_ready = is_ready
    worker.task = Task(0, (), {}, {}) if is_at_work else None
    worker.close()
    assert worker.ending() == ending
    assert replies.get(timeout=60) == (worker, None)
