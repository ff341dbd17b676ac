"""Searches of a store in each engine, compared with the embedded one."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engine_making import ENGINES, address_in, opened
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import VIEWS, entry

from structrag.errors import InvalidAnswer, InvalidParameter, UnknownDocument
from structrag.index.engine import EngineReader, EngineStore
from structrag.index.engine_rows import (
    CHUNK,
    EngineFilter,
    engine_rows,
    prepare_for,
    read_head,
    row_of_id,
)
from structrag.index.entries import DocumentRow, Entry
from structrag.index.store import Store

WORDS = [
    "apple",
    "banana",
    "cherry",
    "plum",
    "pear",
    "f\u00edg-7",
    "\u6c34\u6cf5\u6e05\u6d17",
    "C++",
    "F\u0131g7",
    "\u6cf5",
    "C",
    "and",
    "or",
    "AND",
    "*",
    '"',
    "don't",
]
METAS: list[dict[str, Any]] = [
    {"year": 2020, "tags": ["x", "y"]},
    {"year": 2021},
    {"year": 2020, "lang": "it's"},
    {},
]


class Listed(EngineReader):
    """Documents in a list, with the keys 0, 1 ...; it notes what it is asked for."""

    changes = 1

    def __init__(self, entries: Sequence[Entry]) -> None:
        settings = Store(VIEWS).settings
        super().__init__("a list", settings)
        self.asked: list[int] = []
        self.matching: list[tuple[int, float]] = []
        self.rows = [
            engine_rows(prepare_for(of, settings), key, settings)
            for key, of in enumerate(entries)
        ]

    def __len__(self) -> int:
        return len(self._lines())

    @property
    def document_ids(self) -> list[str]:
        return [head.record["id"] for head in self._heads()]

    next_key: int = 0

    def _of_document(self, doc_id: str) -> str:
        return self._of_documents([doc_id])

    def _of_documents(self, doc_ids: Sequence[str]) -> str:
        return json.dumps(list(doc_ids))

    def _heads(self, *conditions: str) -> list[DocumentRow]:
        heads = [read_head(rows[0].id, rows[0].record or b"") for rows in self.rows]
        for condition in conditions:
            self.asked.append(len(json.loads(condition)))
            names = json.loads(condition)
            heads = [head for head in heads if head.record["id"] in names]
        return heads

    def _n_chunks_of(self, doc_id: str) -> int:
        return len(self._lines(self._of_document(doc_id)))

    def _lines(self, *conditions: str) -> dict[int, bytes]:
        names = json.loads(conditions[0]) if conditions else self.document_ids
        keys = [self.document_ids.index(name) for name in names if name in self.names]
        # The last comes first: nobody says in which order an engine answers.
        rows = [row for key in keys for row in reversed(self.rows[key])]
        return {
            row_of_id(row.id): row.record or b"" for row in rows if row.kind == CHUNK
        }

    @property
    def names(self) -> set[str]:
        return set(self.document_ids)

    def _lines_at(self, rows: Sequence[int]) -> dict[int, bytes]:
        self.asked.append(len(rows))
        return {row: line for row, line in self._lines().items() if row in rows}

    def row_of(self, chunk_id: str) -> int | None:
        raise NotImplementedError

    def _has_tag(self, tag: str) -> bool:
        return any(tag in rows[0].tags for rows in self.rows)

    def _rows_of(self, selection: Any) -> np.ndarray:
        return np.array(sorted(self._lines()))

    def _width(self, view: str) -> int | None:
        return 2 if view == "raw" else None

    def _nearest(
        self, view: str, query: np.ndarray, n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        self.asked.append(n)
        windows = [
            (row_of_id(row.id), float(row.vectors[view] @ query))
            for rows in self.rows
            for row in rows
            if view in row.vectors
        ]
        return sorted(windows, key=lambda window: -window[1])[:n]

    def _matching(
        self, view: str, terms: Sequence[str], n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        self.asked.append(n)
        return self.matching


def bare(name: str, *texts: str, **fields: Any) -> Entry:
    """A document without vectors."""
    return replace(entry(name, list(texts)), **{"vectors": {}, **fields})


def row(key: int, number: int) -> int:
    """The row of a document's chunk, numbered from 0."""
    return key * 2**20 + number + 1


THREE = [bare("a", "fig"), bare("b", "plum", "pear"), bare("c", "apple")]


def test_rows_of_documents_and_their_chunks() -> None:
    reader = Listed(THREE)
    assert [reader.key(name) for name in "abc"] == [0, 1, 2]
    assert list(reader.rows_of("b")) == [row(1, 0), row(1, 1)]
    assert reader.row_numbers.tolist() == [row(0, 0), row(1, 0), row(1, 1), row(2, 0)]
    assert [chunk.text for chunk in reader.chunks()] == ["fig", "plum", "pear", "apple"]
    assert [chunk.text for chunk in reader.chunks("b")] == ["plum", "pear"]
    for ask in (reader.key, reader.rows_of, reader.chunks, reader.lines_of):
        with pytest.raises(UnknownDocument, match="in the index; got 'z'"):
            ask("z")


def test_chunks_come_in_the_order_they_are_asked_for() -> None:
    reader = Listed(THREE)
    rows = [row(2, 0), row(0, 0)]
    assert [chunk.text for chunk in reader.chunks_at(rows)] == ["apple", "fig"]
    assert reader.view_texts_at([row(1, 1), row(1, 0)], "keywords") == [None, "plum"]
    assert reader.chunk(row(1, 1)).text == "pear"
    assert reader.asked == [2, 2, 1]
    assert reader.chunks_at([]) == reader.view_texts_at([], "raw") == []
    assert reader.asked == [2, 2, 1]
    with pytest.raises(InvalidParameter, match=f"got {row(0, 1)}"):
        reader.chunks_at([row(0, 0), row(0, 1), row(9, 9)])


def test_documents_are_read_with_their_chunks_128_at_a_time() -> None:
    reader = Listed([bare(f"d{i}", f"t{i}", "more") for i in range(130)])
    names = ["unknown", *reversed(reader.document_ids)]
    read = list(reader.with_chunks(names))
    assert [document.id for document, _ in read] == names[1:]
    assert [chunk.text for chunk in read[1][1]] == ["t128", "more"]
    assert reader.asked == [128, 3]


def test_documents_that_a_model_failed_on_have_no_fingerprint() -> None:
    reader = Listed([bare("a", "fig", degraded=2), bare("b", "plum", degraded=0)])
    assert reader.fingerprints() == {"a": None, "b": "print of b"}
    assert reader.head("b") is not None and reader.asked == []  # they are known now


def test_keys_of_a_condition_are_those_of_some_document() -> None:
    with_year = bare("a", "fig", document=replace(THREE[0].document, meta={"year": 1}))
    reader = Listed([with_year, THREE[1]])
    chosen = reader.select({"year": 2, "doc_id": "unknown"})
    assert chosen == EngineFilter(('"unknown"',), (('["year", 2]',),))
    assert reader.select(chosen) is chosen
    with pytest.raises(InvalidParameter, match=r": 'doc_id', 'year'; got 'day'\."):
        reader.select({"year": 1, "day": 1})
    # Where there is no document, no key is wrong.
    assert Listed([]).select({"day": 1}) == EngineFilter(None, (('["day", 1]',),))
    assert reader.among(np.array([3, 5])) == EngineFilter(rows=(3, 5))


@pytest.fixture(scope="module", params=ENGINES)
def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[EngineStore, Store]]:
    """The same documents in both, with windows and chunks that lack a view."""
    rng = np.random.default_rng(0)
    own = Store(VIEWS)
    entries = []
    for number in range(24):
        texts = [
            " ".join(rng.choice(WORDS[:8], size=rng.integers(1, 9))) for _ in range(5)
        ]
        entries.append(
            entry(f"d{number}", texts, METAS[number % 4], windows=number % 3 == 0)
        )
    own.put_all(entries)
    with address_in(request.param, tmp_path_factory.mktemp("engine")) as address:
        far = opened(address, own.settings)
        far.put_all(entries)
        far.save(address)
        yield far, own


def as_ids(store: Any, ranking: Any) -> list[tuple[str, float]]:
    reader = store.reader()
    return [
        (reader.chunk(row).id, pytest.approx(score, rel=1e-6, abs=2e-6))
        for row, score in ranking
    ]


CONDITIONS = [
    None,
    {"doc_id": "d3"},
    {"doc_id": ["d3", "d4", "nowhere"]},
    {"year": 2020},
    {"year": [2021.0, 1999]},
    {"tags": "y", "year": 2020},
    {"lang": "it's"},
    {"year": []},
]


@settings(max_examples=25)
@given(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=5),
    st.sampled_from(VIEWS),
    st.sampled_from([1, 7, 200]),
    st.sampled_from(CONDITIONS),
)
def test_bm25_is_that_of_the_embedded_store(
    stores: tuple[EngineStore, Store], words: list[str], view: str, n: int, where: Any
) -> None:
    far, own = stores
    query = " ".join(words)
    expected = as_ids(own, own.reader().search_lexical(view, query, n, where))
    found = as_ids(far, far.reader().search_lexical(view, query, n, where))
    if n == 200:  # nothing is cut off among equals
        assert found == expected
    else:
        assert [score for _, score in found] == [score for _, score in expected]


@settings(max_examples=25)
@given(
    st.lists(st.floats(-1, 1), min_size=3, max_size=3).filter(
        lambda v: np.linalg.norm(v) > 0.01
    ),
    st.sampled_from([1, 7, 200]),
    st.sampled_from(CONDITIONS),
)
def test_vectors_are_searched_as_in_the_embedded_store(
    stores: tuple[EngineStore, Store], vector: list[float], n: int, where: Any
) -> None:
    far, own = stores
    expected = [
        score for _, score in own.reader().search_dense("raw", vector, n, where)
    ]
    ranking = far.reader().search_dense("raw", vector, n, where)
    assert [score for _, score in ranking] == pytest.approx(expected, abs=2e-6)
    assert len({row for row, _ in ranking}) == len(ranking)  # windows are joined


def test_rows_are_in_document_order(stores: tuple[EngineStore, Store]) -> None:
    far, own = stores
    reader = far.reader()
    assert len(reader) == len(own) == 120 and reader.document_ids == own.document_ids
    rows = reader.first_rows(None, 200)
    assert rows == sorted(rows) and reader.chunks_at(rows) == own.chunks()
    assert list(reader.rows_of("d1")) == reader.first_rows({"doc_id": "d1"}, 9)
    assert (
        reader.row_of(own.reader().chunk(7).id) == rows[7]
        and reader.row_of("nothing") is None
    )
    assert reader.chunks("d2") == own.chunks("d2")
    with pytest.raises(InvalidParameter, match="doc_id must be the id of a document"):
        reader.rows_of("nowhere")
    with pytest.raises(InvalidParameter, match="row must be the row of a chunk"):
        reader.chunk(0)  # a document's head


def test_searches_that_find_nothing_and_those_that_are_wrong(
    stores: tuple[EngineStore, Store],
) -> None:
    reader = stores[0].reader()
    assert (
        reader.search_lexical("raw", "the of", 5)
        == reader.search_lexical("raw", " ", 5)
        == []
    )
    # No vectors in this view.
    assert reader.search_dense("keywords", [1.0, 2.0, 3.0], 5) == []
    assert reader.search_dense("raw", [1.0, 2.0, 3.0], 0) == []
    with pytest.raises(InvalidAnswer, match=r"must have shape \(3,\); got \(2,\)"):
        reader.search_dense("raw", [1.0, 2.0], 5)
    with pytest.raises(InvalidAnswer, match="NaN"):
        reader.search_dense("raw", [1.0, 2.0, float("nan")], 5)
    with pytest.raises(InvalidParameter, match="view must be one of"):
        reader.search_lexical("summary", "apple", 5)


def test_conditions_are_checked(stores: tuple[EngineStore, Store]) -> None:
    reader = stores[0].reader()
    chosen = reader.select({"year": 2020})
    assert reader.select(chosen) is chosen and reader.select(None) is None
    message = "'doc_id', 'lang', 'tags', 'year'; got 'yaer'"
    with pytest.raises(InvalidParameter, match=message):
        reader.select({"yaer": 2020})
    with pytest.raises(InvalidParameter, match="got a function"):
        reader.select(lambda meta: True)
