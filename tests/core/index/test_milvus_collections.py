"""Rows of a store in Milvus, their numbers and conditions; nothing of it needs a server.

`test_milvus.py` makes and reads collections.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples

from structrag.errors import IndexDamaged, InvalidParameter
from structrag.index.engine_rows import CHUNK, HEAD, WINDOW, EngineFilter, EngineRow
from structrag.index.entries import dump_json, parse_json
from structrag.index.milvus_collections import (
    CHUNKS,
    FORMAT,
    MOST_TAGS,
    STATE,
    chunk_id,
    conditions,
    create,
    create_vectors,
    id_of,
    key_of_row,
    number_of_name,
    read_settings,
    records_of,
    state_record,
    terms_of,
    vectors_of,
    version_of,
    write_settings,
)
from structrag.index.milvus_state import packed, unpacked
from structrag.index.store import Store
from structrag.index.term_weights import number_of

VIEWS = ("raw", "keywords")
SETTINGS = Store(VIEWS).settings
NAME = '"d"'
# The first row of the document with the key 7, and its first chunk.
HEAD_ID = 7 << 32
CHUNK_ID = HEAD_ID + 4096


def row(row_id: int, kind: int, **fields: Any) -> EngineRow:
    record = None if kind == WINDOW else b"record of %d" % (row_id - HEAD_ID)
    return EngineRow(row_id, kind, NAME, **{"record": record, **fields})


def document() -> list[EngineRow]:
    """A head, a chunk with two windows, and one with neither vector nor keywords."""
    one = np.array([1.0, 0.0], dtype=np.float16)
    return [
        row(HEAD_ID, HEAD, tags=('["year"]',)),
        row(
            CHUNK_ID,
            CHUNK,
            chunk='"c0"',
            tags=('["year"]',),
            terms={"raw": "red pump pump", "keywords": "pump"},
            vectors={"raw": one, "keywords": one},
        ),
        row(CHUNK_ID + 1, WINDOW, chunk='"c0"', vectors={"raw": one[::-1]}),
        row(CHUNK_ID + 4096, CHUNK, terms={"raw": "", "keywords": None}),
    ]


def records(rows: list[EngineRow], version: int = 5) -> dict[str, list[dict[str, Any]]]:
    return dict(records_of(rows, version, SETTINGS, {"raw": 2.0, "keywords": 1.0}))


def test_numbers_stay_as_they_are() -> None:
    """They are in stores that were made before."""
    assert FORMAT == "structrag-milvus"
    assert number_of_name("") == 0xEF46DB3751D8E999 - 2**63
    assert id_of(5, 3) == 5 * 2**22 + 3
    assert version_of(5 * 2**22 + 2**22 - 1) == 5
    row_of_chunk = 7 * 2**20 + 2
    assert chunk_id(5, row_of_chunk) == id_of(5, 2)
    assert key_of_row(row_of_chunk) == key_of_row(7 * 2**20) == 7
    assert (terms_of("raw"), vectors_of("raw")) == (
        "structrag_terms_raw",
        "structrag_vectors_raw",
    )


def test_digests_fit_into_signed_numbers_of_64_bits() -> None:
    digests = [number_of_name(f"name {i}") for i in range(64)]
    assert len(set(digests)) == 64 and min(digests) < 0 < max(digests)
    assert all(-(2**63) <= digest < 2**63 for digest in digests)
    assert isinstance(number_of_name("\ud800"), int)


def test_a_document_is_rows_of_several_collections() -> None:
    made = records(document())
    assert sorted(made) == sorted(
        [CHUNKS, *(f(view) for f in (terms_of, vectors_of) for view in VIEWS)]
    )
    chunks = made[CHUNKS]
    assert [(of["id"], of["row"], of["kind"]) for of in chunks] == [
        (id_of(5, 0), 7 * 2**20, HEAD),
        (id_of(5, 1), 7 * 2**20 + 1, CHUNK),
        (id_of(5, 2), 7 * 2**20 + 2, CHUNK),
    ]
    assert [unpacked(of["record"]) for of in chunks] == [
        b"record of 0",
        b"record of 4096",
        b"record of 8192",
    ]
    assert [of["part"] for of in chunks] == [0, 0, 0]
    assert [of["n_parts"] for of in chunks] == [1, 1, 1]
    assert [of["chunk"] for of in chunks] == [
        number_of_name(name) for name in ("", '"c0"', "")
    ]
    assert [of["tags"] for of in chunks] == [[number_of_name('["year"]')]] * 2 + [[]]
    for of in chunks:
        assert (of["version"], of["document"]) == (5, number_of_name(NAME))


def test_terms_stand_with_their_weights_and_the_average_they_are_of() -> None:
    raw = records(document())[terms_of("raw")]
    assert [of["id"] for of in raw] == [id_of(5, 1), id_of(5, 2)]
    assert [(of["length"], of["average"]) for of in raw] == [(3, 2.0), (0, 2.0)]
    below = 1.2 * (0.25 + 0.75 * 3 / 2)
    assert raw[0]["terms"] == pytest.approx(
        {number_of("red"): 1 / (1 + below), number_of("pump"): 2 / (2 + below)}
    )
    (keywords,) = records(document())[terms_of("keywords")]
    assert keywords["id"] == id_of(5, 1) and keywords["average"] == 1.0


def test_vectors_are_of_single_precision_and_further_windows_have_own_ids() -> None:
    raw = records(document())[vectors_of("raw")]
    # Behind the head and two chunks.
    assert [of["id"] for of in raw] == [id_of(5, 1), id_of(5, 3)]
    assert [of["row"] for of in raw] == [7 * 2**20 + 1] * 2
    assert [of["vector"].tolist() for of in raw] == [[1, 0], [0, 1]]
    assert {of["vector"].dtype for of in raw} == {np.dtype(np.float32)}
    assert [of["id"] for of in records(document())[vectors_of("keywords")]] == [
        id_of(5, 1)
    ]


def test_a_long_record_is_kept_in_several_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("structrag.index.milvus_collections.LONGEST", 16)
    rows = document()
    chunks = records(rows)[CHUNKS]
    of_first = [of for of in chunks if of["row"] == 7 * 2**20 + 1]
    assert [of["part"] for of in of_first] == list(range(len(of_first)))
    assert {of["n_parts"] for of in of_first} == {len(of_first)} != {1}
    assert all(0 < len(of["record"]) <= 16 for of in of_first)
    text = "".join(of["record"] for of in of_first)
    assert unpacked(text) == b"record of 4096"
    ids = [of["id"] for of in chunks]
    ids += [records(rows)[vectors_of("raw")][1]["id"]]
    assert len(set(ids)) == len(ids)
    assert of_first[0]["id"] == id_of(5, 1) and min(ids) == id_of(5, 0)
    # Numbers without gaps: a part and a window take the next behind the chunks.
    assert sorted(ids) == [id_of(5, ordinal) for ordinal in range(len(ids))]


@examples
def test_a_document_takes_so_many_rows_at_most(
    bits: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.index.milvus_collections.ORDINAL_BITS", bits)
    rows = document()  # three rows, and one for the further window
    if fits:
        assert records(rows)
    else:
        with pytest.raises(InvalidParameter, match=r"'d' must take at most 2 rows"):
            records(rows)


def test_a_document_has_so_many_tags_at_most() -> None:
    tags = tuple(f"t{i}" for i in range(MOST_TAGS + 1))
    (head,) = records([row(HEAD_ID, HEAD, tags=tags[:-1])])[CHUNKS]
    assert len(head["tags"]) == 4096
    sentence = r"'d' must have at most 4,096 keys .* it has 4,097\."
    with pytest.raises(InvalidParameter, match=sentence):
        records([row(HEAD_ID, HEAD, tags=tags)])


@pytest.mark.parametrize(
    ("chosen", "parts"),
    [
        (None, []),
        (EngineFilter(), []),
        (EngineFilter(documents=()), ["version < 0"]),
        (EngineFilter(rows=(3, 5)), ["row in [3, 5]"]),
        (
            EngineFilter(documents=("x", "y")),
            [f"document in {[number_of_name('x'), number_of_name('y')]}"],
        ),
        (
            EngineFilter(tags=(("x", "y"), ("z",)), rows=(1,)),
            [
                f"array_contains_any(tags, {[number_of_name('x'), number_of_name('y')]})",
                f"array_contains_any(tags, {[number_of_name('z')]})",
                "row in [1]",
            ],
        ),
    ],
)
def test_a_filter_is_parts_that_must_all_hold(
    chosen: EngineFilter | None, parts: list[str]
) -> None:
    assert conditions(chosen) == parts


class Client:
    """Of Milvus, what makes a schema and indexes."""

    def create_schema(self, **options: Any) -> Any:
        assert options == {"auto_id": False, "enable_dynamic_field": False}
        fields: dict[str, tuple[Any, dict[str, Any]]] = {}

        def add_field(name: str, kind: Any, **field: Any) -> None:
            fields[name] = kind, field

        return SimpleNamespace(fields=fields, add_field=add_field)

    def prepare_index_params(self) -> Any:
        indexes: dict[str, dict[str, Any]] = {}
        return SimpleNamespace(
            of=indexes,
            add_index=lambda name, **options: indexes.update({name: options}),
        )


class Kinds:
    """Milvus's types by their names."""

    def __getattr__(self, name: str) -> str:
        return name


class Database:
    """A database in memory: which collections were made, and the rows of the state."""

    place = "corpus.db"
    types = Kinds()
    client = Client()

    def __init__(self) -> None:
        self.made: dict[str, Any] = {}
        self.indexes: dict[str, Any] = {}
        self.loaded: list[str] = []
        self.rows: dict[int, dict[str, Any]] = {}

    def call(self, method: str, name: str, *arguments: Any, **options: Any) -> None:
        if method == "create_collection":
            assert options["consistency_level"] == "Strong"
            self.made[name] = options["schema"].fields
        elif method == "create_index":
            assert options == {"sync": False}
            self.indexes[name] = arguments[0].of
        else:
            assert method == "load_collection"
            self.loaded.append(name)

    def collections(self) -> list[str]:
        return list(self.made)

    def insert(self, name: str, rows: list[dict[str, Any]]) -> None:
        assert name == STATE
        self.rows |= {row["id"]: row for row in rows}

    def get(
        self, name: str, ids: list[int], columns: list[str]
    ) -> list[dict[str, Any]]:
        return [self.rows[i] for i in ids if i in self.rows]


def test_collections_have_a_vector_each_and_indexes_of_what_is_asked_for() -> None:
    database: Any = Database()
    create(database, VIEWS)
    create_vectors(database, "raw", 384)
    names = [STATE, CHUNKS, *map(terms_of, VIEWS), vectors_of("raw")]
    assert list(database.made) == list(database.indexes) == database.loaded == names
    vectors = {
        name: {field: of for field, of in fields.items() if "VECTOR" in of[0]}
        for name, fields in database.made.items()
    }
    # What is kept of a row or the state has a vector of the length that its rows have.
    unused = {"vector": ("FLOAT_VECTOR", {"dim": len(state_record(2, "")["vector"])})}
    assert vectors[STATE] == vectors[CHUNKS] == unused
    assert vectors[vectors_of("raw")] == {"vector": ("FLOAT_VECTOR", {"dim": 384})}
    for view in VIEWS:
        assert vectors[terms_of(view)] == {"terms": ("SPARSE_FLOAT_VECTOR", {})}
        assert database.indexes[terms_of(view)]["terms"] == {
            "index_type": "SPARSE_INVERTED_INDEX",
            "metric_type": "IP",
        }
    flat = {"index_type": "FLAT", "metric_type": "IP"}
    assert database.indexes[vectors_of("raw")]["vector"] == flat
    assert list(database.indexes[CHUNKS]) == ["vector", "version", "row", "document"]
    for fields in database.made.values():
        assert fields["id"] == ("INT64", {"is_primary": True})


def test_rows_have_the_fields_of_their_collections() -> None:
    database: Any = Database()
    create(database, VIEWS)
    for view in VIEWS:
        create_vectors(database, view, 2)
    for name, rows in records(document()).items():
        for of in rows:
            assert of.keys() == database.made[name].keys()
    assert state_record(2, "x") == {"id": 2, "content": "x", "vector": [0.0, 0.0]}
    assert {tuple(of["vector"]) for of in records(document())[CHUNKS]} == {(0.0, 0.0)}
    longest = database.made[CHUNKS]["record"][1]["max_length"]
    assert longest == database.made[STATE]["content"][1]["max_length"] == 65_535


def as_read(database: Any) -> tuple[Any, Any]:
    """The settings as JSON, and the configuration."""
    read = read_settings(database)
    assert read is not None
    return read[0].to_json(), read[1]


def test_settings_come_back_as_they_were_written() -> None:
    database: Any = Database()
    assert read_settings(database) is None  # there is no store
    create(database, VIEWS)
    assert read_settings(database) is None  # its creation was interrupted
    write_settings(database, SETTINGS, {"a": 1})
    settings, config = as_read(database)
    assert settings == SETTINGS.to_json() and config == {"a": 1}
    assert list(database.rows) == [1]


@examples
def test_settings_of_another_form_are_refused(
    change: dict[str, Any], sentence: str
) -> None:
    database: Any = Database()
    create(database, VIEWS)
    write_settings(database, SETTINGS, {})
    content = parse_json(unpacked(database.rows[1]["content"]))
    database.rows[1]["content"] = packed(dump_json({**content, **change}))
    with pytest.raises(IndexDamaged, match=sentence):
        read_settings(database)


@examples
def test_settings_must_fit_into_one_row(
    change: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    database: Any = Database()
    write_settings(database, SETTINGS, {})
    length = len(database.rows.pop(1)["content"])
    monkeypatch.setattr("structrag.index.milvus_collections.LONGEST", length + change)
    if fits:
        write_settings(database, SETTINGS, {})
        assert list(database.rows) == [1]
    else:
        with pytest.raises(InvalidParameter, match=f"these take {length:,}"):
            write_settings(database, SETTINGS, {})
        assert not database.rows
