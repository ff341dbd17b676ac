"""Rows and conditions of a store in LanceDB, without a database.

`test_lance.py` makes, reads and refuses tables.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from structrag.errors import IndexDamaged, ModelFailed
from structrag.index import lance_tables
from structrag.index.engine_rows import CHUNK, HEAD, EngineFilter, EngineRow
from structrag.index.lance_tables import (
    FORMAT,
    VERSION,
    arrow_of,
    coverage,
    literal,
    literals,
    make_vector_index,
    raised_by_lance,
    schema_of,
    sql_parts,
    vector_columns,
)
from structrag.index.store import Store

SETTINGS = Store(("raw", "keywords")).settings


@pytest.mark.parametrize(
    ("string", "quoted"),
    [("", "''"), ("a", "'a'"), ("it's", "'it''s'"), ("''", "''''''")],
)
def test_quotes_are_doubled(string: str, quoted: str) -> None:
    assert literal(string) == quoted


def test_literals_stand_in_a_list() -> None:
    assert literals(["a", "it's"]) == "'a', 'it''s'" and literals([]) == ""


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


def test_without_windows_rows_are_ids() -> None:
    chosen = EngineFilter(rows=(1, 3))
    assert sql_parts(chosen, with_windows=False) == ["id IN (4096, 12288)"]


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


@pytest.mark.parametrize(
    ("rows", "lists"), [(0, 1), (1, 1), (3_999, 1), (4_000, 2), (10_000, 5)]
)
def test_a_vector_index_has_lists_of_2000_rows(
    rows: int, lists: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = SimpleNamespace(IvfFlat=lambda **options: SimpleNamespace(**options))
    monkeypatch.setattr(lance_tables, "require", lambda *_, **__: kinds)
    made: dict[str, Any] = {}
    table = SimpleNamespace(
        count_rows=lambda: rows,
        create_index=lambda column, **options: made.update(options, column=column),
    )
    make_vector_index(table, "vector_raw")
    assert (made["column"], made["name"]) == ("vector_raw", "vector_raw_index")
    assert made["config"].num_partitions == lists and made["replace"] is True
    assert made["config"].distance_type == "dot"


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


def test_rows_become_columns_and_missing_vectors_are_null() -> None:
    pa = pytest.importorskip("pyarrow", reason="the extra 'lancedb' is not installed")
    schema = schema_of(SETTINGS)
    assert vector_columns(schema) == []
    kind = pa.list_(pa.float32(), 2)
    schema = schema.append(pa.field("vector_raw", kind))
    assert vector_columns(schema) == ["vector_raw"]
    vector = np.array([0.5, 1.0], dtype=np.float32)
    rows = [
        EngineRow(0, HEAD, '"d"', tags=("t",), record=b"head"),
        EngineRow(
            4096,
            CHUNK,
            '"d"',
            '"c"',
            record=b"chunk",
            terms={"raw": "pump", "keywords": None},
            vectors={"raw": vector},
        ),
    ]
    listed = arrow_of(rows, schema).to_pydict()
    assert listed == {
        "id": [0, 4096],
        "kind": [0, 1],
        "document": ['"d"', '"d"'],
        "chunk": [None, '"c"'],
        "tags": [["t"], []],
        "record": [b"head", b"chunk"],
        "terms_raw": [None, "pump"],
        "terms_keywords": [None, None],
        "vector_raw": [None, [0.5, 1.0]],
    }
    whole = arrow_of(rows[1:], schema)
    assert whole["vector_raw"].null_count == 0


def test_a_table_says_what_it_is() -> None:
    """Stores that were made before must go on being read."""
    assert (FORMAT, VERSION) == ("structrag-lancedb", 1)
