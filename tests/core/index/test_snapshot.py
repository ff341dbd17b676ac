"""What a store held at one moment: it does not change when the store does."""

from __future__ import annotations

import numpy as np
import pytest
from store_making import VIEWS, answers, entry, small_store

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.entries import Entry, Level, Vectors
from structrag.index.snapshot import _ranges
from structrag.index.store import Store


def test_a_reader_stays_as_it_was() -> None:
    store = small_store()
    reader = store.reader()
    before = [
        reader.chunks(),
        reader.search_lexical("raw", "apple", 9),
        reader.document_ids,
    ]
    store.put(entry("a", ["cherry"]))
    store.delete("b")
    store.compact()
    assert [
        reader.chunks(),
        reader.search_lexical("raw", "apple", 9),
        reader.document_ids,
    ] == before
    assert "b" in reader and "b" not in store
    assert reader.changes != store.reader().changes
    assert [chunk.doc_id for chunk in store.reader().chunks()] == ["a", "c"]


def test_documents_of_a_reader() -> None:
    store = small_store()
    store.put(entry("empty", []))
    store.put(entry("b", ["fig"]))  # replaced in place
    reader = store.reader()
    assert reader.document_ids == ["a", "b", "c", "empty"]
    assert [reader.rows_of(name) for name in reader.document_ids] == [
        range(0, 2),
        range(2, 3),
        range(3, 4),
        range(0),
    ]
    assert [record["id"] for record, _ in reader.records()] == reader.document_ids
    assert [rows for _, rows in reader.records() if rows] == [
        range(2),
        range(2, 3),
        range(3, 4),
    ]
    assert list(reader.fingerprints()) == reader.document_ids
    assert {id: reader.stored(id).fingerprint for id in reader.document_ids}[
        "b"
    ] == "print of b"
    assert reader.row_of("b:0-3") == 2 and reader.row_of("b:0-4") is None
    with pytest.raises(
        InvalidParameter, match="doc_id must be the id of a document that is in"
    ):
        reader.chunks("z")
    with pytest.raises(
        InvalidParameter, match="level must be one of 'chunks'; got 'x'"
    ):
        store.reader("x")


def test_other_vectors_belong_to_their_reader() -> None:
    store = small_store()
    plain = store.reader()
    fitted = plain.with_vectors(
        {"raw": (np.eye(6, 4), np.arange(6)), "keywords": ([[1.0, 0.0]], [5])}, "basis"
    )
    assert (fitted.basis, plain.basis) == ("basis", None)
    assert [row for row, _ in fitted.search_dense("raw", [0, 0, 1, 0], 1)] == [2]
    assert fitted.search_dense("keywords", [1.0, 1.0], 9) == [
        (5, pytest.approx(0.5**0.5))
    ]
    assert plain.search_dense("keywords", [1.0], 9) == []
    assert fitted.search_lexical("raw", "apple", 9) == plain.search_lexical(
        "raw", "apple", 9
    )
    with pytest.raises(InvalidAnswer, match="from 0 to 5"):
        plain.with_vectors({"raw": ([[1.0]], [6])}, None)
    with pytest.raises(InvalidParameter, match="view must be one of"):
        plain.with_vectors({"x": ([[1.0]], [0])}, None)


def with_levels(name: str, texts: list[str]) -> Entry:
    """A document of small chunks, and one of all its text."""
    small, whole = entry(name, texts), entry(name, [" ".join(texts)])
    level = Level(
        whole.chunks, {"raw": whole.views["raw"]}, {"raw": Vectors([[1.0, 2.0]], [0])}
    )
    return Entry(
        small.document, small.fingerprint, small.chunks, small.views, small.vectors,
        levels={"sections": level}, arrays={"facts": np.array([[len(texts), 7]], dtype=np.int32)},
    )  # fmt: skip


def test_levels_change_together(tmp_path) -> None:  # type: ignore[no-untyped-def]
    store = Store({"chunks": VIEWS, "sections": ("raw",)})
    for name in ("a", "b"):
        store.put(with_levels(name, ["apple pie", f"{name} plum"]))
    store.put(with_levels("a", ["cherry", "fig", "fig"]))
    store.save(tmp_path / "index")
    for held in (store, Store.load(tmp_path / "index", verify=True)):
        snapshot = held.snapshot()
        chunks, sections = snapshot.reader(), snapshot.reader("sections")
        assert (len(chunks), len(sections)) == (5, 2)
        assert [chunk.text for chunk in sections.chunks()] == [
            "cherry fig fig",
            "apple pie b plum",
        ]
        assert [row for row, _ in sections.search_lexical("raw", "fig", 9)] == [0]
        assert [row for row, _ in chunks.search_lexical("raw", "fig", 9)] == [1, 2]
        assert [row for row, _ in sections.search_dense("raw", [1.0, 2.0], 9)] == [0, 1]
        facts = chunks.array("a", "facts")
        assert facts is not None and facts.tolist() == [[3, 7]]
        assert chunks.array("a", "unknown") is None
    with pytest.raises(InvalidParameter, match="levels must be 'chunks', 'sections'"):
        store.put(entry("c", ["plum"]))
    odd = with_levels("c", ["plum"])
    odd = Entry(
        odd.document, odd.fingerprint, odd.chunks, odd.views, odd.vectors,
        levels=odd.levels, arrays={"facts": np.zeros(3)},
    )  # fmt: skip
    with pytest.raises(InvalidParameter, match=r"arrays\['facts'\] must be like those"):
        store.put(odd)
    assert store.document_ids == ["a", "b"]


def test_an_empty_snapshot() -> None:
    assert answers(Store(VIEWS)) == answers(Store(VIEWS))
    reader = Store(VIEWS).reader()
    assert (
        len(reader) == 0
        and reader.document_ids == []
        and reader.select({}) == slice(0, 0)
    )


def test_numbers_of_ranges() -> None:
    assert _ranges(np.array([5, 2, 9]), np.array([2, 3, 1])).tolist() == [
        5,
        6,
        2,
        3,
        4,
        9,
    ]
    assert (
        _ranges(np.array([], dtype=np.int64), np.array([], dtype=np.int64)).tolist()
        == []
    )


def test_rows_of_segments_whose_documents_have_changed() -> None:
    store = Store(VIEWS)
    for name in "abcd":
        store.put(entry(name, [f"{name} one", f"{name} two"]))
        # Each a segment of its own.
        assert len(store.reader()) == 2 * "abcd".index(name) + 2
    assert store.snapshot().is_sequence
    old = store.reader()
    gone = [chunk.id for chunk in old.chunks("b")]
    assert store.delete("b")
    store.put(entry("a", ["a new"]))
    store.put(entry("e", ["e one"]))
    reader = store.reader()
    assert [chunk.text for chunk in reader.chunks()] == [
        "a new", "c one", "c two", "d one", "d two", "e one",
    ]  # fmt: skip
    assert not store.snapshot().is_sequence  # the newest segment has the first document
    for row, chunk in enumerate(reader.chunks()):
        assert reader.row_of(chunk.id) == row and row in reader.rows_of(chunk.doc_id)
    assert [reader.row_of(chunk_id) for chunk_id in gone] == [None, None]
    assert [old.row_of(chunk_id) for chunk_id in gone] == [2, 3]
    assert reader.document_ids == ["a", "c", "d", "e"]
