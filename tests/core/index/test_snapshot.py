"""What a store held at one moment: it does not change when the store does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from store_making import VIEWS, answers, entry, small_store

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.blocks import Column
from structrag.index.dense import VectorTable
from structrag.index.entries import Entry, Level, Vectors
from structrag.index.snapshot import Reader, Settings, _ranges, check_settings
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


def mixed() -> Reader:
    """Rows of two segments that lie between each other, one document deleted.

    They are "a new", "c one", "c two", "e one"; half of the first segment is deleted.
    """
    store = Store(VIEWS)
    for name, texts in (("a", ["a one"]), ("b", ["b one"]), ("c", ["c one", "c two"])):
        store.put(entry(name, texts))
    store.put(entry("hollow", []))
    store.reader()  # makes a segment of what waits
    store.put(entry("a", ["a new"]))
    store.put(entry("e", ["e one"]))
    store.delete("b")
    return store.reader()


def test_rows_are_counted_from_the_first_to_the_last() -> None:
    for reader in (small_store().reader(), mixed()):
        last = len(reader) - 1
        texts = [reader.chunk(row).text for row in range(last + 1)]
        assert texts == [chunk.text for chunk in reader.chunks()]
        for row in (-1, last + 1):
            with pytest.raises(InvalidParameter, match=f"from 0 to {last}; got {row}"):
                reader.chunk(row)
    assert texts == ["a new", "c one", "c two", "e one"]


def test_rows_chosen_by_their_numbers() -> None:
    reader = mixed()
    assert [chunk.text for chunk in reader.chunks_at([3, 0])] == ["e one", "a new"]
    assert reader.view_texts_at([2, 1], "raw") == ["c two", "c one"]
    assert reader.view_texts(2) == {"raw": "c two", "keywords": None}
    assert reader.among(np.array([0, 3])).tolist() == [True, False, False, True]
    assert [reader.rows_of(name) for name in "ace"] == [
        range(1),
        range(1, 3),
        range(3, 4),
    ]


@pytest.mark.parametrize(
    ("selection", "n", "rows"),
    [
        (None, 2, [0, 1]),
        (None, 9, [0, 1, 2, 3]),
        (slice(1, 3), 1, [1]),
        (slice(1, 3), 9, [1, 2]),
        (np.array([False, True, False, True]), 1, [1]),
        (np.array([False, True, False, True]), 0, []),
    ],
)
def test_the_first_rows_of_a_selection(
    selection: slice | np.ndarray | None, n: int, rows: list[int]
) -> None:
    assert mixed().first_rows(selection, n) == rows


def test_documents_that_a_model_failed_on_have_no_fingerprint() -> None:
    store = small_store()
    store.put(replace(entry("whole", ["fig"]), degraded=0))
    reader = store.reader()
    assert reader.fingerprints() == {
        "a": None,
        "b": None,
        "c": None,
        "whole": "print of whole",
    }


def test_documents_with_their_chunks() -> None:
    listed = mixed().with_chunks(["e", "c"])
    assert [(of.id, [chunk.text for chunk in chunks]) for of, chunks in listed] == [
        ("e", ["e one"]),
        ("c", ["c one", "c two"]),
    ]


def test_of_equal_chunk_ids_the_first_counts() -> None:
    store = Store(VIEWS)
    for name in ("a", "b"):
        made = entry(name, ["fig", "plum"])
        same = replace(made.chunks[1], id="same")
        store.put(replace(made, chunks=(made.chunks[0], same)))
        store.reader()  # a segment each
    assert store.row_of("same") == 1
    store.put(entry("a", ["fig"]))
    assert store.row_of("same") == 2


def test_an_id_is_found_in_the_segment_where_it_lives() -> None:
    store = Store(VIEWS)
    for text in ("first", "second", "third"):
        store.put(entry("a", [text]))
        assert [chunk.text for chunk in store.chunks("a")] == [text]
    store.delete("a")
    assert "a" not in store.reader()


def test_what_is_not_there_is_not_found() -> None:
    reader = mixed()
    assert "a" in reader and "b" not in reader and "z" not in reader
    assert 5 not in reader
    assert reader.row_of("b:0-5") is None and reader.row_of("a:0-5") == 0


def test_a_deleted_document_is_gone_from_a_segment_that_stands_alone() -> None:
    store = small_store()
    store.reader()
    store.delete("b")
    reader = store.reader()
    assert len(store.snapshot().segments) == 1
    assert reader.document_ids == ["a", "c"] and len(reader) == 3
    assert [chunk.doc_id for chunk in reader.chunks()] == ["a", "a", "c"]


def test_a_segment_of_documents_without_chunks_has_no_rows() -> None:
    store = Store(VIEWS)
    for name, texts in (("empty", []), ("b", ["fig", "plum"]), ("hollow", [])):
        store.put(entry(name, texts))
        store.reader()
    reader = store.reader()
    assert len(store.snapshot().segments) == 3 and len(reader) == 2
    assert [reader.chunk(row).text for row in (0, 1)] == ["fig", "plum"]
    assert [rows for _, rows in reader.records()] == [range(0), range(2), range(2, 2)]
    assert [row for row, _ in reader.search_lexical("raw", "plum", 9)] == [1]


def test_vectors_of_deleted_rows_alone_do_not_count() -> None:
    store = Store(VIEWS)
    store.put(replace(entry("a", ["fig"]), vectors={"raw": Vectors([[1.0, 0.0]], [0])}))
    store.put(replace(entry("b", ["plum"]), vectors={}))
    store.reader()
    assert store.reader().dense("raw").dimension == 2
    store.delete("a")
    assert store.reader().dense("raw").dimension == 0
    store.put(entry("c", ["pear"]))
    assert store.search_dense("raw", [1.0, 2.0, 3.0], 9)[0][0] == 1


def test_tables_that_were_fitted_before_take_the_place_of_the_stored_vectors() -> None:
    unit = np.array([[0, 1], [1, 0]], dtype=np.float32)
    table = VectorTable(Column(unit), Column(np.array([1, 3], dtype=np.int32)))
    fitted = mixed().with_tables({"raw": table}, "basis")
    assert fitted.basis == "basis" and fitted.changes == mixed().changes
    assert fitted.search_dense("raw", [1.0, 0.0], 9) == [(3, 1.0), (1, 0.0)]
    assert fitted.search_dense("raw", [1.0, 0.0], 9, slice(0, 3)) == [(1, 0.0)]


def test_a_search_for_no_rows_finds_none() -> None:
    reader = mixed()
    assert reader.search_lexical("raw", "one", 0) == []
    assert reader.search_dense("raw", [1.0, 2.0, 3.0], 0) == []
    for search in (
        lambda: reader.search_lexical("raw", "one", -1),
        lambda: reader.search_dense("raw", [1.0, 2.0, 3.0], -1),
    ):
        with pytest.raises(InvalidParameter, match="n must be a number of at least 0"):
            search()


def test_searches_of_segments_that_lie_between_each_other() -> None:
    reader = mixed()
    assert [row for row, _ in reader.search_lexical("raw", "one", 9)] == [1, 3]
    assert [row for row, _ in reader.search_lexical("raw", "c", 9)] == [1, 2]
    dense = reader.search_dense("raw", [1.0, 2.0, 3.0], 9)
    assert sorted(row for row, _ in dense) == [0, 1, 2, 3]
    assert reader.select({"doc_id": ["c", "a"]}) == slice(0, 3)
    assert [rows for _, rows in reader.records()] == [
        range(1),
        range(1, 3),
        range(3, 3),
        range(3, 4),
    ]


def test_other_settings_are_shown_without_their_stop_words() -> None:
    saved, other = Store(VIEWS).settings, Store(("raw",), k1=0.9).settings
    check_settings("corpus", saved, Settings.from_json(saved.to_json()))
    with pytest.raises(InvalidParameter, match="store at 'corpus'") as caught:
        check_settings("corpus", saved, other)
    message = str(caught.value)
    assert '"k1": 1.2' in message and '"k1": 0.9' in message
    assert "stopwords" not in message and len(message) < 600
