"""An embedder fitted to a level: its vectors and the queries' belong to one fit."""

from __future__ import annotations

import threading
import time

import pytest
from doubles import HashEmbedder

from structrag import Index, MultiViewRetriever, read_text
from structrag.errors import InvalidParameter
from structrag.index.levels import SearchedLevel
from structrag.models import LsaEmbedder


def pumps(count: int) -> Index:
    index = Index()
    index.add([read_text(f"# D{i}\n\nPump {i} valve w{i}.", id=f"d{i}") for i in range(count)])
    return index


def test_searches_while_documents_come_and_go_never_mix_two_fits() -> None:
    index, failures, done = pumps(30), [], threading.Event()

    def churn() -> None:
        for j in range(200):
            index.add([read_text(f"Other churn{j}.", id=f"x{j % 9}")])
            if j % 3 == 2:
                index.delete(f"x{(j - 1) % 9}")
            if done.is_set():
                return
            time.sleep(0.002)

    def search() -> None:
        try:
            for i in range(8):
                hits = MultiViewRetriever(index, k=3).search(f"Pump {i} w{i}")
                assert hits[0].chunk.doc_id == f"d{i}"
                assert index.search(f"w{i}", 1)[0].chunk.doc_id == f"d{i}"
        except BaseException as error:  # noqa: BLE001 - shown by the main thread
            failures.append(error)

    churning = threading.Thread(target=churn)
    searching = [threading.Thread(target=search) for _ in range(4)]
    for thread in (churning, *searching):
        thread.start()
    for thread in searching:
        thread.join()
    done.set()
    churning.join()
    assert failures == []


def test_a_fit_serves_until_documents_change() -> None:
    index = pumps(4)
    reader = index.reader()
    assert isinstance(reader.basis, LsaEmbedder) and index.reader() is reader
    index.delete("d3")
    assert index.reader() is not reader and len(index.reader()) == 3
    assert index.reader().basis is not reader.basis


def test_the_fit_of_a_snapshot_is_its_own() -> None:
    index = pumps(4)
    snapshot = index.store.snapshot()
    index.delete("d3")
    level = SearchedLevel(index.store, LsaEmbedder())
    assert len(level.reader()) == 3
    assert len(level.reader(snapshot)) == 4 and level.reader(snapshot).changes == snapshot.changes
    assert len(level.reader()) in (3, 4) and len(SearchedLevel(index.store, None).reader()) == 3


def test_a_model_needs_no_fit() -> None:
    index = Index(embedder=HashEmbedder(), views=("raw",))
    index.add([read_text("Pumps.", id="a")])
    assert index.reader().basis is None
    with pytest.raises(InvalidParameter):
        index.search("pump", where={"unknown": 1})
