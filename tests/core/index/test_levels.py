"""An embedder fitted to a level: its vectors and the queries' belong to one fit."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from fixture_cases import examples
from index_making import search_beside_changes
from store_making import small_store

from structrag import D3Index, D3Retriever, Index, MultiViewRetriever, read_text
from structrag.errors import IndexDamaged
from structrag.index.levels import query_vectors
from structrag.index.store import Store
from structrag.model_calls.runner import Runner
from structrag.models import LsaEmbedder


def pumps(count: int) -> Index:
    index = Index()
    index.add(
        [read_text(f"# D{i}\n\nPump {i} valve w{i}.", id=f"d{i}") for i in range(count)]
    )
    return index


def test_searches_while_documents_come_and_go_never_mix_two_fits() -> None:
    index = pumps(30)

    def change(number: int) -> None:
        index.add([read_text(f"Other churn{number}.", id=f"x{number % 9}")])
        if number % 3 == 2:
            index.delete(f"x{(number - 1) % 9}")
        time.sleep(0.002)

    def search() -> None:
        for i in range(8):
            hits = MultiViewRetriever(index, k=3).search(f"Pump {i} w{i}")
            assert hits[0].chunk.doc_id == f"d{i}"
            assert index.search(f"w{i}", 1)[0].chunk.doc_id == f"d{i}"

    search_beside_changes(search, change)


def forbid_fitting(monkeypatch: pytest.MonkeyPatch) -> None:
    def fit(self: LsaEmbedder, texts: object) -> LsaEmbedder:
        raise AssertionError("fitted again")

    monkeypatch.setattr(LsaEmbedder, "fit", fit)


@pytest.mark.parametrize(
    ("kind", "options"),
    [(Index, {}), (Index, {"dtype": "float16"}), (D3Index, {})],
)
def test_a_loaded_index_has_the_fit_it_was_saved_with(
    kind: Any,
    options: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index = kind(**options)
    text = (
        "# D{0}\n\n## Pump\n\nPump {0} valve w{0}.\n\n## Tap\n\nTap {0} has no valve.\n"
    )
    index.add([read_text(text.format(i), id=f"d{i}") for i in range(5)])
    index.warm_up()
    index.save(tmp_path / "index")
    before = searched(index)
    forbid_fitting(monkeypatch)
    loaded = kind.load(tmp_path / "index")
    assert searched(loaded) == before
    loaded.save(tmp_path / "again")  # nothing has changed: the fit is saved on
    assert searched(kind.load(tmp_path / "again")) == before
    loaded.delete("d3")
    with pytest.raises(AssertionError, match="fitted again"):
        searched(loaded)
    loaded.save(tmp_path / "again")
    assert Store.load(tmp_path / "again").fitted == {}


def searched(index: Any) -> list[Any]:
    retriever: Any = (
        D3Retriever(index) if isinstance(index, D3Index) else MultiViewRetriever(index)
    )
    return [retriever.search(query) for query in ("valve w2", "pump", "unknown")]


def test_an_altered_fit_is_noticed(tmp_path: Path) -> None:
    index = pumps(4)
    index.warm_up()
    index.save(tmp_path / "index")
    name = json.loads((tmp_path / "index" / "manifest.json").read_bytes())["fitted"]
    file = tmp_path / "index" / "segments" / f"{name}.seg"
    content = bytearray(file.read_bytes())
    content[70] ^= 1
    file.write_bytes(content)
    with pytest.raises(IndexDamaged):
        Index.load(tmp_path / "index", verify=True)
    with pytest.raises(IndexDamaged):
        Index.load(tmp_path / "index").search("pump")
    file.unlink()
    with pytest.raises(IndexDamaged):
        Index.load(tmp_path / "index")


class Zeros(HashEmbedder):
    """One that knows no word but "pump"."""

    def __init__(self) -> None:
        super().__init__(dimensions=2)

    def vector(self, text: str) -> np.ndarray:
        return np.array([float(text == "pump"), 0])


@examples
def test_queries_of_no_known_word_have_no_vector(
    queries: list[str], known: list[bool]
) -> None:
    embedder = Zeros()
    flow = query_vectors(small_store().reader(), *queries)
    vectors = Runner(embedder=embedder).run(flow)
    assert [vector is not None for vector in vectors] == known
    assert embedder.queries == queries and embedder.texts == []
