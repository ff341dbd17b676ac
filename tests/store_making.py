"""Entries and small stores, for the tests of the store and its files."""

from __future__ import annotations

import numpy as np

from structrag.index.entries import Entry, Vectors
from structrag.index.store import Store
from structrag.records import Chunk, Document

VIEWS = ("raw", "keywords")


WORDS = ["apple", "banana", "cherry", "plum", "pear", "fig"]


def chunk(doc_id: str, start: int, text: str, **fields: object) -> Chunk:
    end = start + len(text)
    return Chunk(
        f"{doc_id}:{start}-{end}", doc_id, f"{doc_id}#0", start, end, text, **fields
    )  # type: ignore[arg-type]


def vector_of(text: str, dimension: int = 3) -> list[float]:
    return [
        1.0 + sum((i + 1) * (ord(char) % (3 + j)) for i, char in enumerate(text))
        for j in range(dimension)
    ]


def entry(
    doc_id: str,
    texts: list[str],
    meta: dict[str, object] | None = None,
    *,
    windows: bool = False,
) -> Entry:
    """One chunk per text; keywords for every second chunk; one vector per chunk, or two with
    `windows`."""
    starts = np.cumsum([0, *map(len, texts)])[:-1].tolist()
    chunks = tuple(
        chunk(doc_id, start, text, path=("Title",))
        for start, text in zip(starts, texts, strict=True)
    )
    owner = [i for i in range(len(texts)) for _ in range(2 if windows else 1)]
    matrix = [
        vector_of(texts[i][::-1] if at % 2 and windows else texts[i])
        for at, i in enumerate(owner)
    ]
    keywords = tuple(
        text.split()[0] if i % 2 == 0 and text.split() else None
        for i, text in enumerate(texts)
    )
    vectors = {"raw": Vectors(matrix, owner)} if texts else {}
    return Entry(
        Document("", id=doc_id, title=doc_id.upper(), meta=meta or {}),
        f"print of {doc_id}",
        chunks,
        {"raw": tuple(texts), "keywords": keywords},
        vectors,
        degraded=len(texts),
    )


def small_store(**options: object) -> Store:
    store = Store(VIEWS, **options)  # type: ignore[arg-type]
    store.put(
        entry(
            "a",
            ["apple banana", "cherry apple apple"],
            {"year": 2020, "tags": ["x", "y"]},
        )
    )
    store.put(entry("b", ["plum", "apple plum", "fig"], {"year": 2021}, windows=True))
    store.put(entry("c", ["pear fig"], {"year": 2021, "lang": "en"}))
    return store


def answers(store: Store) -> list[object]:
    """Everything a user can see of a store."""
    rows = range(len(store))
    searches: list[object] = []
    for view in store.reader().views:
        for word in [*WORDS, "apple plum fig", "nothing"]:
            searches.append(store.reader().search_lexical(view, word, 50))
            searches.append(store.reader().search_lexical(view, word, 1))
    for word in WORDS:
        searches.append(store.reader().search_dense("raw", vector_of(word), 50))
        searches.append(store.reader().search_dense("raw", vector_of(word), 2))
    chunks = [
        (
            store.reader().chunk(row),
            [store.reader().view_text(row, view) for view in store.reader().views],
        )
        for row in rows
    ]
    facts = [
        (store.document(i), store.stored(i).fingerprint, store.stored(i).degraded)
        for i in store.document_ids
    ]
    places = [store.reader().select({"doc_id": i}) for i in store.document_ids]
    return [
        searches,
        chunks,
        facts,
        places,
        [store.reader().row_of(store.reader().chunk(row).id) for row in rows],
    ]
