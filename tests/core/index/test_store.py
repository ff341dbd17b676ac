"""The store: changes equal a fresh one, what is saved comes back, what is damaged is refused."""

from __future__ import annotations

import gc
import os
import shutil
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import VIEWS, WORDS, answers, entry, small_store

from structrag.errors import InvalidParameter
from structrag.index.entries import Entry, Vectors
from structrag.index.storage import read_manifest
from structrag.index.store import Store
from structrag.records import Document


def test_rows_follow_documents_and_chunk_starts() -> None:
    store = small_store()
    assert store.document_ids == ["a", "b", "c"]
    assert len(store) == 6
    assert [chunk.id for chunk in store.chunks()] == [
        "a:0-12",
        "a:12-30",
        "b:0-4",
        "b:4-14",
        "b:14-17",
        "c:0-8",
    ]
    assert [store.view_text(row, "keywords") for row in range(3)] == [
        "apple",
        None,
        "plum",
    ]
    assert [row for row, _ in store.search_lexical("raw", "apple", 9)] == [1, 0, 3]
    assert [row for row, _ in store.search_lexical("keywords", "apple", 9)] == [0]
    assert store.search_dense("keywords", [1.0], 9) == []
    assert (store.fingerprint("b"), store.degraded("b"), "b" in store) == (
        "print of b",
        3,
        True,
    )
    assert (store.fingerprint("z"), store.degraded("z"), "z" in store) == (
        None,
        0,
        False,
    )
    assert store.document("a") == Document(
        "", id="a", title="A", meta={"year": 2020, "tags": ["x", "y"]}
    )


def test_a_replaced_document_keeps_its_place_and_a_deleted_one_is_gone() -> None:
    store = small_store()
    store.put(entry("a", ["cherry"]))
    assert store.document_ids == ["a", "b", "c"]
    assert store.search_lexical("raw", "banana", 9) == []
    assert [row for row, _ in store.search_lexical("raw", "cherry", 9)] == [0]
    assert store.delete("b") is True
    assert store.delete("b") is False
    assert [chunk.doc_id for chunk in store.chunks()] == ["a", "c"]
    assert store.search_lexical("raw", "plum", 9) == []
    assert {
        store.chunk(row).doc_id for row, _ in store.search_dense("raw", [1, 1, 1], 9)
    } == {
        "a",
        "c",
    }
    assert store.row_of("b:0-4") is None


TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join), max_size=3
)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("put"), st.sampled_from("abcd"), TEXTS, st.booleans()),
        st.tuples(st.just("delete"), st.sampled_from("abcd")),
        st.tuples(st.just("search")),
        st.tuples(st.just("reload")),
    ),
    max_size=14,
)


@pytest.mark.slow
@settings(deadline=None, max_examples=40)
@given(
    steps=STEPS,
    lexical=st.sampled_from(["lucene", "okapi"]),
    dtype=st.sampled_from(["float32", "float16"]),
)
def test_any_history_equals_a_fresh_store(
    steps: list, lexical: str, dtype: str, tmp_path_factory
) -> None:  # type: ignore[no-untyped-def, type-arg]
    folder = tmp_path_factory.mktemp("history")
    store = Store(VIEWS, lexical=lexical, dtype=dtype)
    wanted: dict[str, Entry] = {}
    for step in steps:
        if step[0] == "put":
            wanted[step[1]] = entry(
                step[1], step[2], {"size": len(step[2])}, windows=step[3]
            )
            store.put(wanted[step[1]])
        elif step[0] == "delete":
            assert store.delete(step[1]) == (wanted.pop(step[1], None) is not None)
        elif step[0] == "search":
            store.search_lexical("raw", "apple", 3)
        else:
            store.save(folder / "index")
            store = Store.load(folder / "index", verify=True)
    fresh = Store(VIEWS, lexical=lexical, dtype=dtype)
    for doc in wanted.values():
        fresh.put(doc)
    assert answers(store) == answers(fresh)
    for saved, name in ((store, "one"), (fresh, "two")):
        saved.compact()
        saved.save(folder / name)
    assert answers(store) == answers(fresh)
    one, two = (read_manifest(folder / name) for name in ("one", "two"))
    differing = {"save", "checksum"}
    # Equal content, equal files.
    assert {key for key in one if one[key] != two[key]} == differing
    shutil.rmtree(folder)


def test_words_of_deleted_documents_leave_the_mean_idf_of_okapi() -> None:
    store, fresh = Store(VIEWS, lexical="okapi"), Store(VIEWS, lexical="okapi")
    store.put(entry("z", ["guava melon papaya", "lime"]))
    for target in (store, fresh):
        target.put(entry("a", ["apple apple", "apple plum", "pear"]))
    store.delete("z")
    # apple is in two of three chunks: its idf is negative, so the mean stands in for it
    assert store.search_lexical("raw", "apple", 9) == fresh.search_lexical(
        "raw", "apple", 9
    )


@given(st.permutations(["a", "b", "c"]))
def test_insertion_order_changes_nothing_but_ties(order: list[str]) -> None:
    texts = {
        "a": ["apple", "apple banana pear"],
        "b": ["apple plum"],
        "c": ["apple fig fig", "cherry"],
    }
    store = Store(VIEWS)
    for name in order:
        store.put(entry(name, texts[name]))
    found = [
        (store.chunk(row).id, score)
        for row, score in store.search_lexical("raw", "apple", 9)
    ]
    assert [name for name, _ in found[:1]] == ["a:0-5"]
    ties = [name for name, score in found if score == found[1][1]]
    assert [name.partition(":")[0] for name in ties] == [
        name for name in order if f"{name}:" in "".join(ties)
    ]
    assert sorted(found) == sorted(set(found))


def test_the_only_document_may_change_its_dimension() -> None:
    store = Store(VIEWS)
    store.put(entry("a", ["apple"]))
    store.put(
        replace(entry("a", ["apple"]), vectors={"raw": Vectors([[1.0, 0.0]], [0])})
    )
    assert store.search_dense("raw", [2.0, 0.0], 1) == [(0, 1.0)]


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda store: store.search_lexical("x", "apple", 1),
            "view must be one of 'keywords', 'raw'; got 'x'",
        ),
        (
            lambda store: store.search_dense("raw", [1, 1, 1], -1),
            "n must be a number of at least 0; got -1",
        ),
        (lambda store: store.chunk(6), "row must be from 0 to 5; got 6"),
        (lambda store: store.chunk(-1), "row must be from 0 to 5; got -1"),
        (
            lambda store: store.document("z"),
            "doc_id must be a document of the store; 'z' is not",
        ),
        (lambda store: Store(()), "views must be one or more different names"),
        (lambda store: Store("raw"), "views must be one or more different names"),
        (lambda store: Store(("a", "a")), "views must be one or more different names"),
        (
            lambda store: Store(("raw",), config={"x": object()}),
            "config\\['x'\\] must be",
        ),
    ],
)
def test_bad_arguments(call, sentence: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidParameter, match=sentence):
        call(small_store())


def test_an_empty_store_is_valid(tmp_path: Path) -> None:
    store = Store(VIEWS)
    store.put(entry("hollow", []))
    for _ in range(2):
        assert len(store) == 0
        assert "hollow" in store
        assert (
            store.search_lexical("raw", "apple", 3)
            == store.search_dense("raw", [1.0], 3)
            == []
        )
        assert store.row_of("hollow:0-1") is None
        store.save(tmp_path / "index")
        store = Store.load(tmp_path / "index", verify=True)


def test_searches_in_threads_while_documents_come_and_go() -> None:
    store = small_store()
    failures: list[BaseException] = []

    def search() -> None:
        try:
            for _ in range(60):
                hits = store.search_lexical("raw", "apple", 50, {"doc_id": ["a", "b"]})
                assert {row for row, _ in hits} == {0, 1, 3}
                assert store.search_dense("raw", [1, 2, 3], 5)
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=search) for _ in range(3)]
    for thread in threads:
        thread.start()
    for i in range(60):
        store.put(entry(f"new {i}", ["pear", "fig"]))
        store.delete(f"new {i - 3}")
    for thread in threads:
        thread.join()
    assert failures == []


def test_a_store_holds_what_was_put_and_nothing_else() -> None:
    store = small_store()
    put = entry("d", ["apple pie", "plum jam"])
    assert not store.holds(put)
    store.put(put)
    assert store.holds(put) and store.holds(replace(put, vectors={}))
    assert not store.holds(replace(put, fingerprint="another"))
    assert not store.holds(replace(put, degraded=put.degraded + 1))
    assert not store.holds(entry("d", ["apple pie"]))
    assert not store.holds(entry("d", ["apple pie", "plum cake"]))
    assert (store.fingerprint("d"), store.degraded("d")) == ("print of d", 2)
    assert (store.fingerprint("x"), store.degraded("x")) == (None, 0)


def test_segments_are_joined_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structrag.index.store.BUFFER_BYTES", 1)  # a segment a document
    store = small_store()
    names = [*store.document_ids, *(f"new {i}" for i in range(20))]
    for name in names[3:]:
        store.put(entry(name, ["pear"]))
    assert store._merging is not None
    store._merging.join()
    assert len(store._segments) < len(names)
    assert store.document_ids == names


forks = pytest.mark.skipif(
    not hasattr(os, "fork"), reason="no process is forked on this system"
)


def exit_code_of_child(work: Callable[[], object]) -> int | None:
    """Of a forked process that does the work; None if it did not end."""
    with warnings.catch_warnings():
        # From 3.12: the process has threads.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    for _ in range(200):
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.05)
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    return None


@forks
def test_a_forked_process_does_not_wait_for_a_thread_of_its_parent(
    tmp_path: Path,
) -> None:
    store, is_held = small_store(), threading.Event()

    def change_and_save() -> None:
        with store._lock, store._saving:
            is_held.set()
            time.sleep(0.3)

    def work() -> None:
        store.put(entry("new", ["pear"]))
        store.save(tmp_path / "index")
        assert "new" in Store.load(tmp_path / "index")

    thread = threading.Thread(target=change_and_save)
    thread.start()
    is_held.wait()
    assert exit_code_of_child(work) == 0
    thread.join()
    assert "new" not in store
    store.put(entry("later", ["fig"]))
    assert "later" in store


@forks
def test_a_forked_process_leaves_the_files_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structrag.index.store.BUFFER_BYTES", 1)
    stores = [small_store()]
    stores[0].snapshot()
    files = [
        segment.path for segment in stores[0]._segments if segment.path is not None
    ]

    def work() -> None:
        stores.clear()
        gc.collect()

    assert files
    assert exit_code_of_child(work) == 0
    assert all(file.is_file() for file in files)
    paths = [file.parent for file in files]
    stores.clear()
    gc.collect()
    assert not any(path.exists() for path in paths)
