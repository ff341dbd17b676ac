"""Documents as rows of an engine, and conditions as filters."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag import Chunk, Document
from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.engine_rows import (
    CHUNK,
    DEAD,
    HEAD,
    LONGEST_TAG,
    WINDOW,
    EngineFilter,
    Head,
    engine_rows,
    filter_of,
    first_id,
    id_of_row,
    key_of,
    key_tag,
    prepare_for,
    quoted,
    read_head,
    row_of_id,
    rows_by_document,
    tags_of,
    value_tag,
    widths_of,
)
from structrag.index.entries import Entry, Vectors, row_of
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


def test_a_document_is_a_head_its_chunks_and_their_windows() -> None:
    given_entry = entry(degraded=2)
    rows = engine_rows(given_entry, prepare_for(given_entry, SETTINGS), 7, SETTINGS)
    assert [row.kind for row in rows] == [HEAD, CHUNK, CHUNK, WINDOW]
    assert [row.id for row in rows] == sorted({row.id for row in rows})
    assert {key_of(row.id) for row in rows} == {7}
    assert row_of_id(rows[2].id) == row_of_id(rows[3].id) == row_of_id(rows[1].id) + 1
    assert id_of_row(row_of_id(rows[3].id)) == rows[2].id
    assert {row.document for row in rows} == {quoted("it's \u00e9")} and rows[
        0
    ].document.isascii()
    head = read_head(rows[0].id, rows[0].record or b"")
    assert (head.key, head.fingerprint, head.degraded) == (7, "print", 2)
    assert head.record["meta"] == {"year": 2020, "tags": ["a"]}
    assert (
        rows[2].terms == {"raw": "blue valve", "keywords": None} and not rows[3].terms
    )
    assert row_of(rows[1].record or b"").chunk.text == "red pump\n"
    assert rows[1].vectors.keys() == {"raw", "keywords"} and rows[3].vectors.keys() == {
        "raw"
    }
    assert rows[3].vectors["raw"].tolist() == [0, 0, 1]


def test_what_an_engine_cannot_hold_is_refused() -> None:
    with pytest.raises(
        InvalidParameter, match="store must be a folder for this kind of index"
    ):
        prepare_for(entry(arrays={"text": np.zeros(3)}), SETTINGS)
    windows = Vectors(np.ones((4097, 3)), np.zeros(4097, dtype=int))
    long = entry()
    long = Entry(long.document, "", long.chunks, long.views, {"raw": windows})
    with pytest.raises(InvalidParameter, match=r"up to 4,097\. Cut the document"):
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


def test_tags_are_short_and_of_json_alone() -> None:
    assert value_tag("year", True) == value_tag("year", 1.0) == value_tag("year", 1)
    assert value_tag("year", float("nan")) is value_tag("year", {1, 2}) is None
    long = value_tag("text", "x" * 1000)
    assert (
        long is not None
        and len(long) <= LONGEST_TAG
        and long != value_tag("text", "x" * 999)
    )


def test_conditions_become_filters() -> None:
    assert filter_of(None) is None
    chosen = filter_of({"doc_id": ["a", 3], "year": (2020, 2021), "lang": "en"})
    assert chosen == EngineFilter(
        ('"a"',), (('["year", 2020]', '["year", 2021]'), ('["lang", "en"]',))
    )
    assert filter_of(chosen) is chosen and not chosen.is_empty
    for nothing in ({"doc_id": []}, {"year": []}, {"year": float("nan")}):
        empty = filter_of(nothing)
        assert empty is not None and empty.is_empty


@pytest.mark.parametrize("value", [{"$gt": 2020}, object()])
def test_operators_and_what_no_metadata_can_be_are_refused(value: Any) -> None:
    with pytest.raises(
        InvalidParameter, match="must be a dict of values to be equal to"
    ):
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
    prepared = {name: prepare_for(of, SETTINGS) for name, of in entries.items()}
    heads = {"old": Head(3, {}, "", 0)}
    rows = rows_by_document(entries, prepared, heads, 8, SETTINGS)
    assert [{key_of(row.id) for row in of} for of in rows] == [{8}, {3}, {9}]


def test_vectors_of_a_view_have_one_width() -> None:
    rows = engine_rows(entry(), prepare_for(entry(), SETTINGS), 7, SETTINGS)
    assert widths_of(rows, {"summary": 5}) == {"raw": 3, "keywords": 3, "summary": 5}
    with pytest.raises(
        InvalidAnswer, match=r"of view 'raw' must have 4 dimensions .* brings 3"
    ):
        widths_of(rows, {"raw": 4})


def test_ids_hold_the_key_the_chunk_and_the_window() -> None:
    """They are in tables that were made before."""
    assert (HEAD, CHUNK, WINDOW, DEAD) == (0, 1, 2, 3)
    rows = engine_rows(entry(), prepare_for(entry(), SETTINGS), 7, SETTINGS)
    first = 7 * 2**32
    assert [row.id - first for row in rows] == [0, 4096, 2 * 4096, 2 * 4096 + 1]
    assert first_id(7) == first and key_of(first + 2**32 - 1) == 7
    assert row_of_id(first + 4096 + 5) == 7 * 2**20 + 1
    assert id_of_row(7 * 2**20 + 1) == first + 4096
    assert [row.chunk for row in rows] == [None, '"c0"', '"c1"', '"c1"']
    tags = ('["year"]', '["year", 2020]', '["tags"]', '["tags", "a"]')
    assert all(row.tags == tags for row in rows)
    assert rows[1].terms == {"raw": "red pump", "keywords": "pump"}


def test_a_chunk_without_vectors_is_one_row() -> None:
    bare = entry()
    vectors = {"raw": Vectors(np.eye(3)[:2], np.array([1, 1]))}
    bare = Entry(bare.document, "", bare.chunks, bare.views, vectors)
    rows = engine_rows(bare, prepare_for(bare, SETTINGS), 0, SETTINGS)
    assert [row.kind for row in rows] == [HEAD, CHUNK, CHUNK, WINDOW]
    assert [list(row.vectors) for row in rows] == [[], [], ["raw"], ["raw"]]
    assert [row.vectors["raw"].tolist() for row in rows[2:]] == [[1, 0, 0], [0, 1, 0]]
    bare = Entry(bare.document, "", bare.chunks, bare.views, {})
    assert len(engine_rows(bare, prepare_for(bare, SETTINGS), 0, SETTINGS)) == 3


def test_a_chunk_may_have_as_many_windows_as_there_are_numbers() -> None:
    long = entry()
    windows = Vectors(np.ones((4096, 3)), np.zeros(4096, dtype=int))
    long = Entry(long.document, "", long.chunks, long.views, {"raw": windows})
    assert prepare_for(long, SETTINGS).record["id"] == long.document.id


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


def test_a_value_given_twice_is_asked_for_once() -> None:
    chosen = filter_of({"year": [2020, 2020.0, 2021]})
    assert chosen == EngineFilter(None, (('["year", 2020]', '["year", 2021]'),))
    assert filter_of({}) == EngineFilter()
