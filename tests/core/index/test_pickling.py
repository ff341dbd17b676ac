"""Indexes and retrievers in other processes: a saved one by its place, else with its data."""

from __future__ import annotations

import copy
import pickle
import threading
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from structrag import (
    EvidenceRetriever,
    FunctionEmbedder,
    HiQARetriever,
    Index,
    MultiViewRetriever,
    read_text,
)
from structrag.errors import InvalidParameter, SaveFailed
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever

TEXT = (
    "# Pump\n\nIt moves water.\n\n## Seal of the X100\n\nThe seal wears after a year."
)
QUESTION = "When does the seal of the X100 wear?"


def lengths(texts: list[str]) -> list[list[float]]:
    return [[float(len(text)), float(text.count("e")), 1.0] for text in texts]


EMBEDDER = FunctionEmbedder(lengths, name="lengths")
KINDS: dict[str, tuple[Any, Any]] = {
    "MultiView": (lambda **o: Index(**o), MultiViewRetriever),
    "HiQA": (lambda **o: Index(**o), HiQARetriever),
    "D3": (lambda **o: D3Index(**o), D3Retriever),
    "Evidence": (
        lambda embedder=None, **o: EvidenceRetriever(embedder, **o),
        lambda index: index,
    ),
}


def made(kind: str, **options: Any) -> tuple[Any, Any]:
    make, over = KINDS[kind]
    index = make(**options)
    index.add([read_text(TEXT, id="pump")])
    return index, over(index)


def found(retriever: Any) -> list[Any]:
    return [(hit.chunk, round(hit.score, 6)) for hit in retriever.search(QUESTION)]


def through_pickle(thing: Any) -> Any:
    return pickle.loads(pickle.dumps(thing))


@pytest.mark.parametrize("embedder", [None, EMBEDDER], ids=["LSA", "model"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_one_is_pickled_by_its_place(
    kind: str, embedder: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, retriever = made(kind, embedder=embedder)
    monkeypatch.chdir(tmp_path)
    index.save("index")
    expected = found(retriever)
    data = pickle.dumps(retriever)
    assert len(data) < 20_000
    monkeypatch.chdir(tmp_path.parent)
    again = pickle.loads(data)
    assert found(again) == expected and found(pickle.loads(data)) == expected
    index.delete("pump")
    index.save(tmp_path / "index")
    assert pickle.loads(data).search(QUESTION) == []


@pytest.mark.parametrize("copied", [copy.deepcopy, through_pickle])
@pytest.mark.parametrize("embedder", [None, EMBEDDER], ids=["LSA", "model"])
@pytest.mark.parametrize("kind", KINDS)
def test_one_with_unsaved_changes_takes_its_data_along(
    kind: str, embedder: Any, copied: Any, tmp_path: Path
) -> None:
    index, retriever = made(kind, embedder=embedder)
    index.save(tmp_path / "index")
    index.add([read_text("# More\n\nA second text.", id="more")])
    other_index, other = copied((index, retriever))
    assert found(other) == found(retriever)
    other_index.delete("pump")  # two stores from now on
    assert other_index.document_ids == ["more"]
    assert index.document_ids == ["pump", "more"]
    data = pickle.dumps(other_index)
    index.save(tmp_path / "index")
    for late in (other_index, pickle.loads(data)):
        with pytest.raises(SaveFailed, match="changed by another"):
            late.save(tmp_path / "index")
    other_index.save(tmp_path / "other")
    assert through_pickle(other_index).document_ids == ["more"]


@pytest.mark.parametrize("engine", ["", "lancedb:"])
def test_one_with_a_store_is_pickled_by_its_address(
    engine: str, tmp_path: Path
) -> None:
    if engine:
        pytest.importorskip("lancedb", reason="the extra 'lancedb' is not installed")
    place = f"{engine}{tmp_path / 'kept'}"
    index, retriever = made("MultiView", embedder=EMBEDDER, store=place)
    other = pickle.loads(pickle.dumps(retriever))
    assert found(other) == found(retriever)
    other.index.add([read_text("# More\n\nA second text.", id="more")])
    assert Index.load(place, embedder=EMBEDDER).document_ids == ["pump", "more"]
    assert index.document_ids[0] == "pump"


class Locked:
    """An embedder that no pickle takes."""

    name, max_tokens = "locked", None

    def __init__(self) -> None:
        self.lock = threading.Lock()

    def embed(self, texts: Any, *, query: bool = False) -> Any:
        return lengths(list(texts))


def test_a_model_that_cannot_be_pickled_is_told_with_its_cure(tmp_path: Path) -> None:
    index, retriever = made("Evidence", embedder=Locked())
    index.save(tmp_path / "index")
    with pytest.raises(InvalidParameter, match=r"lock.*EvidenceRetriever\.load"):
        pickle.dumps(retriever)


def test_it_answers_in_another_process_with_its_cache(tmp_path: Path) -> None:
    options = {"embedder": EMBEDDER, "cache": tmp_path / "cache"}
    index, retriever = made("MultiView", **options)
    index.save(tmp_path / "index")
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        assert pool.submit(found, retriever).result() == found(retriever)
