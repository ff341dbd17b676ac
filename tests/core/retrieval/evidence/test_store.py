"""Documents and records in memory and in a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from evidence_making import QUANTISER, WORDS, record

from structrag import read_text
from structrag.errors import InvalidParameter
from structrag.index.store import Store
from structrag.retrieval.evidence import store as module
from structrag.retrieval.evidence.record import Record
from structrag.retrieval.evidence.store import (
    EvidenceLevel,
    Shelf,
    Stored,
    entry_of,
    stored_document,
)

DOCUMENTS = [
    read_text("# Pumps\n\nThey leak.\n", id="a", meta={"year": 2020}),
    read_text("", id="b", meta={"year": 2021}),
    read_text("Cats sleep.", id="c", meta={"year": 2021}),
]


class Level(EvidenceLevel):
    """A level over a store of its own, filled document by document."""

    def __init__(self, store: Store | None = None, embedder: Any = None) -> None:
        super().__init__(Store(("raw",)) if store is None else store, embedder)

    def put(self, stored: Stored, record: Record, fingerprint: str) -> None:
        self.store.put(entry_of(stored, record, fingerprint))


def filled(embedder: Any = None) -> Level:
    store = Level(embedder=embedder)
    for document in DOCUMENTS:
        store.put(
            stored_document(WORDS.outline(document), [(0, 1)]),
            record(document),
            "print",
        )
    store.quantiser = QUANTISER
    return store


def test_conditions_choose_documents() -> None:
    store = filled()
    documents, pool = store.shelf().select(None)
    assert [one.id for one in documents] == ["a", "b", "c"] and len(pool) == 3
    documents, pool = store.shelf().select({"year": 2021})
    assert [one.id for one in documents] == ["b", "c"] and len(pool) == 1
    assert [
        one.id for one in store.shelf().select(lambda meta: meta["doc_id"] == "a")[0]
    ] == ["a"]
    assert len(store.shelf().select({"doc_id": "none"})[1]) == 0
    with pytest.raises(InvalidParameter, match="where must use keys"):
        store.shelf().select({"colour": 1})


def test_the_place_in_markup_is_saved(tmp_path: Path) -> None:
    page = read_text("<h1>Pumps</h1><p>They &amp; we leak.", id="page", format="html")
    store = Level()
    store.put(stored_document(WORDS.outline(page), []), record(page), "print")
    store.store.save(tmp_path / "index")
    for one in (store, Level(Store.load(tmp_path / "index"))):
        assert one.shelf().documents["page"].source == page.layout.source_map


def test_all_of_a_document_is_kept() -> None:
    store = filled()
    for document in DOCUMENTS:
        kept = store.shelf().documents[document.id]
        assert kept == stored_document(WORDS.outline(document), [(0, 1)])
        assert kept.source is None
    assert store.shelf().documents["a"].paths == ((), ("Pumps",))


def test_sixteen_choices_of_documents_are_remembered() -> None:
    store = Level()
    for i in range(17):
        document = read_text("It leaks.", id=f"d{i}")
        store.put(
            stored_document(WORDS.outline(document), []), record(document), "print"
        )
    shelf = store.shelf()
    choices = [{"doc_id": f"d{i}"} for i in range(17)]
    first, *others = [shelf.select(where)[1] for where in choices[:16]]
    assert shelf.select(choices[0])[1] is first  # asked again: it is the latest now
    last = shelf.select(choices[16])[1]
    again = [shelf.select(where)[1] for where in choices[2:16]]
    assert all(pool is before for pool, before in zip(again, others[1:], strict=True))
    assert shelf.select(choices[0])[1] is first and shelf.select(choices[16])[1] is last
    assert shelf.select(choices[1])[1] is not others[0]  # asked longest ago


class Fitted:
    """What vectors were made by: a thing with arrays, and who makes it of them again."""

    def __init__(self, arrays: dict[str, np.ndarray[Any, Any]]) -> None:
        self._arrays = arrays

    def arrays(self) -> dict[str, np.ndarray[Any, Any]]:
        return self._arrays

    def restored(self, arrays: dict[str, np.ndarray[Any, Any]]) -> Fitted | None:
        return Fitted({"axes": arrays["axes"]}) if arrays["axes"].any() else None


def fitted(store: Level, basis: Any) -> Shelf:
    """The shelf with other vectors: each sum the number of its document."""
    shelf = store.shelf()
    records = {
        doc_id: replace(one, sums=np.full_like(one.sums, number))
        for number, (doc_id, one) in enumerate(shelf.records.items())
    }
    return shelf.with_records(records, basis)


def test_fitted_vectors_are_saved_with_what_made_them(tmp_path: Path) -> None:
    basis = Fitted({"axes": np.ones(3)})
    store = filled(basis)
    shelf = fitted(store, basis)
    store.keep(shelf)
    store.keep_fit()
    store.store.save(tmp_path / "index")
    for one in (store, Level(Store.load(tmp_path / "index"), basis)):
        again = one.saved_fit(one.shelf())
        assert again is not None and again.basis.arrays()["axes"].tolist() == [1, 1, 1]
        assert list(again.records) == ["a", "b", "c"]
        for doc_id, expected in shelf.records.items():
            found = again.records[doc_id]
            assert np.array_equal(found.sums, expected.sums)
            assert np.array_equal(found.lengths, expected.lengths)
    kept = store.shelf()
    store.store.delete("b")
    assert store.saved_fit(kept) is None  # of other documents
    assert store.saved_fit(store.shelf()) is None


@pytest.mark.parametrize("basis", [None, "words", Fitted({})])
def test_vectors_that_nothing_was_fitted_for_are_not_saved(basis: Any) -> None:
    store = filled()
    store.keep_fit()  # nothing was asked yet
    store.keep(fitted(store, basis))
    store.keep_fit()
    assert not store.store.fitted
    assert store.saved_fit(store.shelf()) is None


def test_a_fit_that_cannot_be_used_again_is_left_aside() -> None:
    store = filled(Fitted({}))
    store.keep(fitted(store, Fitted({"axes": np.zeros(3)})))
    store.keep_fit()
    assert store.saved_fit(store.shelf()) is None


def test_a_fit_for_no_text_is_not_saved() -> None:
    store = Level()
    store.put(
        stored_document(WORDS.outline(DOCUMENTS[1]), []), record(DOCUMENTS[1]), "print"
    )
    store.keep(fitted(store, Fitted({"axes": np.ones(3)})))
    store.keep_fit()
    assert not store.store.fitted


def test_a_pool_is_remembered_until_something_changes() -> None:
    store = filled()
    _, pool = store.shelf().select(None)
    assert store.shelf().select(None)[1] is pool
    assert store.store.delete("b") and not store.store.delete("b")
    assert (
        store.shelf().select(None)[1] is not pool and len(store.shelf().documents) == 2
    )


def test_after_a_change_only_what_changed_is_read_and_put_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    documents = [
        read_text(f"# Part {i}\n\nIt leaks. It hums.", id=f"d{i}") for i in range(40)
    ]
    store = Level()
    for document in documents:
        store.put(
            stored_document(WORDS.outline(document), []), record(document), "print"
        )
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
        store.put(
            stored_document(WORDS.outline(document), []), record(document), "other"
        )
        assert store.shelf().select(None)[1].shared == place and read == [document.id]
    read.clear()
    assert (
        store.store.delete("d20")
        and store.shelf().select(None)[1].shared == 20
        and not read
    )
    assert list(store.shelf().documents) == [f"d{i}" for i in range(40) if i != 20] + [
        "new"
    ]


def test_what_was_replaced_is_let_go_in_the_end() -> None:
    store = filled()
    seen = []
    for i in range(8):
        document = read_text(f"It leaks {i} times.", id="a")
        store.put(
            stored_document(WORDS.outline(document), []), record(document), str(i)
        )
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
    assert store.store.delete("b") and len(store.shelf().records["a"]) == 2
    store.keep(other)
    assert store.shelf().basis is None


def test_a_shelf_is_not_touched_by_later_changes() -> None:
    store = filled()
    shelf = store.shelf()
    store.store.delete("a")
    assert list(shelf.documents) == ["a", "b", "c"] and "a" not in store.store
    assert list(store.shelf().documents) == ["b", "c"]


def test_what_is_saved_is_opened_again(tmp_path: Path) -> None:
    store = filled()
    store.store.save(tmp_path / "index")
    loaded = Level(Store.load(tmp_path / "index", verify=True))
    assert loaded.shelf().documents == store.shelf().documents
    assert loaded.shelf().documents["a"].text == DOCUMENTS[0].text
    for name, kept in store.shelf().records.items():
        for field, array in kept.arrays().items():
            again = loaded.shelf().records[name].arrays()[field]
            assert again.dtype == array.dtype and np.array_equal(again, array), field
    kept = loaded.quantiser
    assert kept is not None and np.array_equal(kept.axes, QUANTISER.axes)
    assert np.array_equal(kept.bits, QUANTISER.bits)


def test_an_empty_store_is_saved_too(tmp_path: Path) -> None:
    Level().store.save(tmp_path / "index")
    assert len(Level(Store.load(tmp_path / "index")).shelf().select(None)[1]) == 0
