"""Documents as rows of an engine, and conditions as filters."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import Chunk, Document
from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.engine_rows import (
    LONGEST_TAG,
    EngineFilter,
    engine_rows,
    filter_of,
    key_of,
    key_tag,
    prepare_for,
    rows_by_document,
    tags_of,
    value_tag,
    widths_of,
)
from structrag.index.entries import DocumentRow, Entry, Vectors
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


@pytest.mark.parametrize("value", [{"$gt": 2020}, object()])
def test_operators_and_what_no_metadata_can_be_are_refused(value: Any) -> None:
    with pytest.raises(InvalidParameter, match="must map keys of the metadata"):
        filter_of({"year": value})


def test_functions_are_refused() -> None:
    with pytest.raises(
        InvalidParameter, match=r"where must be None or a dict .* got a function"
    ):
        filter_of(lambda meta: True)
    with pytest.raises(InvalidParameter, match="got 'year'"):
        filter_of("year")


def test_documents_that_are_there_keep_their_keys_and_others_take_the_next() -> None:
    empty: dict[str, Any] = {"raw": (), "keywords": ()}
    entries = {
        name: Entry(Document("", id=name), name, (), empty, {})
        for name in ("new", "old", "newer")
    }
    checked = {name: prepare_for(of, SETTINGS) for name, of in entries.items()}
    heads = {"old": DocumentRow({}, "", 0, 3)}
    rows = rows_by_document(checked, heads, 8, SETTINGS)
    assert [{key_of(row.id) for row in of} for of in rows] == [{8}, {3}, {9}]


def test_vectors_of_a_view_have_one_width() -> None:
    rows = engine_rows(prepare_for(entry(), SETTINGS), 7, SETTINGS)
    assert widths_of(rows, {"summary": 5}) == {"raw": 3, "keywords": 3, "summary": 5}
    with pytest.raises(
        InvalidAnswer,
        match=r"of view 'raw' must have 4 dimensions, as in the store.* brings 3",
    ):
        widths_of(rows, {"raw": 4})


@examples
def test_a_document_has_fewer_chunks_than_there_are_numbers(
    bits: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.index.engine_rows.CHUNK_BITS", bits)
    if fits:
        assert prepare_for(entry(), SETTINGS).levels
    else:
        with pytest.raises(InvalidParameter, match=r"fewer than 2 chunks .* has 2,"):
            prepare_for(entry(), SETTINGS)


def test_a_store_of_several_levels_is_no_engines() -> None:
    settings = Store({"chunks": ("raw", "keywords"), "parts": ("raw",)}).settings
    with pytest.raises(InvalidParameter, match="store must be a folder"):
        prepare_for(entry(), settings)


@examples
def test_a_tag_of_exactly_the_limit_is_kept(length: int, is_short: bool) -> None:
    tag = value_tag("k", "x" * length)  # nine characters more as JSON
    assert tag is not None
    assert (tag == f'["k", "{"x" * length}"]') is is_short
    assert len(tag) == (LONGEST_TAG if is_short else 64)


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        (2.0, '["k", 2]'),
        (2.5, '["k", 2.5]'),
        (-0.0, '["k", 0]'),
        (False, '["k", 0]'),
        (None, '["k", null]'),
        ([1.0, [True]], '["k", [1, [1]]]'),
        ({"b": 1.0, "a": "x"}, '["k", {"a": "x", "b": 1}]'),
        ("\u00e9", r'["k", "\u00e9"]'),
        (float("inf"), None),
        (float("-inf"), None),
        ([float("nan")], None),
        (object(), None),
    ],
)
def test_values_that_are_equal_have_one_tag(value: Any, tag: str | None) -> None:
    assert value_tag("k", value) == tag


@examples
def test_a_filter_with_an_empty_part_is_met_by_nothing(
    parts: dict[str, Any], is_empty: bool
) -> None:
    assert EngineFilter(**parts).is_empty is is_empty


def test_tags_are_short_and_of_json_alone() -> None:
    assert value_tag("year", True) == value_tag("year", 1.0) == value_tag("year", 1)
    assert value_tag("year", float("nan")) is value_tag("year", {1, 2}) is None
    long = value_tag("text", "x" * 1000)
    assert (
        long is not None
        and len(long) <= LONGEST_TAG
        and long != value_tag("text", "x" * 999)
    )
