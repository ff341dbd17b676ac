"""Documents as rows of an engine, and conditions as filters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import Chunk, Document
from structrag.errors import InvalidParameter
from structrag.index.engine_rows import (
    key_tag,
    prepare_for,
    tags_of,
    value_tag,
)
from structrag.index.entries import Entry, Vectors
from structrag.index.store import Store

SETTINGS = Store(("raw", "keywords")).settings
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2),
    max_leaves=3,
)  # fmt: skip


def entry(**fields: Any) -> Entry:
    """Two chunks, the second of which has two windows and no keywords."""
    document = Document(
        "red pump\nblue valve", id="it's \u00e9", meta={"year": 2020, "tags": ["a"]}
    )
    chunks = (
        Chunk("c0", document.id, "s", 0, 9, "red pump\n"),
        Chunk("c1", document.id, "s", 9, 19, "blue valve"),
    )
    vectors = {
        "raw": Vectors(np.eye(3), np.array([0, 1, 1])),
        "keywords": Vectors(np.ones((1, 3)), np.array([0])),
    }
    views = {"raw": ("red pump", "The Blue valve"), "keywords": ("pump", None)}
    return Entry(document, "print", chunks, views, vectors, **fields)


def test_what_an_engine_cannot_hold_is_refused() -> None:
    with pytest.raises(
        InvalidParameter, match="store must be a folder for this kind of index"
    ):
        prepare_for(entry(), replace(SETTINGS, levels={"a": ("raw",), "b": ("raw",)}))
    windows = Vectors(np.ones((4097, 3)), np.zeros(4097, dtype=int))
    long = entry()
    long = Entry(long.document, "", long.chunks, long.views, {"raw": windows})
    with pytest.raises(InvalidParameter, match=r"up to 4,097\. Split the document"):
        prepare_for(long, SETTINGS)


@given(
    st.dictionaries(st.text(max_size=3), JSON, max_size=3), st.text(max_size=3), JSON
)
def test_tags_find_what_equality_finds(
    meta: dict[str, Any], key: str, value: Any
) -> None:
    values = meta.get(key)
    items = values if isinstance(values, list) else [values]
    assert (value_tag(key, value) in tags_of(meta)) == (key in meta and value in items)
    assert (key_tag(key) in tags_of(meta)) == (key in meta)
