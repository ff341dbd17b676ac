"""Rows and conditions of a store in LanceDB, without a database. `test_lance.py` makes, reads and
refuses tables."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from fixture_cases import examples

from structrag.errors import IndexDamaged, ModelFailed
from structrag.index import lance_tables
from structrag.index.engine_rows import EngineFilter
from structrag.index.entries import dump_json, parse_json
from structrag.index.lance import (
    CHUNKS,
    FORMAT,
    coverage,
    create_tables,
    make_vector_index,
    read_settings,
    write_settings,
)
from structrag.index.lance import SETTINGS as SETTINGS_TABLE
from structrag.index.lance_reader import literal, raised_by_lance, sql_parts
from structrag.index.store import Store

SETTINGS = Store(("raw", "keywords")).settings


@examples
def test_quotes_are_doubled(string: str, quoted: str) -> None:
    assert literal(string) == quoted


@pytest.mark.parametrize(
    ("chosen", "parts"),
    [
        (None, []),
        (EngineFilter(), []),
        (EngineFilter(documents=()), ["id < 0"]),
        (EngineFilter(tags=(("x",), ()), rows=(1,)), ["id < 0"]),
        (EngineFilter(documents=('"a"', '"b"')), ["""document IN ('"a"', '"b"')"""]),
        (
            EngineFilter(tags=(("x", "y"), ("z",))),
            ["array_has_any(tags, ['x', 'y'])", "array_has_any(tags, ['z'])"],
        ),
        # A chunk and its windows have the ids from 4096 times its row on.
        (
            EngineFilter(rows=(1, 3)),
            ["(id >= 4096 AND id < 8192 OR id >= 12288 AND id < 16384)"],
        ),
    ],
)
def test_a_filter_is_parts_that_must_all_hold(
    chosen: EngineFilter | None, parts: list[str]
) -> None:
    assert sql_parts(chosen) == parts


@pytest.mark.parametrize("sentence", ["Not found: x", "No such file", "was not found"])
def test_files_that_are_gone_are_named(sentence: str) -> None:
    with (
        pytest.raises(IndexDamaged, match="store at 'corpus' are missing"),
        raised_by_lance("corpus"),
    ):
        raise OSError(sentence)


def test_other_errors_are_those_of_the_store() -> None:
    with (
        pytest.raises(ModelFailed, match=r"store 'corpus'.*out of memory") as caught,
        raised_by_lance("corpus"),
    ):
        raise OSError("out of memory")
    assert not isinstance(caught.value, IndexDamaged)


@examples
def test_a_vector_index_has_lists_of_2000_rows(
    rows: int, lists: int, width: int, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = SimpleNamespace(
        IvfFlat=lambda **options: SimpleNamespace(kind="vectors", **options),
        IvfRq=lambda **options: SimpleNamespace(kind="bits", **options),
    )
    column = SimpleNamespace(type=SimpleNamespace(list_size=width))
    monkeypatch.setattr(lance_tables, "require", lambda *_, **__: kinds)
    made: dict[str, Any] = {}
    table = SimpleNamespace(
        count_rows=lambda: rows,
        schema=SimpleNamespace(field=lambda name: column),
        create_index=lambda column, **options: made.update(options, column=column),
    )
    make_vector_index(table, "vector_raw")
    assert (made["column"], made["name"]) == ("vector_raw", "vector_raw_index")
    assert made["config"].num_partitions == lists and made["replace"] is True
    assert (made["config"].distance_type, made["config"].kind) == ("dot", kind)


def test_the_coverage_of_a_column_is_that_of_its_own_index() -> None:
    def statistics(name: str) -> Any:
        assert name == "vector_raw_index"
        return SimpleNamespace(num_indexed_rows=7, num_unindexed_rows=2)

    names = ["id_index"]
    table = SimpleNamespace(
        count_rows=lambda: 9,
        list_indices=lambda: [SimpleNamespace(name=name) for name in names],
        index_stats=statistics,
    )
    assert coverage(table, "vector_raw") == (0, 9)
    names.append("vector_raw_index")
    assert coverage(table, "vector_raw") == (7, 2)


def test_a_table_says_what_it_is() -> None:
    """Stores that were made before must go on being read."""
    assert FORMAT == "structrag-lancedb"


class Database:
    """A database in memory."""

    def __init__(self) -> None:
        self.tables: dict[str, Any] = {}
        self.dropped: list[str] = []

    def list_tables(self) -> Any:
        return SimpleNamespace(tables=list(self.tables))

    def drop_table(self, name: str) -> None:
        del self.tables[name]
        self.dropped.append(name)

    def create_table(
        self, name: str, rows: Any = None, *, schema: Any = None, mode: str = "create"
    ) -> Any:
        if mode == "create" and name in self.tables:
            raise ValueError(f"{name} is there")
        table = Table(rows if schema is None else schema.empty_table())
        self.tables[name] = table
        return table

    def open_table(self, name: str) -> Any:
        return self.tables[name]


class Table:
    def __init__(self, rows: Any) -> None:
        self.rows = rows
        self.indexes: dict[str, Any] = {}

    def to_arrow(self) -> Any:
        return self.rows

    def create_index(
        self, column: str, *, config: Any, name: str, replace: bool
    ) -> None:
        assert replace and name == f"{column}_index"
        self.indexes[column] = config


def imported(module: str, *, extra: str) -> Any:
    """PyArrow as it is; of LanceDB the names of what is asked for."""
    if module == "pyarrow":
        return pytest.importorskip(module)
    assert (module, extra) == ("lancedb.index", "lancedb")
    return SimpleNamespace(
        FTS=lambda **options: ("FTS", options),
        BTree=lambda: "BTree",
        LabelList=lambda: "LabelList",
    )


def as_read(database: Any) -> tuple[Any, Any]:
    """The settings as JSON, and the configuration."""
    settings, config = read_settings("corpus", database)
    return settings.to_json(), config


@examples
def test_settings_of_another_form_are_refused(
    change: dict[str, Any], sentence: str
) -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra 'lancedb' is not installed")
    database: Any = Database()
    write_settings(database, SETTINGS, {})
    (line,) = database.tables[SETTINGS_TABLE].rows["content"].to_pylist()
    changed = dump_json({**parse_json(line), **change})
    database.tables[SETTINGS_TABLE] = Table(pa.table({"content": [changed]}))
    with pytest.raises(IndexDamaged, match=sentence):
        read_settings("corpus", database)


def test_both_tables_are_made_and_what_an_interrupted_creation_left_is_not_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("pyarrow", reason="the extra 'lancedb' is not installed")
    monkeypatch.setattr(lance_tables, "require", imported)
    database: Any = Database()
    create_tables(database, SETTINGS, {"a": (1,)})
    assert database.dropped == []
    assert list(database.tables) == [CHUNKS, SETTINGS_TABLE]  # the settings come last
    settings, config = as_read(database)
    assert settings == SETTINGS.to_json() and config == {"a": [1]}
    half = database.tables[CHUNKS]
    create_tables(database, SETTINGS, {})
    assert database.dropped == [CHUNKS] and database.tables[CHUNKS] is not half
