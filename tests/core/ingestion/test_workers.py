"""Setups that can be sent to a process; how a process ends."""

from __future__ import annotations

import sys
from functools import partial
from queue import Queue

import ingestion_makers as makers
import pytest

from structrag import EvidenceRetriever
from structrag.errors import InvalidParameter
from structrag.ingestion.tasks import Ready, Setup
from structrag.ingestion.workers import ProcessWorker, Replies, packed


def test_what_cannot_be_sent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert packed(Setup(partial(EvidenceRetriever, "some/model"), {}))
    with pytest.raises(InvalidParameter, match="pickle can send"):
        packed(Setup(lambda: None, {}))
    monkeypatch.setattr(makers.index, "__module__", "__main__")
    with pytest.raises(
        InvalidParameter, match="index is of the script or notebook that runs"
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
