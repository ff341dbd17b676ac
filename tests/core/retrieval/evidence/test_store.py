"""Documents and records in memory and in a folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence_making import QUANTISER, WORDS, record

from structrag import Index, read_text
from structrag.errors import IndexDamaged, InvalidParameter
from structrag.retrieval.evidence import store as module
from structrag.retrieval.evidence.record import Record
from structrag.retrieval.evidence.store import EvidenceStore, stored_document

DOCUMENTS = [
    read_text("# Pumps\n\nThey leak.\n", id="a", meta={"year": 2020}),
    read_text("", id="b", meta={"year": 2021}),
    read_text("Cats sleep.", id="c", meta={"year": 2021}),
]


def filled() -> EvidenceStore:
    store = EvidenceStore()
    for document in DOCUMENTS:
        store.put(stored_document(WORDS.outline(document), [(0, 1)]), record(document), "print")
    store.quantiser = QUANTISER
    return store


def test_conditions_choose_documents() -> None:
    store = filled()
    documents, pool = store.shelf().select(None)
    assert [one.id for one in documents] == ["a", "b", "c"] and len(pool) == 3
    documents, pool = store.shelf().select({"year": 2021})
    assert [one.id for one in documents] == ["b", "c"] and len(pool) == 1
    assert [one.id for one in store.shelf().select(lambda meta: meta["doc_id"] == "a")[0]] == ["a"]
    assert len(store.shelf().select({"doc_id": "none"})[1]) == 0
    with pytest.raises(InvalidParameter, match="where must use keys"):
        store.shelf().select({"colour": 1})


def test_the_place_in_markup_is_saved(tmp_path: Path) -> None:
    page = read_text("<h1>Pumps</h1><p>They &amp; we leak.", id="page", format="html")
    store = EvidenceStore()
    store.put(stored_document(WORDS.outline(page), []), record(page), "print")
    store.save(tmp_path / "index", {})
    for one in (store, EvidenceStore.load(tmp_path / "index")[0]):
        assert one.shelf().documents["page"].source == page.layout.source_map


def test_a_pool_is_remembered_until_something_changes() -> None:
    store = filled()
    _, pool = store.shelf().select(None)
    assert store.shelf().select(None)[1] is pool
    assert store.delete("b") and not store.delete("b")
    assert store.shelf().select(None)[1] is not pool and len(store) == 2


def test_after_a_change_only_what_changed_is_read_and_put_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = [read_text(f"# Part {i}\n\nIt leaks. It hums.", id=f"d{i}") for i in range(40)]
    store = EvidenceStore()
    for document in documents:
        store.put(stored_document(WORDS.outline(document), []), record(document), "print")
    read: list[str] = []

    def counted(reader: Any, doc_id: str) -> Record:
        read.append(doc_id)
        return read_record(reader, doc_id)

    read_record = module._record
    monkeypatch.setattr(module, "_record", counted)
    shelf = store.shelf()
    assert len(read) == 40 and shelf.select(None)[1].shared == 0
    new = read_text("A new one.", id="new")
    for document, place in ((new, 40), (documents[30], 30)):
        read.clear()
        store.put(stored_document(WORDS.outline(document), []), record(document), "other")
        assert store.shelf().select(None)[1].shared == place and read == [document.id]
    read.clear()
    assert store.delete("d20") and store.shelf().select(None)[1].shared == 20 and not read
    assert list(store.shelf().documents) == [f"d{i}" for i in range(40) if i != 20] + ["new"]


def test_what_was_replaced_is_let_go_in_the_end() -> None:
    store = filled()
    seen = []
    for i in range(8):
        document = read_text(f"It leaks {i} times.", id="a")
        store.put(stored_document(WORDS.outline(document), []), record(document), str(i))
        shelf = store.shelf()
        seen.append(id(shelf.records["c"]))
        assert shelf.documents["a"].text == document.text
    assert 1 < len(set(seen)) < 8  # read again now and then


def test_other_records_are_used_until_something_changes() -> None:
    store = filled()
    shelf = store.shelf()
    other = shelf.with_records({**shelf.records, "a": shelf.records["c"]}, "basis")
    store.keep(other)
    assert store.shelf() is other and (other.basis, shelf.basis) == ("basis", None)
    assert (len(other.records["a"]), len(shelf.records["a"])) == (1, 2)
    assert store.delete("b") and len(store.shelf().records["a"]) == 2
    store.keep(other)
    assert store.shelf().basis is None


def test_a_shelf_is_not_touched_by_later_changes() -> None:
    store = filled()
    shelf = store.shelf()
    store.delete("a")
    assert list(shelf.documents) == ["a", "b", "c"] and "a" not in store
    assert list(store.shelf().documents) == ["b", "c"]


def test_what_is_saved_is_opened_again(tmp_path: Path) -> None:
    store = filled()
    store.save(tmp_path / "index", {"version": 1})
    loaded, config = EvidenceStore.load(tmp_path / "index", verify=True)
    assert config == {"version": 1} and loaded.shelf().documents == store.shelf().documents
    assert loaded.shelf().documents["a"].text == DOCUMENTS[0].text
    for name, kept in store.shelf().records.items():
        for field, array in kept.arrays().items():
            again = loaded.shelf().records[name].arrays()[field]
            assert again.dtype == array.dtype and np.array_equal(again, array), field
    kept = loaded.quantiser
    assert kept is not None and np.array_equal(kept.axes, QUANTISER.axes)
    assert np.array_equal(kept.bits, QUANTISER.bits)


def test_an_empty_store_is_saved_too(tmp_path: Path) -> None:
    EvidenceStore().save(tmp_path / "index", {})
    loaded, _ = EvidenceStore.load(tmp_path / "index")
    assert len(loaded) == 0 and len(loaded.shelf().select(None)[1]) == 0


def test_damage_is_found(tmp_path: Path) -> None:
    filled().save(tmp_path / "index", {})
    file = max(tmp_path.glob("index/segments/*.seg"), key=lambda path: path.stat().st_size)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(bytes(content))
    with pytest.raises(IndexDamaged):
        EvidenceStore.load(tmp_path / "index", verify=True)


def test_another_kind_of_index_is_refused(tmp_path: Path) -> None:
    index = Index()
    index.add(DOCUMENTS)
    index.save(tmp_path / "index")
    with pytest.raises(IndexDamaged, match=r"not saved by EvidenceRetriever\.save"):
        EvidenceStore.load(tmp_path / "index")
