"""A store in Milvus at one moment, over collections in memory. `test_engine_reader.py` searches the
engine itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from fixture_cases import examples
from store_making import VIEWS, entry

from structrag.errors import InvalidParameter, ModelFailed, UnknownDocument
from structrag.index import milvus_reader
from structrag.index.engine_rows import (
    EngineFilter,
    RowCounts,
    engine_rows,
    number_of,
    numbered,
    prepare_for,
)
from structrag.index.entries import Entry, Vectors
from structrag.index.milvus_collections import (
    CHUNKS,
    StoreState,
    records_of,
    vectors_of,
)
from structrag.index.milvus_reader import KEPT, MilvusReader
from structrag.index.store import Store

SETTINGS = Store(VIEWS).settings


class Collections:
    """Collections in memory. Conditions in Milvus's language are taken as Python."""

    place = "corpus.db"

    def __init__(self) -> None:
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.checked: list[list[str]] = []
        self.asked: list[dict[str, Any]] = []

    def put(self, of: Entry, key: int, version: int) -> None:
        rows = engine_rows(prepare_for(of, SETTINGS), key, SETTINGS)
        averages = dict.fromkeys(VIEWS, 2.0)
        for name, records in records_of(rows, version, SETTINGS, averages).items():
            self.rows.setdefault(name, []).extend(records)

    def where(self, name: str, condition: str) -> list[dict[str, Any]]:
        def meets(row: dict[str, Any]) -> bool:
            def contains(tags: list[int], some: list[int]) -> bool:
                return not set(tags).isdisjoint(some)

            return bool(eval(condition, {"array_contains_any": contains, **row}))

        return [row for row in self.rows.get(name, []) if meets(row)]

    def query(self, name: str, condition: str, columns: Sequence[str]) -> list[Any]:
        return [
            {column: row[column] for column in columns}
            for row in reversed(self.where(name, condition))
        ]

    def count(self, name: str, condition: str) -> int:
        return len(self.where(name, condition))

    def get(self, name: str, ids: Sequence[int], columns: Sequence[str]) -> list[Any]:
        rows = [row for row in self.rows[name] if row["id"] in ids]
        return [{column: row[column] for column in columns} for row in rows]

    def check(self, names: list[str]) -> None:
        self.checked.append(names)

    def call(self, method: str, name: str, *data: Any, **options: Any) -> list[Any]:
        self.asked.append({"method": method, "name": name, **options})
        rows = self.where(name, options["filter"])
        if method == "query":
            return rows[: options["limit"]]
        ((query,),) = data
        field = options["anns_field"]
        scored = [(dot(query, row[field]), row) for row in rows]
        scored.sort(key=lambda pair: -pair[0])
        hits = [
            {"id": row["id"], "distance": score, "entity": {"row": row["row"]}}
            for score, row in scored[: options["limit"]]
        ]
        return [hits]


def dot(one: Any, other: Any) -> float:
    if isinstance(one, dict):
        return float(sum(one[key] * other[key] for key in one.keys() & other.keys()))
    return float(np.dot(one, other))


def plain(name: str, *texts: str, **meta: Any) -> Entry:
    """A document whose first chunk has a vector."""
    vectors = {"raw": Vectors([[1.0, 0.0]], [0])}
    return replace(entry(name, list(texts), meta), vectors=vectors)


class Making:
    """Three documents in the versions 4 to 6, and an older version of the first."""

    def __init__(self) -> None:
        self.database = Collections()
        self.database.put(plain("a", "old"), 0, 3)
        self.database.put(plain("a", "fig"), 0, 4)
        self.database.put(plain("b", "plum fig", "pear", year=1), 1, 5)
        self.database.put(plain("c", "lemon"), 2, 6)
        self.database.put(plain("late", "melon"), 3, 7)  # of a writer that is not done
        self.state = StoreState(
            changes=9,
            last=6,
            hidden=[(1.0, 3, 3)],
            n_chunks=4,
            n_rows={"raw": 4, "keywords": 3},
            widths={"raw": 2},
        )
        self.now = replace(self.state)
        texts = ["fig", "plum fig", "pear", "lemon"]
        # In two parts, as the changes came.
        self.counts = [
            RowCounts.of(numbered(text.split()) for text in some)
            for some in (texts[:1], texts[1:])
        ]
        self.looked = 0

    def reader(self) -> MilvusReader:
        def state_now() -> StoreState:
            self.looked += 1
            return self.now

        return MilvusReader(
            self.database,  # type: ignore[arg-type]
            SETTINGS,
            self.state,
            lambda state, view: self.counts if view == "raw" else [],
            state_now,
        )


@pytest.fixture
def making() -> Making:
    return Making()


def row(key: int, number: int) -> int:
    """The row of a document's chunk, numbered from 0."""
    return key * 2**20 + number + 1


def test_documents_and_chunks_are_those_of_the_visible_versions(making: Making) -> None:
    reader = making.reader()
    assert reader.changes == 9 and len(reader) == 4
    assert reader.document_ids == ["a", "b", "c"]
    assert [reader.version(key) for key in range(3)] == [4, 5, 6]
    texts = ["fig", "plum fig", "pear", "lemon"]
    assert [chunk.text for chunk in reader.chunks()] == texts
    assert [chunk.text for chunk in reader.chunks("b")] == ["plum fig", "pear"]
    assert [chunk.text for chunk in reader.chunks("a")] == ["fig"]
    assert list(reader.rows_of("b")) == [row(1, 0), row(1, 1)]
    read = reader.with_chunks(["c", "late", "b"])
    assert [(of.id, len(chunks)) for of, chunks in read] == [("c", 1), ("b", 2)]
    assert reader.first_rows(None, 3) == [row(0, 0), row(1, 0), row(1, 1)]
    assert reader.first_rows({"year": 1}, 9) == [row(1, 0), row(1, 1)]
    with pytest.raises(UnknownDocument):
        reader.chunks("late")
    assert making.database.checked == [] and making.looked == 0


def test_a_collection_that_may_be_gone_is_checked(making: Making) -> None:
    reader = making.reader()
    with pytest.raises(InvalidParameter):
        reader.chunks_at([row(0, 0), row(0, 7)])
    assert making.database.checked == [[CHUNKS]]
    making.database.rows.clear()
    assert reader.document_ids == []
    assert making.database.checked == [[CHUNKS]] * 2
    assert reader.search_dense("raw", [1, 0], 5) == []
    assert making.database.checked[2:] == [[vectors_of("raw")]]
    # Who searches some rows may find none.
    assert reader.search_dense("raw", [1, 0], 5, EngineFilter(rows=(1,))) == []
    assert len(making.database.checked) == 3
    making.state.n_chunks = 0
    assert making.reader().document_ids == [] and len(making.database.checked) == 3


def test_a_record_in_several_parts_is_put_together(
    making: Making, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("structrag.index.milvus_collections.LONGEST", 100)
    text = "kiwi " * 50
    making.database.put(plain("long", text, "short"), 4, 2)
    parts = [
        of["part"] for of in making.database.rows[CHUNKS] if of["row"] == row(4, 0)
    ]
    assert len(parts) > 2
    reader = making.reader()
    assert reader.chunk(row(4, 0)).text == text
    rows = [row(4, 1), row(4, 0), row(0, 0)]
    assert [chunk.text for chunk in reader.chunks_at(rows)] == ["short", text, "fig"]
    assert [chunk.text for chunk in reader.chunks("long")] == [text, "short"]
    assert reader.first_rows({"doc_id": "long"}, 9) == [row(4, 0), row(4, 1)]
    assert len(reader.rows_of("long")) == 2
    head = reader.head("long")
    assert head is not None and head.record["id"] == "long"


def test_terms_that_no_row_holds_ask_nothing(making: Making) -> None:
    reader = making.reader()
    assert reader.search_lexical("raw", "unknown", 9) == []
    assert reader.search_lexical("keywords", "fig", 9) == []
    assert making.database.asked == []
    found = reader.search_lexical("raw", "unknown pear", 9, {"doc_id": ["b", "c"]})
    assert [at for at, _ in found] == [row(1, 1)]  # others score 0
    assert number_of("pear") in making.counts[1].numbers


@examples
def test_a_reader_of_which_something_may_be_gone_says_so(
    making: Making,
    seconds: float,
    removed: int,
    fails: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert KEPT == 60.0
    times = [1000.0, 1000.0 + seconds]
    monkeypatch.setattr(
        milvus_reader.time, "monotonic", lambda: times.pop(0) if times[1:] else times[0]
    )
    reader = making.reader()
    making.now.removed = removed
    if fails:
        with pytest.raises(ModelFailed, match="replaced documents stay for 60 seconds"):
            reader.row_of("a:0-3")
    else:
        assert reader.row_of("a:0-3") == row(0, 0)
    assert making.looked == (seconds >= 30)
