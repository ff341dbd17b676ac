"""Documents and records in memory and in a folder."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from evidence_making import QUANTISER, WORDS, record

from structrag import read_text
from structrag.index.store import Store
from structrag.retrieval.evidence.record import Record
from structrag.retrieval.evidence.store import (
    EvidenceLevel,
    EvidenceSnapshot,
    StoredDocument,
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

    def put(self, stored: StoredDocument, record: Record, fingerprint: str) -> None:
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


def test_the_place_in_markup_is_saved(tmp_path: Path) -> None:
    page = read_text("<h1>Pumps</h1><p>They &amp; we leak.", id="page", format="html")
    store = Level()
    store.put(stored_document(WORDS.outline(page), []), record(page), "print")
    store.store.save(tmp_path / "index")
    for one in (store, Level(Store.load(tmp_path / "index"))):
        assert one.shelf().documents["page"].source == page.layout.source_map


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


def fitted(store: Level, fitted_embedder: Any) -> EvidenceSnapshot:
    """The shelf with other vectors: each sum the number of its document."""
    shelf = store.shelf()
    records = {
        doc_id: replace(one, sums=np.full_like(one.sums, number))
        for number, (doc_id, one) in enumerate(shelf.records.items())
    }
    return shelf.with_records(records, fitted_embedder)


def test_a_fit_that_cannot_be_used_again_is_left_aside() -> None:
    store = filled(Fitted({}))
    store.keep(fitted(store, Fitted({"axes": np.zeros(3)})))
    store.keep_fit()
    assert store.saved_fit(store.shelf()) is None
