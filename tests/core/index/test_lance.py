"""A store in LanceDB: what it keeps, what one commit does, and what it refuses."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from bucket_making import Bucket, serving
from doubles import HashEmbedder
from fixture_cases import examples
from store_making import VIEWS, entry

from structrag import (
    Document,
    Index,
    MultiViewRetriever,
    read_text,
)
from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    MissingExtra,
    ModelFailed,
    NoIndex,
    SaveFailed,
)
from structrag.index import lance, lance_reader, storage
from structrag.index.entries import Vectors
from structrag.index.lance import CHUNKS, FORMAT, SETTINGS, LanceStore, coverage
from structrag.index.lance_reader import LanceReader, has_bits
from structrag.index.store import Store

lancedb = pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")

WORDS = ["apple", "banana", "cherry", "plum"]


def store_at(place: Path, **options: Any) -> LanceStore:
    return LanceStore.open(
        str(place), Store(VIEWS, **options).settings, {"made": "here"}
    )


def test_a_large_table_is_joined_and_its_vectors_are_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, "INDEXED_ROWS", 300)
    monkeypatch.setattr(lance, "MOST_FRAGMENTS", 2)
    store = store_at(tmp_path)
    for group in range(4):
        texts = [f"{WORDS[i % 4]} number{i} {'fig ' * (i % 7)}" for i in range(100)]
        store.put(entry(str(group), texts))
    exact = [
        score for _, score in store.reader().search_dense("raw", [1.0, 2.0, 3.0], 99)
    ]
    store.save(tmp_path)
    assert store._joining is not None
    store._joining.join()
    statistics = store._table.stats()["fragment_stats"]
    assert statistics["num_fragments"] == 1
    assert coverage(store._table, "vector_raw") == (404, 0)
    # All lists of a table of this size are searched.
    found = store.reader().search_dense("raw", [1.0, 2.0, 3.0], 99)
    assert [score for _, score in found] == exact
    store.put(entry("more", [f"{WORDS[i % 4]} more{i}" for i in range(298)]))
    store.save(tmp_path)
    store._joining.join()
    # Few enough to be compared.
    assert coverage(store._table, "vector_raw") == (404, 299)
    store.optimize()
    assert coverage(store._table, "vector_raw") == (703, 0)


def test_a_larger_table_is_searched_in_part_but_for_rare_rows_and_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, "INDEXED_ROWS", 100)
    for module in (lance, lance_reader):
        monkeypatch.setattr(module, "EXACT_ROWS", 50)
        monkeypatch.setattr(module, "LIST_ROWS", 10)
    vectors = np.random.default_rng(0).standard_normal((400, 16))
    store = store_at(tmp_path)
    texts = entry("many", [f"number{i}" for i in range(395)])
    rare = entry("rare", [f"number{i}" for i in range(395, 400)], {"kind": "rare"})
    store.put(replace(texts, vectors={"raw": Vectors(vectors[:395], np.arange(395))}))
    store.put(replace(rare, vectors={"raw": Vectors(vectors[395:], np.arange(5))}))
    store.optimize()

    def best(query: np.ndarray) -> set[str]:
        products = vectors @ query / np.linalg.norm(vectors, axis=1)
        return {f"number{i}" for i in np.argsort(-products)[:40]}

    def nearest(n: int, where: Any = None, query: Any = vectors[0]) -> set[str]:
        reader = store.reader()
        rows = [row for row, _ in reader.search_dense("raw", query, n, where)]
        return {chunk.text for chunk in reader.chunks_at(rows)}

    assert "number0" in nearest(40)
    assert any(nearest(40, query=one) != best(one) for one in vectors[:9])
    assert nearest(9, {"kind": "rare"}) == {f"number{i}" for i in range(395, 400)}
    assert len(nearest(400)) == 400  # fewer are in the nearest lists
    store.exact = True
    assert nearest(40) == best(vectors[0])
    # Smaller again, it has an index of vectors, and all its lists are searched.
    store.exact = False
    for module in (lance, lance_reader):
        monkeypatch.setattr(module, "EXACT_ROWS", 500)
    assert has_bits(store._table, "vector_raw")
    store.optimize()
    assert not has_bits(store._table, "vector_raw") and nearest(40) == best(vectors[0])


# -- what is refused


def test_a_place_of_something_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(
        InvalidParameter,
        match="store must be new, an empty folder or a structrag store",
    ):
        store_at(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]
    with pytest.raises(NoIndex, match="There is no structrag store"):
        LanceStore.open(str(tmp_path))
    with pytest.raises(NoIndex):
        LanceStore.open(str(tmp_path / "new"))
    assert not (tmp_path / "new").exists()


def test_other_settings_versions_and_columns_are_refused(tmp_path: Path) -> None:
    # Stores that were made before must go on being read.
    assert FORMAT == "structrag-lancedb"
    store_at(tmp_path)
    with pytest.raises(InvalidParameter, match="must match the store at"):
        LanceStore.open(str(tmp_path), Store(["raw"]).settings)
    database = lancedb.connect(tmp_path)
    database.open_table(CHUNKS).drop_columns(["record"])
    with pytest.raises(
        IndexDamaged, match=r"changed by another program.*column 'record'"
    ):
        store_at(tmp_path)
    for content, message in (
        (b'{"format": "structrag-lancedb", "version": 99}', "has format version 99"),
        (b'{"format": "other"}', "version None"),
        (b"nonsense", "is damaged: its settings"),
    ):
        database.create_table(SETTINGS, [{"content": content}], mode="overwrite")
        with pytest.raises(IndexDamaged, match=message):
            LanceStore.open(str(tmp_path))


@examples
def test_a_table_that_another_program_changes_is_one_sentence(
    tmp_path: Path, column: str | None, message: str
) -> None:
    store = store_at(tmp_path)
    store.put(entry("a", ["apple"]))
    before = store.reader()
    table = lancedb.connect(tmp_path).open_table(CHUNKS)
    if column is None:
        table.add_columns({"note": "1"})
    else:
        table.drop_columns([column])
    # Of the version it opened.
    assert [chunk.text for chunk in before.chunks("a")] == ["apple"]
    for use in (
        lambda: store.put(entry("b", ["fig"])),
        store.reader,
        lambda: store.delete("a"),
    ):
        with pytest.raises(IndexDamaged, match=message):
            use()  # type: ignore[no-untyped-call]
    assert table.count_rows("document = '\"b\"'") == 0


def test_an_interrupted_creation_is_begun_again(tmp_path: Path) -> None:
    lancedb.connect(tmp_path).create_table(CHUNKS, [{"a": 1}])
    store = store_at(tmp_path)
    store.put(entry("a", ["apple"]))
    assert store.document_ids == ["a"]


@pytest.mark.parametrize("is_made_anew", [False, True])
def test_a_table_that_goes_away_is_one_sentence(
    tmp_path: Path, is_made_anew: bool
) -> None:
    store = store_at(tmp_path)
    store.put(entry("a", ["apple"]))
    before = store.reader()
    for name in (CHUNKS, SETTINGS) if is_made_anew else (CHUNKS,):
        lancedb.connect(tmp_path).drop_table(name)
    if is_made_anew:
        store_at(tmp_path).put(entry("z", ["plum"]))
    for use in (
        lambda: before.search_lexical("raw", "apple", 5),
        lambda: before.search_dense("raw", [1.0, 2.0, 3.0], 5),
        lambda: before.document_ids,
        lambda: store.put(entry("b", ["fig"])),
        lambda: store.delete("a"),
    ):
        with pytest.raises(IndexDamaged, match=r"Files of the store at .* are missing"):
            use()  # type: ignore[no-untyped-call]
    if is_made_anew:
        assert LanceStore.open(str(tmp_path)).document_ids == ["z"]
    else:
        with pytest.raises(IndexDamaged, match="restore it from a copy or rebuild it"):
            LanceStore.open(str(tmp_path))


@pytest.mark.slow
def test_a_bucket_that_is_down_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        monkeypatch.setenv(
            "AWS_ENDPOINT", f"http://127.0.0.1:{nobody.getsockname()[1]}"
        )
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_REGION"):
            monkeypatch.setenv(name, "nobody")
        monkeypatch.setenv("AWS_ALLOW_HTTP", "true")
        with pytest.raises(ModelFailed, match="The store 's3://bucket/corpus' raised"):
            LanceStore.open("s3://bucket/corpus", Store(VIEWS).settings)


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lancedb", None)
    with pytest.raises(MissingExtra, match=r"pip install 'structrag\[lancedb\]'"):
        store_at(tmp_path)


# -- several processes

WRITER = """
import sys
from structrag.index.lance import LanceStore
from structrag.index.store import Store
sys.path.insert(0, {tests!r})
from store_making import VIEWS, entry
store = LanceStore.open({place!r})
for i in range({first}, {last}):
    store.put(entry(f"d{{i}}", ["apple " * (i % 5 + 1), "fig"]))
    print(i, flush=True)
"""


def writer(place: Path, first: int, last: int) -> subprocess.Popen[str]:
    tests = str(Path(__file__).parents[2])
    code = WRITER.format(tests=tests, place=str(place), first=first, last=last)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    return subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    )


LEAVER = """
import sys
from structrag.index import lance
from structrag.index.store import Store
sys.path.insert(0, {tests!r})
from store_making import VIEWS, entry
lance.INDEXED_ROWS = 50
store = lance.LanceStore.open({place!r}, Store(VIEWS).settings)
store.put(entry("a", [f"apple {{i}}" for i in range(60)]))
store.save(store.uri)
"""


@pytest.mark.slow
def test_a_process_that_ends_makes_its_indexes_first(tmp_path: Path) -> None:
    code = LEAVER.format(tests=str(Path(__file__).parents[2]), place=str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run(
        [sys.executable, "-c", code], check=True, timeout=120, env=environment
    )
    assert coverage(LanceStore.open(str(tmp_path))._table, "vector_raw") == (61, 0)


@pytest.mark.slow
def test_two_writers_take_turns_and_one_that_is_killed_leaves_whole_documents(
    tmp_path: Path,
) -> None:
    store = store_at(tmp_path)
    with writer(tmp_path, 0, 1000) as killed, writer(tmp_path, 1000, 1010) as other:
        assert killed.stdout is not None
        for _ in range(5):
            killed.stdout.readline()
        time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        other.communicate(timeout=120)
    assert other.returncode == 0
    ids = store.document_ids
    assert len(ids) == len(set(ids)) >= 15 and {
        f"d{i}" for i in range(1000, 1010)
    } <= set(ids)
    assert all(len(store.chunks(doc_id)) == 2 for doc_id in ids)
    store.put(entry("after", ["plum"]))
    assert store.document_ids[-1] == "after"


@pytest.mark.slow
def test_a_writer_that_is_stopped_holds_up_no_search_and_other_writers_not_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = store_at(tmp_path)
    with writer(tmp_path, 0, 1000) as stopped:
        assert stopped.stdout is not None
        for _ in range(5):
            stopped.stdout.readline()
        # Until it is stopped while it holds the lock, as for most of its time.
        with suppress(storage._NameTaken):
            while True:
                stopped.send_signal(signal.SIGCONT)
                time.sleep(0.01)
                stopped.send_signal(signal.SIGSTOP)
                with storage.one_saver(tmp_path, wait=False):
                    pass
        ids = store.document_ids
        monkeypatch.setattr(storage, "PATIENCE", 5.0)
        with ThreadPoolExecutor(1) as pool:
            put = pool.submit(store.put, entry("late", ["plum"]))
            time.sleep(0.1)
            assert (
                len(store.reader().search_lexical("raw", "apple", 2)) == 2
                and not put.done()
            )
            with pytest.raises(
                SaveFailed, match=r"writing to .* for 5 seconds.*end it if"
            ):
                put.result()
        assert store.document_ids == ids
        monkeypatch.undo()
        with ThreadPoolExecutor(1) as pool:
            put = pool.submit(store.put, entry("late", ["plum"]))
            stopped.send_signal(signal.SIGKILL)
            put.result(60)
    assert store.document_ids[-1] == "late"
    assert all(len(store.chunks(doc_id)) == 2 for doc_id in store.document_ids[:-1])


def test_adding_again_asks_the_store_once_for_many_documents(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [read_text(f"# D{i}\n\nPump {i}.", id=f"d{i}") for i in range(60)]
    index = Index(embedder=HashEmbedder(), store=f"lancedb:{tmp_path}", views=("raw",))
    index.add(documents)
    queries: list[Any] = []
    ask = LanceReader._where
    monkeypatch.setattr(
        LanceReader,
        "_where",
        lambda self, *args: queries.append(args) or ask(self, *args),
    )
    reopened = Index.load(f"lancedb:{tmp_path}", embedder=HashEmbedder())
    assert reopened.add(documents).unchanged == 60
    assert len(queries) < 5


# -- in a bucket


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    with serving(monkeypatch) as one:
        yield one


def manuals() -> list[Document]:
    return [
        read_text(
            f"# Pump {i}\n\nIt moves {'water' if i % 2 else 'oil'}.\n\n## Care\n\nRinse part {i}.",
            id=f"p{i}",
            meta={"year": 2020 + i},
        )
        for i in range(4)
    ]


def test_a_bucket_holds_what_memory_holds(
    bucket: Bucket, embedder: HashEmbedder
) -> None:
    address = f"lancedb:{bucket.uri}/corpus?tenant=acme"
    near, far = Index(embedder=embedder), Index(embedder=embedder, store=address)
    for index in (near, far):
        index.add(manuals())
        index.add([replace(manuals()[1], text="# Pump 1\n\nIt has no part.")])
        index.delete("p2")
    opened = Index.load(address, embedder=embedder)
    assert opened.document_ids == near.document_ids == ["p0", "p1", "p3"]
    for question in ("What moves oil?", "no part", "Rinse part 3"):
        for where in (None, {"year": [2020, 2021]}):
            expected = [
                hit.chunk
                for hit in MultiViewRetriever(near).search(question, where=where)
            ]
            assert [
                hit.chunk
                for hit in MultiViewRetriever(opened).search(question, where=where)
            ] == expected
    assert all(name.startswith("corpus/tenant_acme/") for name in bucket.objects)


def test_a_bucket_that_refuses_any_request_of_a_change_has_old_or_new_documents_whole(
    bucket: Bucket, embedder: HashEmbedder
) -> None:
    address = f"lancedb:{bucket.uri}/corpus"
    before = manuals()[:2]
    after = [
        replace(before[0], text="# Pump 0\n\nNew.\n\n## All\n\nNew."),
        *manuals()[1:],
    ]
    contents = []
    for documents in (before, after):
        alone = Index(embedder=embedder)
        alone.add(documents)
        contents.append(alone.chunks())
    Index(embedder=embedder, store=address).add(before)
    seen = []
    for number in range(100):
        try:
            index = Index.load(address, embedder=embedder)
            bucket.fail(403, 1_000, "PUT", "POST", "DELETE", after=number)
            index.add(after)
        except ModelFailed as error:
            assert str(error).startswith(f"The store '{bucket.uri}/corpus' raised")
        left, bucket.times = bucket.times, 0
        there = Index.load(address, embedder=embedder).chunks()
        assert there in contents
        seen.append(contents.index(there))
        if left == 1_000:  # all requests went well
            break
    assert seen[0] == 0 and seen[-1] == 1 and len(seen) > 3
    assert seen == sorted(seen)


def test_a_bucket_that_cannot_be_read_is_an_error_and_later_is_read(
    bucket: Bucket, embedder: HashEmbedder
) -> None:
    index = Index(embedder=embedder, store=f"lancedb:{bucket.uri}/corpus")
    index.add(manuals())
    retriever = MultiViewRetriever(index, k=1)
    (hit,) = retriever.search("Rinse part 3")
    bucket.fail(403, 1_000, "GET", "HEAD")
    with pytest.raises(ModelFailed, match=rf"The store '{bucket.uri}/corpus' raised"):
        Index.load(index.address, embedder=embedder)
    bucket.times = 0
    assert retriever.search("Rinse part 3") == [hit]


def test_a_later_search_of_a_bucket_takes_a_dozen_requests(
    bucket: Bucket, embedder: HashEmbedder
) -> None:
    index = Index(
        embedder=embedder, store=f"lancedb:{bucket.uri}/corpus", views=["raw"]
    )
    bucket.asked.clear()
    index.add(manuals())
    assert 20 < len(bucket.asked) < 90
    retriever = MultiViewRetriever(index, k=1)
    retriever.search("Rinse part 3")
    bucket.asked.clear()
    assert retriever.search("What moves oil?")
    assert 2 < len(bucket.asked) < 20
