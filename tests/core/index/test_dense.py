"""Exact cosine search, against a plain float64 computation."""

from __future__ import annotations

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidAnswer
from structrag.index.dense import (
    DenseIndex,
    unit_vectors,
)


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
def test_a_query_of_another_shape(query: object) -> None:
    index = DenseIndex.from_vectors([[1.0, 2.0]])
    with pytest.raises(
        InvalidAnswer, match=r"query vector .* must have shape \(2,\).*Use the embedder"
    ):
        index.search(query, 1)  # type: ignore[arg-type]
