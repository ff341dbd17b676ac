"""A process that is forked while its threads are at work: the child does the same at once."""

from __future__ import annotations

import copy
import itertools
import os
import pickle
import signal
import threading
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from doubles import HashTokens
from forking import at_work, exit_code, forked, forks
from index_making import document

from structrag import (
    Cache,
    D3Index,
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    Index,
    MultiViewRetriever,
)
from structrag._locks import Lock, cached_property
from structrag.index.storage import one_saver

QUERY = "the gearbox of document 2"


def evidence(embedder: Any) -> tuple[Any, Any]:
    retriever = EvidenceRetriever(embedder)
    return retriever, retriever


def over(retriever: Callable[[Any], Any], index: Any) -> tuple[Any, Any]:
    return index, retriever(index)


KINDS: dict[str, Callable[[], tuple[Any, Any]]] = {
    "multiview": lambda: over(MultiViewRetriever, Index()),
    "hiqa": lambda: over(HiQARetriever, Index()),
    "d3": lambda: over(D3Retriever, D3Index()),
    "evidence": lambda: evidence("lsa"),
    "evidence, token vectors": lambda: evidence(HashTokens()),
}


@pytest.mark.slow
@pytest.mark.long
@forks
@pytest.mark.parametrize("kind", KINDS)
def test_a_child_searches_and_adds_whatever_its_parent_was_at(kind: str) -> None:
    index, retriever = KINDS[kind]()
    index.add([document(number) for number in range(6)])

    def answer() -> list[Any]:
        hits = retriever.search(QUERY)
        return [(hit.chunk.id, hit.chunk.text, round(hit.score, 5)) for hit in hits]

    expected = answer()

    def change() -> None:
        index.add([document(50)])
        index.delete("doc50")

    def work() -> None:
        if "doc50" in index.document_ids:
            index.delete("doc50")
        assert answer() == expected
        index.add([document(60, "Zebras")])
        assert "doc60" in {hit.chunk.doc_id for hit in retriever.search("Zebras")}

    with at_work(change, *[lambda: retriever.search(QUERY)] * 4):
        assert [exit_code(forked(work)) for _ in range(20)] == [0] * 20
    assert answer() == expected


@forks
def test_a_child_waits_for_no_thread_and_its_parent_goes_on() -> None:
    lock, begun = Lock(), threading.Event()
    at_the_end = []

    def hold() -> None:
        with lock:
            begun.set()
            time.sleep(0.2)
            at_the_end.append(exit_code(forked(lock.__enter__)))

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    assert exit_code(forked(lock.__enter__)) == 0
    thread.join()
    assert at_the_end == [0]  # the thread that forks has the lock in its child as well
    with lock:
        pass


@forks
def test_a_fork_waits_for_what_takes_several_steps() -> None:
    lock, begun = Lock(awaited=True), threading.Event()
    steps = []

    def change() -> None:
        with lock:
            steps.append("first")
            begun.set()
            time.sleep(0.1)
            steps.append("last")

    def work() -> None:
        with lock:
            assert steps == ["first", "last"]

    thread = threading.Thread(target=change)
    thread.start()
    begun.wait()
    assert exit_code(forked(work)) == 0
    thread.join()


@forks
def test_a_fork_waits_for_no_lock_too_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structrag._locks.PATIENCE", 0.05)
    lock, begun, done = Lock(awaited=True), threading.Event(), threading.Event()

    def hold() -> None:
        with lock:
            begun.set()
            done.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    try:
        assert exit_code(forked(lock.__enter__)) == 0
    finally:
        done.set()
        thread.join()


@forks
def test_a_fork_waits_for_an_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text(
        "import threading, time\nthreading.imported.set()\ntime.sleep(0.2)\nanswer = 7\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    begun = threading.Event()
    monkeypatch.setattr(threading, "imported", begun, raising=False)
    thread = threading.Thread(target=import_module, args=("slow_to_import",))
    thread.start()
    begun.wait()
    child = forked(lambda: import_module("slow_to_import").answer)
    assert exit_code(child) == 0
    thread.join()


def test_a_lock_stays_behind_and_is_free_in_the_copy() -> None:
    lock = Lock()
    with lock:
        for other in (pickle.loads(pickle.dumps(lock)), copy.deepcopy(lock)):
            thread = threading.Thread(target=other.__enter__, daemon=True)
            thread.start()
            thread.join(5)
            assert not thread.is_alive()


class Computed:
    """An object with a value that takes long."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    @cached_property
    def value(self) -> int:
        """A number."""
        self.begun.set()
        time.sleep(0.3)
        return 7


@forks
def test_a_cached_property_is_computed_again_in_a_child() -> None:
    one, other = Computed(), Computed()
    thread = threading.Thread(target=lambda: one.value)
    thread.start()
    one.begun.wait()
    assert exit_code(forked(lambda: one.value)) == 0
    began = time.monotonic()
    assert other.value == 7 and vars(other)["value"] == 7
    assert time.monotonic() - began < 0.5  # it waits for no other instance either
    thread.join()
    assert one.value == 7 and Computed.value.__doc__ == "A number."


@forks
def test_parent_and_child_have_a_cache_each_of_one_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    caches = [Cache("answers.sqlite"), Cache(":memory:")]
    numbers = itertools.count()

    def put() -> None:
        number = next(numbers)
        for cache in caches:
            cache.put(str(number), number)

    def work() -> None:
        monkeypatch.chdir("/")
        while (tmp_path / "answers.sqlite-wal").exists():
            time.sleep(0.01)  # until the parent has closed it
        for cache in caches:
            cache.put("of the child", 1)
            assert (cache.get("0"), cache.get("of the child")) == (0, 1)

    put()
    with at_work(put, put):
        child = forked(work)
    caches[0].close()
    assert exit_code(child) == 0
    caches[0] = Cache("answers.sqlite")
    last = next(numbers)
    for cache in caches:
        assert [cache.get(str(number)) for number in range(last)] == list(range(last))
    assert [cache.get("of the child") for cache in caches] == [1, None]


@forks
def test_a_child_of_a_saver_does_not_keep_its_turn(tmp_path: Path) -> None:
    index = Index()
    index.add([document(1)])
    index.save(tmp_path)
    with one_saver(tmp_path):
        child = forked(lambda: time.sleep(20))
    index.add([document(2)])
    index.save(tmp_path)
    assert os.waitpid(child, os.WNOHANG) == (0, 0)
    os.kill(child, signal.SIGKILL)
    assert exit_code(child) < 0
