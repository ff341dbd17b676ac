"""What a store held at one moment: it does not change when the store does."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from store_making import VIEWS, entry, small_store

from structrag.index.snapshot import Reader
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


def mixed() -> Reader:
    """Rows of two segments that lie between each other, one document deleted. They are "a new", "c
    one", "c two", "e one"; half of the first segment is deleted."""
    store = Store(VIEWS)
    for name, texts in (("a", ["a one"]), ("b", ["b one"]), ("c", ["c one", "c two"])):
        store.put(entry(name, texts))
    store.put(entry("hollow", []))
    store.reader()  # makes a segment of what waits
    store.put(entry("a", ["a new"]))
    store.put(entry("e", ["e one"]))
    store.delete("b")
    return store.reader()


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


@pytest.mark.parametrize(
    ("selection", "n", "sampled"),
    [
        (None, 9, (4, [0, 1, 2, 3])),
        (None, 2, (4, [0, 3])),
        (slice(1, 4), 2, (3, [1, 3])),
        (slice(2, 2), 2, (0, [])),
        (np.array([False, True, False, True]), 1, (2, [1])),
    ],
)
def test_a_sample_of_a_selection_lies_at_even_distances(
    selection: slice | np.ndarray | None, n: int, sampled: tuple[int, list[int]]
) -> None:
    assert mixed().sampled_rows(selection, n) == sampled


def test_rows_of_several_segments_come_in_the_order_asked() -> None:
    rows = mixed().stored_rows([3, 0, 9, 2, -1], ["none"])
    texts = [stored.row.chunk.text for stored in rows.values()]
    assert list(rows) == [3, 0, 2] and texts == ["e one", "a new", "c two"]
    assert [bytes(blob) for stored in rows.values() for blob in stored.blobs] == [
        b"",
        b"",
        b"",
    ]


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


def test_a_deleted_document_is_gone_from_a_segment_that_stands_alone() -> None:
    store = small_store()
    store.reader()
    store.delete("b")
    reader = store.reader()
    assert len(store.snapshot().segments) == 1
    assert reader.document_ids == ["a", "c"] and len(reader) == 3
    assert [chunk.doc_id for chunk in reader.chunks()] == ["a", "a", "c"]
