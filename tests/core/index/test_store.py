"""The store: changes equal a fresh one, what is saved comes back, what is damaged is refused."""

from __future__ import annotations

import gc
import shutil
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from forking import exit_code, forked, forks
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import VIEWS, WORDS, answers, entry, small_store

from structrag.errors import InvalidParameter
from structrag.index.entries import Entry
from structrag.index.segments import Merge, Segment
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
    assert [store.reader().view_text(row, "keywords") for row in range(3)] == [
        "apple",
        None,
        "plum",
    ]
    assert [row for row, _ in store.reader().search_lexical("raw", "apple", 9)] == [
        1,
        0,
        3,
    ]
    assert [
        row for row, _ in store.reader().search_lexical("keywords", "apple", 9)
    ] == [0]
    assert store.reader().search_dense("keywords", [1.0], 9) == []
    assert (
        store.stored("b").fingerprint,
        store.stored("b").degraded,
        "b" in store,
    ) == (
        "print of b",
        3,
        True,
    )
    assert store.stored("z") is None and "z" not in store
    assert store.document("a") == Document(
        "", id="a", title="A", meta={"year": 2020, "tags": ["x", "y"]}
    )


def test_a_reader_stays_as_it_was() -> None:
    store = small_store()
    reader = store.reader()

    def seen() -> list[Any]:
        apples = reader.search_lexical("raw", "apple", 9)
        return [reader.chunks(), apples, reader.document_ids]

    before = seen()
    store.put(entry("a", ["cherry"]))
    store.delete("b")
    store.compact()
    assert seen() == before and "b" in reader and "b" not in store
    assert reader.changes != store.reader().changes
    assert [chunk.doc_id for chunk in store.chunks()] == ["a", "c"]


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


def blobs(store: Store) -> list[list[bytes]]:
    rows = store.reader().stored_rows(range(len(store)), ["codes"])
    return [[bytes(blob) for blob in row.blobs] for row in rows.values()]


@settings(deadline=None, max_examples=30)
@given(
    steps=STEPS,
    lexical=st.sampled_from(["lucene", "okapi"]),
    dtype=st.sampled_from(["float32", "float16"]),
    is_crowded=st.booleans(),
)
def test_any_history_equals_a_fresh_store(
    steps: list, lexical: str, dtype: str, is_crowded: bool, tmp_path_factory
) -> None:  # type: ignore[no-untyped-def, type-arg]
    with pytest.MonkeyPatch.context() as patch:
        if is_crowded:  # any two segments are joined, in a file and by a thread
            patch.setattr("structrag.index.store.FAN", 2)
            patch.setattr("structrag.index.store.INLINE_ROWS", 0)
            patch.setattr("structrag.index.store.BUFFER_BYTES", 1)
        check_history(steps, lexical, dtype, tmp_path_factory.mktemp("history"))


def check_history(steps: list[Any], lexical: str, dtype: str, folder: Path) -> None:
    store = Store(VIEWS, lexical=lexical, dtype=dtype)
    wanted: dict[str, Entry] = {}
    for step in steps:
        if step[0] == "put":
            of = entry(step[1], step[2], {"size": len(step[2])}, windows=step[3])
            if step[3]:
                of = replace(of, blobs={"codes": tuple(map(str.encode, step[2]))})
            wanted[step[1]] = of
            store.put(of)
        elif step[0] == "delete":
            assert store.delete(step[1]) == (wanted.pop(step[1], None) is not None)
        elif step[0] == "search":
            store.reader().search_lexical("raw", "apple", 3)
        else:
            store.save(folder / "index")
            store = Store.load(folder / "index", verify=True)
    fresh = Store(VIEWS, lexical=lexical, dtype=dtype)
    for doc in wanted.values():
        fresh.put(doc)
    assert answers(store) == answers(fresh) and blobs(store) == blobs(fresh)
    for saved, name in ((store, "one"), (fresh, "two")):
        saved.compact()
        saved.save(folder / name)
    assert answers(store) == answers(fresh) and blobs(store) == blobs(fresh)
    one, two = (read_manifest(folder / name) for name in ("one", "two"))
    differing = {"save", "saved", "checksum"}
    # Equal content, equal files.
    assert {key for key in one if one[key] != two[key]} == differing
    shutil.rmtree(folder)


def test_what_changes_while_segments_are_joined_is_there_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structrag.index.store.FAN", 2)
    monkeypatch.setattr("structrag.index.store.INLINE_ROWS", 0)
    store, write = Store(VIEWS), Merge.write
    changes = [lambda: store.put(entry("d0", ["plum"])), lambda: store.delete("d1")]

    def written_beside_changes(merge: Merge, folder: Path) -> Segment:
        while changes:
            changes.pop()()
        return write(merge, folder)

    monkeypatch.setattr(Merge, "write", written_beside_changes)
    for names in (("d0", "d1"), ("d2", "d3")):
        store.put_all([entry(name, ["fig"]) for name in names])
        store.reader()
    assert store._merging is not None
    store._merging.join()
    assert not changes and store.document_ids == ["d0", "d2", "d3"]
    assert [chunk.text for chunk in store.chunks()] == ["plum", "fig", "fig"]


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
        (store.reader().chunk(row).id, score)
        for row, score in store.reader().search_lexical("raw", "apple", 9)
    ]
    assert [name for name, _ in found[:1]] == ["a:0-5"]
    ties = [name for name, score in found if score == found[1][1]]
    assert [name.partition(":")[0] for name in ties] == [
        name for name in order if f"{name}:" in "".join(ties)
    ]
    assert sorted(found) == sorted(set(found))


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda store: store.reader().search_lexical("x", "apple", 1),
            "view must be one of 'keywords', 'raw'; got 'x'",
        ),
        (
            lambda store: store.reader().search_dense("raw", [1, 1, 1], -1),
            "n must be a number of at least 0; got -1",
        ),
        (lambda store: store.reader().chunk(6), "row must be from 0 to 5; got 6"),
        (lambda store: store.reader().chunk(-1), "row must be from 0 to 5; got -1"),
        (
            lambda store: store.document("z"),
            "doc_id must be the id of a document in the index; got 'z'",
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
    assert exit_code(forked(work)) == 0
    thread.join()
    assert "new" not in store
    store.put(entry("later", ["fig"]))
    assert "later" in store


@pytest.mark.slow
@forks
def test_a_forked_process_leaves_the_files_of_its_parent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structrag.index.store.BUFFER_BYTES", 1)
    stores = [small_store()]
    stores[0].snapshot()
    files = [
        segment.file.path for segment in stores[0]._segments if segment.file is not None
    ]

    def work() -> None:
        stores.clear()
        gc.collect()

    assert files
    assert exit_code(forked(work)) == 0
    assert all(file.is_file() for file in files)
    paths = [file.parent for file in files]
    stores.clear()
    gc.collect()
    assert not any(path.exists() for path in paths)


# -- segments


@pytest.mark.slow
def test_documents_beyond_the_buffer_lie_in_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    # Each counts as 2,022 bytes: a row, five characters, and a vector of three numbers.
    monkeypatch.setattr("structrag.index.store.BUFFER_BYTES", 2 * 2_022)
    store = Store(VIEWS)

    def files() -> int:
        gc.collect()
        return len(list(tmp_path.glob("*/*.seg")))

    store.put(entry("a", ["apple"]))
    store.reader()
    assert files() == 0  # no more than half
    store.put_all([entry("b", ["lemon"]), entry("c", ["peach"])])
    assert files() == 0  # no more than all
    store.reader()
    assert files() == 1
    store.put_all([entry(name, ["mango"]) for name in "de"])
    assert files() == 1
    store.put(entry("f", ["mango"]))
    assert files() == 2  # more than all, and nobody has looked
    assert store.document_ids == list("abcdef")
    for name in "adf":
        store.delete(name)
    assert [
        row for row, _ in store.reader().search_lexical("raw", "peach mango", 9)
    ] == [1, 2]
    store.compact()
    assert files() == 1  # those that it was made of are gone


def test_documents_stay_in_memory_where_no_file_can_be_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structrag.index.store.BUFFER_BYTES", 1)

    def full(merge: Merge, folder: Path) -> Segment:
        raise OSError("No space left on device")

    monkeypatch.setattr(Merge, "write", full)
    assert answers(small_store())[2:] and small_store().document_ids == ["a", "b", "c"]
    store = small_store()
    store.compact()
    assert [segment.file for segment in store.snapshot().segments] == [None]
    assert [chunk.text for chunk in store.chunks("c")] == ["pear fig"]


# -- changes and what is checked


def test_blobs_are_kept_by_row_and_there_is_one_a_chunk() -> None:
    store = Store(VIEWS)
    blobs = {"codes": (b"\0one", b"two")}
    with_blobs = replace(entry("a", ["fig", "plum"]), blobs=blobs)
    store.put_all([entry("plain", ["plum"]), with_blobs])
    rows = store.reader().stored_rows([0, 2, 7, 1, -1], ["codes"])
    assert {row: [bytes(one) for one in held.blobs] for row, held in rows.items()} == {
        0: [b""],
        1: [b"\0one"],
        2: [b"two"],
    }
    assert rows[2].row.chunk == store.reader().chunk(2)
    with pytest.raises(InvalidParameter, match="2 chunks and 1 item"):
        store.put(replace(with_blobs, blobs={"codes": (b"one",)}))
