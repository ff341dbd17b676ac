"""A version of a store in LanceDB over a table in memory: what is asked, and what comes of it.
`test_engine_reader.py` searches the engine itself."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from store_making import VIEWS, entry

from structrag.errors import InvalidParameter
from structrag.index.engine_rows import (
    EngineFilter,
    EngineRow,
    engine_rows,
    prepare_for,
)
from structrag.index.entries import Entry, Vectors
from structrag.index.lance_reader import LanceReader
from structrag.index.store import Store

SETTINGS = Store(VIEWS).settings


class Table:
    """Rows in SQL, and for searches a score of each id."""

    version = 3

    def __init__(self, rows: Sequence[EngineRow], n_rows: int | None = None) -> None:
        self.n_rows = n_rows
        self.scores: dict[int, float] = {}
        self.asked: list[dict[str, Any]] = []
        self.counted = 0
        self.schema = SimpleNamespace(
            names=["id", "vector_raw"],
            field=lambda name: SimpleNamespace(type=SimpleNamespace(list_size=2)),
        )
        self.rows = sqlite3.connect(":memory:")
        self.rows.create_function(
            "array_has", 2, lambda tags, tag: tag in json.loads(tags)
        )
        self.rows.execute("CREATE TABLE rows (id, kind, document, chunk, tags, record)")
        self.rows.executemany(
            "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?)",
            [
                (
                    row.id,
                    row.kind,
                    row.document,
                    row.chunk,
                    json.dumps(row.tags),
                    row.record,
                )
                for row in reversed(rows)
            ],
        )

    def count_rows(self, condition: str | None = None) -> int:
        self.counted += 1
        if condition is None and self.n_rows is not None:
            return self.n_rows
        return len(self.where(condition or "true", ["id"]))

    def where(self, condition: str, columns: list[str]) -> list[Any]:
        query = f"SELECT {', '.join(columns)} FROM rows WHERE {condition}"
        return self.rows.execute(query).fetchall()

    def list_indices(self) -> list[SimpleNamespace]:
        kind = "IvfRq" if (self.n_rows or 0) > 100_000 else "IvfFlat"
        return [SimpleNamespace(name="vector_raw_index", index_type=kind)]

    def search(self, query: Any = None, **options: Any) -> Query:
        return Query(self, query, options)


class Query:
    """A search that is put together step by step."""

    def __init__(self, table: Table, query: Any, options: dict[str, Any]) -> None:
        self.table = table
        self.query = query
        self.asked: dict[str, Any] = options
        self.condition = "true"
        self.n: int | None = None
        self.columns: list[str] = []

    def distance_type(self, name: str) -> Query:
        assert name == "dot"
        return self

    def nprobes(self, number: int) -> Query:
        self.asked["probes"] = number
        return self

    def refine_factor(self, times: int) -> Query:
        self.asked["compared"] = times
        return self

    def bypass_vector_index(self) -> Query:
        self.asked["bypasses"] = True
        return self

    def limit(self, n: int) -> Query:
        self.n = n
        return self

    def where(self, condition: str, prefilter: bool | None = None) -> Query:
        self.condition = condition
        self.asked |= {"where": condition, "prefilter": prefilter}
        return self

    def select(self, columns: list[str]) -> Query:
        self.columns = columns
        return self

    def to_arrow(self) -> dict[str, Any]:
        if self.query is None:
            rows = self.table.where(self.condition, self.columns)
        else:
            self.table.asked.append({"query": self.query, "n": self.n, **self.asked})
            ids = [row_id for (row_id,) in self.table.where(self.condition, ["id"])]
            scores = self.table.scores
            rows = [(row_id, scores[row_id]) for row_id in ids if row_id in scores]
        columns = zip(*rows[: self.n], strict=True) if rows[: self.n] else [()] * 9
        return {
            name: SimpleNamespace(
                to_pylist=lambda column=column: list(column),
                to_numpy=lambda column=column: np.array(column),
            )
            for name, column in zip(self.columns, columns, strict=False)
        }


def rows_of(*entries: Entry) -> list[EngineRow]:
    return [
        row
        for key, of in enumerate(entries)
        for row in engine_rows(prepare_for(of, SETTINGS), key, SETTINGS)
    ]


def plain(name: str, *texts: str, windows: int = 1, **meta: Any) -> Entry:
    """A document whose first chunk has so many windows."""
    vectors = Vectors([[1.0, 0.0]] * windows, [0] * windows)
    return replace(entry(name, list(texts), meta), vectors={"raw": vectors})


def reader_of(table: Table, *, exact: bool = False) -> LanceReader:
    return LanceReader("corpus", table, SETTINGS, dict, exact=exact)


def three() -> Table:
    return Table(
        rows_of(
            plain("a", "fig"), plain("it's", "plum", "pear", year=1), plain("c", "fig")
        )
    )


def row(key: int, number: int) -> int:
    """The row of a document's chunk, numbered from 0."""
    return key * 2**20 + number + 1


def test_documents_and_chunks_are_in_the_order_of_their_keys() -> None:
    table = three()
    reader = reader_of(table)
    assert reader.changes == 3 and len(reader) == len(reader) == 4
    assert table.counted == 1
    assert reader.document_ids == ["a", "it's", "c"]
    assert list(reader.fingerprints()) == ["a", "it's", "c"]
    assert [chunk.text for chunk in reader.chunks()] == ["fig", "plum", "pear", "fig"]
    assert [chunk.text for chunk in reader.chunks("it's")] == ["plum", "pear"]
    assert list(reader.rows_of("it's")) == [row(1, 0), row(1, 1)]
    read = reader.with_chunks(["c", "it's"])
    assert [(of.id, len(chunks)) for of, chunks in read] == [("c", 1), ("it's", 2)]
    assert reader.first_rows(None, 3) == [row(0, 0), row(1, 0), row(1, 1)]
    assert reader.first_rows({"doc_id": "it's"}, 9) == [row(1, 0), row(1, 1)]
    assert reader.sampled_rows({"doc_id": "it's"}, 1) == (2, [row(1, 0)])
    assert reader.next_key == 3 and reader_of(Table([])).next_key == 0
    ids = reader.ids_of(["a", "c"])
    assert [row_id >> 32 for row_id in ids] == [0, 0, 2, 2] and ids == sorted(ids)


def test_a_key_that_no_document_has_is_refused() -> None:
    reader = reader_of(three())
    assert reader.select({"year": 2}) is not None
    with pytest.raises(InvalidParameter, match="'doc_id', 'year'; got 'day'"):
        reader.select({"day": 2})


@examples
def test_of_a_large_table_a_tenth_is_searched_and_100_000_rows_at_least(
    n_rows: int, exact: bool, probes: int
) -> None:
    table = Table(rows_of(plain("a", "fig")), n_rows)
    table.scores = {4096: 0.25}
    ranking = reader_of(table, exact=exact).search_dense("raw", [2.0, 0.0], 1)
    assert ranking == [(row(0, 0), 0.75)]
    (asked,) = table.asked
    assert asked["probes"] == probes and asked["n"] == 1 and "where" not in asked
    # Of bits the best thousand are compared as they are; exactly, all without the index.
    assert asked.get("compared") == (1000 if n_rows > 100_000 and not exact else None)
    assert asked.get("bypasses", False) == exact
    assert asked["vector_column_name"] == "vector_raw"
    assert np.asarray(asked["query"]).tolist() == [1, 0]


def test_where_too_few_are_near_all_are_searched() -> None:
    table = Table(rows_of(plain("a", "fig")), 2_000_000)
    table.scores = {4096: 0.25}
    assert reader_of(table).search_dense("raw", [1, 0], 2) == [(row(0, 0), 0.75)]
    assert [asked["probes"] for asked in table.asked] == [100, 2_000_000]
    table.asked.clear()
    # Among few rows at once, and in a small table there is nothing else to search.
    reader_of(table).search_dense("raw", [1, 0], 2, EngineFilter(rows=(1,)))
    small = Table(rows_of(plain("a", "fig")))
    reader_of(small).search_dense("raw", [1, 0], 2)
    assert [asked["probes"] for asked in table.asked + small.asked] == [2_000_000, 2]


def test_a_chunk_is_found_by_its_id_and_the_first_of_equal_ones() -> None:
    same = replace(
        plain("b", "fig"), chunks=(replace(entry("b", ["fig"]).chunks[0], id="a:0-3"),)
    )
    reader = reader_of(Table(rows_of(plain("z", "plum"), plain("a", "fig"), same)))
    assert reader.row_of("a:0-3") == row(1, 0)
    assert reader.row_of("unknown") is None
