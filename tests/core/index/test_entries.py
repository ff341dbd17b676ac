"""A document's chunks, vectors and texts before they are stored."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from store_making import VIEWS, answers, entry, small_store

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.entries import Entry, Vectors
from structrag.index.store import Store


def test_chunks_come_in_any_order_with_their_vectors_and_texts() -> None:
    tidy = entry("a", ["apple", "banana plum", "cherry"], windows=True)
    order = [2, 0, 1]
    matrix, owner = np.array(tidy.vectors["raw"].matrix), np.array(tidy.vectors["raw"].owner)
    mixed = replace(
        tidy,
        chunks=tuple(tidy.chunks[i] for i in order),
        views={view: tuple(texts[i] for i in order) for view, texts in tidy.views.items()},
        vectors={
            "raw": Vectors(np.concatenate([matrix[owner == i] for i in order]), [0, 0, 1, 1, 2, 2])
        },
    )
    stores = [Store(VIEWS), Store(VIEWS)]
    for store, given_entry in zip(stores, (tidy, mixed), strict=True):
        store.put(given_entry)
    assert answers(stores[0]) == answers(stores[1])


def bad_entries() -> dict[str, tuple[Entry, type[Exception], str]]:
    good = entry("a", ["apple", "plum"])
    first, second = good.chunks
    raw = {"raw": good.views["raw"]}
    document = good.document
    return {
        "same id": (replace(good, chunks=(first, first)), InvalidParameter, "'a:0-5' twice"),
        "other document": (
            replace(good, chunks=(first, replace(second, doc_id="z"))),
            InvalidParameter,
            "belongs to document 'z'",
        ),
        "view missing": (
            replace(good, views=raw),
            InvalidParameter,
            "views must be 'raw', 'keywords'",
        ),
        "unknown vectors": (
            replace(good, vectors={"x": Vectors([], [])}),
            InvalidParameter,
            "vectors for \\['x'\\]",
        ),
        "short view": (
            replace(good, views={**good.views, "raw": ("x",)}),
            InvalidParameter,
            "2 chunks and 1 texts",
        ),
        "meta": (
            replace(good, document=replace(document, meta={"day": {1, 2}})),
            InvalidParameter,
            r"meta of document 'a'\['day'\] must be .* of type set",
        ),
        "meta key": (
            replace(good, document=replace(document, meta={1: "x"})),
            InvalidParameter,
            "got the key 1",
        ),
        "extras": (
            replace(good, chunks=(first, replace(second, extras={"x": math.nan}))),
            InvalidParameter,
            "chunk 'a:5-9'.*finite",
        ),
        "nan": (
            replace(good, vectors={"raw": Vectors([[1.0, 2, 3], [math.nan, 1, 2]], [0, 1])}),
            InvalidAnswer,
            "view 'raw, document a' contain NaN or infinity, first at position 1",
        ),
        "owner": (
            replace(good, vectors={"raw": Vectors([[1.0, 2, 3]], [2])}),
            InvalidAnswer,
            "from 0 to 1",
        ),
        "dimension": (
            replace(good, vectors={"raw": Vectors([[1.0, 2.0]], [0])}),
            InvalidAnswer,
            "must have 3 dimensions like the store's; document 'a' brings 2",
        ),
    }


@pytest.mark.parametrize("case", bad_entries())
def test_a_bad_entry_is_refused_before_anything_changes(case: str) -> None:
    store = small_store()
    before = answers(store)
    bad, error, sentence = bad_entries()[case]
    with pytest.raises(error, match=sentence):
        store.put(bad)
    assert answers(store) == before


def test_chunk_ids_of_another_form_are_found() -> None:
    odd = entry("a", ["apple", "plum"])
    store = small_store()
    store.put(
        replace(odd, chunks=(replace(odd.chunks[0], id="one"), replace(odd.chunks[1], id="b:zzz")))
    )
    assert [store.row_of(name) for name in ("one", "b:zzz", "b:0-4", "none")] == [0, 1, 2, None]
