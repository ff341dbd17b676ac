"""Searches of a store in each engine, compared with the embedded one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from engine_making import ENGINES, address_in, opened
from hypothesis import given, settings
from hypothesis import strategies as st
from store_making import VIEWS, entry

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index.engine import EngineStore
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
