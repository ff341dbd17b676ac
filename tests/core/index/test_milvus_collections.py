"""Rows of a store in Milvus, their numbers and conditions; nothing of it needs a server.
`test_milvus.py` makes and reads collections."""

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
    MOST_TAGS,
    STATE,
    conditions,
    create,
    number_of_name,
    packed,
    read_settings,
    records_of,
    unpacked,
    write_settings,
)
from structrag.index.store import Store

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


@examples
def test_a_document_takes_so_many_rows_at_most(
    bits: int, fits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.index.milvus_collections.ORDINAL_BITS", bits)
    rows = document()  # three rows, and one for the further window
    if fits:
        assert records(rows)
    else:
        with pytest.raises(InvalidParameter, match=r"at most 2 rows .* takes 4\."):
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
