"""A store in Milvus: commits that are whole, writers, what is removed, and servers that fail."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_making import stop_milvus
from faulty_proxy import FaultyProxy, milvus_server
from store_making import VIEWS, entry

from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    MissingExtra,
    ModelFailed,
    TimedOut,
)
from structrag.index import milvus, milvus_reader
from structrag.index.milvus import MilvusStore
from structrag.index.milvus_client import MilvusDatabase
from structrag.index.milvus_collections import (
    CHUNKS,
    SETTINGS_ROW,
    STATE,
    _create,
    create_vectors,
    packed,
    state_record,
    terms_of,
    vectors_of,
)
from structrag.index.milvus_reader import MilvusReader
from structrag.index.store import Store

pymilvus = pytest.importorskip("pymilvus", reason="the extra 'milvus' is not installed")
pytest.importorskip("milvus_lite", reason="Milvus Lite is not installed")

SETTINGS = Store(VIEWS).settings
WORDS = ["apple", "banana", "cherry", "plum", "pear", "fig"]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[str]:
    yield str(tmp_path / "corpus.db")
    stop_milvus(str(tmp_path / "corpus.db"))


@pytest.fixture
def proxy(tmp_path: Path) -> Iterator[FaultyProxy]:
    with milvus_server(str(tmp_path / "server")) as port:
        proxy = FaultyProxy(port)
        yield proxy
        proxy.stop()


def texts_of(store: Any) -> dict[str, list[str]]:
    return {
        name: [chunk.text for chunk in store.chunks(name)]
        for name in store.document_ids
    }


def rankings(store: Any) -> list[Any]:
    """What is found for each word, in both views."""
    reader = store.reader()
    return [
        [
            (reader.chunk(row).text, score)
            for row, score in reader.search_lexical(view, word, 99)
        ]
        for view in VIEWS
        for word in WORDS
    ]


def assert_same(store: MilvusStore, own: Store) -> None:
    """Documents, counts of terms and scores are those of the embedded store."""
    store.save(store.uri)
    assert texts_of(store) == texts_of(own) and len(store) == len(own)
    expected = [
        [
            (own.reader().chunk(row).text, score)
            for row, score in own.reader().search_lexical(view, word, 99)
        ]
        for view in VIEWS
        for word in WORDS
    ]
    found = rankings(store)
    assert [[text for text, _ in ranking] for ranking in found] == [
        [text for text, _ in ranking] for ranking in expected
    ]
    for ranking, right in zip(found, expected, strict=True):
        scores = [score for _, score in right]
        assert [score for _, score in ranking] == pytest.approx(scores, rel=0.02)
    n_rows = {
        view: sum(
            own.reader().view_text(row, view) is not None for row in range(len(own))
        )
        for view in VIEWS
    }
    assert store._state().n_rows == n_rows


# -- commits


def test_a_change_that_fails_at_any_call_leaves_all_documents_whole(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, own = MilvusStore.open(place, SETTINGS), Store(VIEWS)
    old = [entry("a", ["apple fig", "plum"], windows=True), entry("b", ["pear pear"])]
    for each in (store, own):
        each.put_all(old)
    answer, left, n_failed = MilvusDatabase._answer, [0], 0

    def failing(self: MilvusDatabase, ask: Any, *given: Any, **options: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            raise ModelFailed("the network is gone")
        return answer(self, ask, *given, **options)

    for n_calls in range(100):
        change = [
            entry("a", [f"cherry {'fig ' * n_calls}"]),
            entry(f"n{n_calls}", ["fig", "plum"]),
        ]
        left[0] = n_calls
        with monkeypatch.context() as patch:
            patch.setattr(MilvusDatabase, "_answer", failing)
            try:
                store.put_all(change)
            except ModelFailed:
                n_failed += 1
            else:
                own.put_all(change)
                break
        assert texts_of(store) == texts_of(own)
    assert n_failed > 8
    assert_same(store, own)


def test_what_was_replaced_is_removed_after_a_while(
    place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, own = MilvusStore.open(place, SETTINGS), Store(VIEWS)
    for number in range(5):
        for each in (store, own):
            each.put(entry("a", ["apple fig"] * (number + 1)))
    old = store.reader()
    assert store._database.count(CHUNKS, "version >= 0") == sum(range(2, 7))
    monkeypatch.setattr(milvus, "KEPT", -1.0)
    store.optimize()
    assert store._database.count(CHUNKS, "version >= 0") == 6
    assert not store._state().hidden and not store._state().outdated
    segments = sum(
        n_parts for of in store._state().counts.values() for _, n_parts, _ in of
    )
    assert store._database.count(STATE, "id >= 0") == segments + 2
    assert_same(store, own)
    monkeypatch.setattr(milvus_reader, "KEPT", 0.0)  # the reader is older than that
    with pytest.raises(ModelFailed, match="has changed since this reader was made"):
        old.chunks("a")


# -- writers

WRITER = """
import sys
sys.path.insert(0, {tests!r})
from store_making import VIEWS, entry
from structrag.index.milvus import MilvusStore
from structrag.index.store import Store
store = MilvusStore.open({place!r}, Store(VIEWS).settings)
for i in range(1000):
    store.put(entry(f"d{{i % 7}}", ["apple " * (i % 5 + 1), "fig"]))
    print(i, flush=True)
"""


@pytest.mark.slow
def test_a_file_is_for_one_process_and_whole_when_that_is_killed(place: str) -> None:
    code = WRITER.format(tests=str(Path(__file__).parents[2]), place=place)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        assert process.stdout is not None
        for _ in range(9):
            process.stdout.readline()
        with pytest.raises(ModelFailed, match="is open in another process"):
            MilvusStore.open(place)
        process.send_signal(signal.SIGKILL)
    store = MilvusStore.open(place)
    own = Store(VIEWS)
    for name, texts in texts_of(store).items():
        assert len(texts) == 2
        own.put(entry(name, texts))
    for each in (store, own):
        each.put(entry("after", ["plum"]))
    assert_same(store, own)


def test_of_two_writers_on_a_server_the_overtaken_one_fails(proxy: FaultyProxy) -> None:
    first = MilvusStore.open(f"http://{proxy.address}", SETTINGS)
    second = MilvusStore.open(f"http://{proxy.address}/default")
    first.put(entry("a", ["apple"]))
    with (
        pytest.raises(ModelFailed, match="Another process is writing"),
        first._commit(1),
    ):
        second.put(entry("b", ["fig", "plum"]))
    assert texts_of(first) == texts_of(second) == {"a": ["apple"], "b": ["fig", "plum"]}
    first.put(entry("c", ["pear"]))
    own = Store(VIEWS)
    own.put_all(
        [entry("a", ["apple"]), entry("b", ["fig", "plum"]), entry("c", ["pear"])]
    )
    assert_same(second, own)


# -- servers that fail


def test_connections_that_break_are_made_again(proxy: FaultyProxy) -> None:
    store, own = MilvusStore.open(f"http://{proxy.address}", SETTINGS), Store(VIEWS)
    proxy.left, proxy.cuts = 500, 3
    entries = [entry(f"d{i}", ["apple " * 50, WORDS[i % 6]]) for i in range(60)]
    for each in (store, own):
        each.put_all(entries)
    assert proxy.n_cut == 3
    assert_same(store, own)


def test_a_server_that_is_slow_or_down_is_a_sentence(
    proxy: FaultyProxy,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    store = MilvusStore.open(f"http://{proxy.address}", SETTINGS)
    store.put(entry("a", ["apple"]))
    store._database.seconds = 0.5
    proxy.answers_after = 3.0
    with pytest.raises(
        TimedOut, match=r"did not answer within 0\.5 seconds .*MILVUS_TIMEOUT"
    ):
        store.put(entry("a", ["fig"]))
    proxy.answers_after, proxy.is_down = 0.0, True
    proxy.cut()
    with pytest.raises(TimedOut, match="Check its address"):
        store.put(entry("a", ["plum"]))
    monkeypatch.setenv("MILVUS_TIMEOUT", "0.5")
    with pytest.raises(TimedOut, match="Check its address"):
        MilvusStore.open(f"http://{proxy.address}")
    assert capfd.readouterr().err == ""  # no trace of others beside the sentence
    proxy.is_down, store._database.seconds = False, 60.0
    assert texts_of(store) == {"a": ["apple"]}
    store.put(entry("a", ["pear"]))
    assert texts_of(store) == {"a": ["pear"]}


# -- what is refused


def test_other_places_and_contents_are_refused(place: str, tmp_path: Path) -> None:
    store = MilvusStore.open(place, SETTINGS)
    for content, message in (
        (b'{"format": "structrag-milvus", "version": 99}', "has format version 99"),
        (b'{"format": "other"}', "version None"),
        (b"nonsense", "is damaged: its settings"),
    ):
        store._database.insert(STATE, [state_record(SETTINGS_ROW, packed(content))])
        with pytest.raises(IndexDamaged, match=message):
            MilvusStore.open(place)
    (tmp_path / "notes.db").write_text("mine")
    with pytest.raises(
        InvalidParameter, match="store must be new or a file of Milvus Lite"
    ):
        MilvusStore.open(str(tmp_path / "notes.db"), SETTINGS)
    assert (tmp_path / "notes.db").read_text() == "mine"
    with pytest.raises(InvalidParameter, match=r"a file that ends in '\.db'"):
        MilvusStore.open(str(tmp_path / "corpus"), SETTINGS)


@pytest.mark.parametrize("is_made_anew", [False, True])
@pytest.mark.parametrize("name", [CHUNKS, terms_of("raw"), vectors_of("raw")])
def test_a_collection_that_changes_under_a_reader_is_a_sentence(
    place: str, name: str, is_made_anew: bool
) -> None:
    store = MilvusStore.open(place, SETTINGS)
    store.put(entry("a", ["apple", "fig"]))
    before, database = store.reader(), store._database
    database.call("drop_collection", name)
    if is_made_anew and name == vectors_of("raw"):
        create_vectors(database, "raw", 5)
    elif is_made_anew:
        _create(
            database, name, [("note", database.types.VARCHAR, {"max_length": 9})], []
        )
    uses: dict[str, list[Callable[[MilvusReader], Any]]] = {
        CHUNKS: [
            lambda reader: reader.document_ids,
            lambda reader: reader.chunks("a"),
            lambda reader: reader.chunk(1),
        ],
        terms_of("raw"): [lambda reader: reader.search_lexical("raw", "apple", 5)],
        vectors_of("raw"): [
            lambda reader: reader.search_dense("raw", [1.0, 2.0, 3.0], 5)
        ],
    }
    how = "was recreated" if is_made_anew else "is missing"
    for reader in (before, store.reader()):
        for use in uses[name]:
            with pytest.raises(
                IndexDamaged, match=f"its collection {name} {how}. Open the store again"
            ):
                use(reader)
    state = store._state()
    for change in (lambda: store.put(entry("b", ["plum"])), lambda: store.delete("a")):
        with pytest.raises(IndexDamaged, match=how):
            change()  # type: ignore[no-untyped-call]
    assert store._state() == state


def test_a_store_that_was_made_anew_takes_nothing_of_who_had_opened_the_other(
    place: str,
) -> None:
    store = MilvusStore.open(place, SETTINGS)
    store.put(entry("a", ["apple"]))
    for name in store._database.collections():
        store._database.call("drop_collection", name)
    other = MilvusStore.open(place, SETTINGS)
    other.put(entry("z", ["plum"]))
    with pytest.raises(IndexDamaged, match="was recreated"):
        store.put(entry("b", ["fig"]))
    assert texts_of(MilvusStore.open(place)) == {"z": ["plum"]}


def test_an_interrupted_creation_is_begun_again(place: str) -> None:
    store = MilvusStore.open(place, SETTINGS)
    store.put(entry("a", ["apple"]))
    store._database.call("delete", STATE, filter=f"id == {SETTINGS_ROW}")
    again = MilvusStore.open(place, SETTINGS)
    assert again.document_ids == []
    again.put(entry("b", ["fig"]))
    assert again.document_ids == ["b"]


def test_documents_that_milvus_cannot_hold_are_refused(place: str) -> None:
    store = MilvusStore.open(place, SETTINGS)
    with pytest.raises(InvalidParameter, match="must have at most 4,096 keys"):
        store.put(entry("a", ["apple"], {"tags": [str(i) for i in range(5000)]}))
    assert store.document_ids == []


def test_a_package_that_is_missing_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymilvus", None)
    with pytest.raises(MissingExtra, match=r"pip install 'structrag\[milvus\]'"):
        MilvusStore.open(str(tmp_path / "corpus.db"), SETTINGS)
