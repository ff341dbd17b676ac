"""Exact cosine search, against a plain float64 computation."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidAnswer
from structrag.index import dense
from structrag.index.blocks import Column
from structrag.index.dense import (
    DenseIndex,
    VectorPart,
    VectorTable,
    check_owner,
    unit_vectors,
)
from structrag.index.ranking import RowMap


def reference(
    matrix: np.ndarray, owner: np.ndarray, query: np.ndarray, rows: list[int]
) -> list[tuple[int, float]]:
    """Every row's best cosine, ordered by (-round(score, 9), row)."""
    unit = unit_vectors(matrix).astype(np.float64)
    target = unit_vectors(query[None, :])[0].astype(np.float64)
    scores = {
        row: max(float((v * target).sum()) for v in unit[owner == row])
        for row in rows
        if (owner == row).any()
    }
    return sorted(scores.items(), key=lambda item: (-round(item[1], 9), item[0]))


@st.composite
def problems(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    n_rows, dimension = draw(st.integers(1, 40)), draw(st.integers(1, 6))
    owner = np.array(
        sorted(draw(st.lists(st.integers(0, n_rows - 1), min_size=1, max_size=60)))
    )
    values = st.integers(-2, 2)  # few values: many equal vectors, so many ties
    matrix = draw(
        st.lists(
            st.lists(values, min_size=dimension, max_size=dimension),
            min_size=len(owner),
            max_size=len(owner),
        )
    )
    query = draw(st.lists(values, min_size=dimension, max_size=dimension))
    return np.array(matrix, dtype=float), owner, np.array(query, dtype=float), n_rows


@settings(deadline=None)
@given(problems(), st.integers(1, 50), st.data())
def test_equals_the_reference_everywhere(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray, int], n: int, data: st.DataObject
) -> None:
    matrix, owner, query, n_rows = problem
    index = DenseIndex.from_vectors(matrix, owner, n_rows=n_rows)
    start = data.draw(st.integers(0, n_rows))
    stop = data.draw(st.integers(start, n_rows))
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=n_rows, max_size=n_rows))
    )
    for where, rows in (
        (None, list(range(n_rows))),
        (slice(start, stop), list(range(start, stop))),
        (mask, np.flatnonzero(mask).tolist()),
    ):
        expected = reference(matrix, owner, query, rows)[:n]
        found = index.search(query, n, where)
        assert [row for row, _ in found] == [row for row, _ in expected]
        assert [score for _, score in found] == pytest.approx(
            [score for _, score in expected], abs=1e-9
        )


def random_vectors(n: int, dimension: int, seed: int = 0) -> np.ndarray:
    return (
        np.random.default_rng(seed).standard_normal((n, dimension)).astype(np.float32)
    )


def test_a_part_scores_as_the_whole() -> None:
    matrix = random_vectors(3000, 48)
    index = DenseIndex.from_vectors(matrix)
    query = random_vectors(1, 48, seed=1)[0]
    whole = dict(index.search(query, 3000))
    assert all(
        whole[row] == score for row, score in index.search(query, 10, slice(1234, 1300))
    )
    assert index.search(query, 7) == index.search(query, 3000)[:7]


@given(
    st.lists(st.integers(0, 8), min_size=1, max_size=5), st.integers(1, 12), st.data()
)
def test_parts_with_deleted_rows_rank_as_one_index_of_the_rest(
    sizes: list[int], n: int, data: st.DataObject
) -> None:
    total = sum(sizes)
    alive = np.array(
        data.draw(st.lists(st.booleans(), min_size=total, max_size=total)), bool
    )
    # Segments may lie between each other.
    order = data.draw(st.permutations(range(total)))
    matrix = unit_vectors(random_vectors(max(total, 1), 4))[:total]
    parts, places, first = [], {}, 0
    for size in sizes:
        rows = sorted(order[first : first + size])
        live = [row for row in rows if alive[row]]
        places.update({row: int(alive[:row].sum()) for row in live})
        positions = np.array([places.get(row, -1) for row in rows], dtype=np.int64)
        table = VectorTable(
            Column(matrix[rows]), Column(np.arange(size, dtype=np.int32))
        )
        parts.append(VectorPart(table, RowMap(size, 0, positions)))
        first += size
    with patch.object(dense, "_SMALL", data.draw(st.sampled_from([0, 4, 256]))):
        index = DenseIndex(parts)
    fresh = DenseIndex.from_vectors(matrix[alive])
    query = [1.0, 2.0, -1.0, 0.5]
    assert index.search(query, n) == fresh.search(query, n)
    mask = np.arange(alive.sum()) % 3 != 0
    assert index.search(query, n, mask) == fresh.search(query, n, mask)
    run = slice(1, max(1, int(alive.sum()) - 1))
    assert index.search(query, n, run) == fresh.search(query, n, run)


def test_an_empty_index_finds_nothing() -> None:
    index = DenseIndex.from_vectors(np.empty((0, 0)), n_rows=3)
    assert len(index) == 0
    assert index.search([1.0, 2.0], 5) == []
    full = DenseIndex.from_vectors([[1.0, 2.0]])
    assert full.search([1.0, 2.0], 0) == full.search([1.0, 2.0], 5, slice(1, 1)) == []
    assert full.search([1.0, 2.0], 5, np.array([False])) == []


@pytest.mark.parametrize(
    ("matrix", "sentence"),
    [
        ([[1.0, float("nan")]], "contain NaN or infinity, first at position 0"),
        (
            [[1.0, 2.0], [float("inf"), 0.0]],
            "contain NaN or infinity, first at position 1",
        ),
        ([1.0, 2.0], r"must be a matrix of shape \(texts, dimensions\); got \(2,\)"),
        ([[1.0, 2.0], [1.0]], "must be numbers, rows of equal length"),
        ([["a", "b"]], "must be numbers"),
        ([[1 + 2j]], "must be numbers"),
        ([[None, 1.0]], "must be numbers"),
    ],
)
def test_unusable_vectors(matrix: object, sentence: str) -> None:
    with pytest.raises(InvalidAnswer, match=f"The vectors of view 'raw'.*{sentence}"):
        unit_vectors(matrix, view="raw")  # type: ignore[arg-type]


@examples
def test_bad_owners(owner: list[float], sentence: str) -> None:
    with pytest.raises(InvalidAnswer, match=sentence):
        check_owner(owner, 2, 3)


@examples
def test_a_query_of_another_shape(query: object) -> None:
    index = DenseIndex.from_vectors([[1.0, 2.0]])
    with pytest.raises(
        InvalidAnswer, match=r"query vector .* must have shape \(2,\).*Use the embedder"
    ):
        index.search(query, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@examples
def test_groups_score_as_their_best_vectors(
    dtype: str, groups: list[int], scores: list[float]
) -> None:
    matrix = [[1, 0], [0, -1], [0, 1], [-1, 0], [0, -1], [0, -2], [6, 8], [-1, -1]]
    owner = np.array([0, 1, 1, 1, 2, 2, 5, 5], dtype=np.int32)
    table = VectorTable(Column(unit_vectors(matrix, dtype=dtype)), Column(owner))
    query = np.array([0.6, 0.8], dtype=np.float32)
    expected = pytest.approx(scores, abs=1e-3)
    assert table.near(query, np.array(groups)).tolist() == expected
    assert table.exact(query, np.array(groups)).tolist() == expected


def test_few_of_many_groups_score_as_all_do() -> None:
    matrix = random_vectors(700, 8)
    table = VectorTable(
        Column(unit_vectors(matrix)), Column((np.arange(700) // 2).astype(np.int32))
    )
    query = unit_vectors(random_vectors(1, 8, seed=1))[0]
    exact = table.exact(query, np.arange(350))
    near = table.near(query, np.arange(350))
    assert near.tolist() == pytest.approx(exact.tolist(), abs=1e-6)
    for groups in ([3, 349], [0, 100, 200], list(range(40, 330, 3)), [349]):
        of_few = table.exact(query, np.array(groups))
        assert of_few.tolist() == exact[groups].tolist()
        near = table.near(query, np.array(groups))
        assert near.tolist() == pytest.approx(of_few.tolist(), abs=1e-6)


def test_an_index_without_vectors_takes_one_vector_of_any_length() -> None:
    nothing = DenseIndex([], view="raw")
    assert nothing.dimension == 0 and nothing.search([1.0, 2.0, 3.0], 5) == []
    with pytest.raises(InvalidAnswer, match=r"index of view 'raw' must .* \(1, 2\)"):
        nothing.search([[1.0, 2.0]], 5)
