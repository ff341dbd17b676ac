"""Exact cosine search, against a plain float64 computation."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidAnswer, InvalidParameter
from structrag.index import dense
from structrag.index.blocks import Column
from structrag.index.dense import (
    DenseIndex,
    VectorPart,
    VectorTable,
    _widen,
    check_owner,
    unit_vectors,
)
from structrag.index.ranking import RowMap


def kept(index: DenseIndex) -> np.ndarray:
    """The vectors of an index of one part."""
    (part,) = index.parts
    return part.table.matrix.all()


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


def test_equal_vectors_tie_wherever_they_stand() -> None:
    matrix = random_vectors(1000, 67)
    copies = [3, 250, 251, 777, 999]
    matrix[copies] = matrix[3]
    index = DenseIndex.from_vectors(matrix)
    for where in (
        None,
        slice(1, 1000),
        np.arange(1000) % 2 == 1,
        np.isin(np.arange(1000), copies),
    ):
        found = index.search(matrix[3] + 0.1, 20, where)
        rows = [row for row, _ in found if row in copies]
        assert rows == sorted(rows)
        assert len({score for row, score in found if row in copies}) == 1


def test_a_part_scores_as_the_whole() -> None:
    matrix = random_vectors(3000, 48)
    index = DenseIndex.from_vectors(matrix)
    query = random_vectors(1, 48, seed=1)[0]
    whole = dict(index.search(query, 3000))
    assert all(
        whole[row] == score for row, score in index.search(query, 10, slice(1234, 1300))
    )
    assert index.search(query, 7) == index.search(query, 3000)[:7]
    assert index.scores(query, 3000).tolist() == [whole[row] for row in range(3000)]


def test_near_ties_are_ordered_by_exact_scores_not_by_the_float32_product() -> None:
    base = random_vectors(1, 384)
    matrix = base + 1e-4 * random_vectors(
        3000, 384, seed=1
    )  # cosines that differ in the eighth decimal
    query = base[0]
    for dtype in ("float32", "float16"):
        index = DenseIndex.from_vectors(matrix, dtype=dtype)
        target = unit_vectors(query[None, :])[0].astype(np.float64)
        scores = np.einsum("ij,j->i", kept(index).astype(np.float64), target)
        expected = np.lexsort((np.arange(3000), -np.round(scores, 9)))[:10]
        assert [row for row, _ in index.search(query, 10)] == expected.tolist()


def test_length_does_not_matter_and_zero_scores_zero() -> None:
    index = DenseIndex.from_vectors(
        [[3.0, 4.0], [0.0, 0.0], [1e-300, 0.0], [1e300, 1e300]]
    )
    assert index.search([30, 40], 4) == [
        (0, pytest.approx(1.0, abs=1e-6)),
        (3, pytest.approx(1.4 / 2**0.5, abs=1e-6)),
        (2, pytest.approx(0.6, abs=1e-6)),
        (1, 0.0),
    ]
    assert index.search([0, 0], 2) == [(0, 0.0), (1, 0.0)]


def test_a_row_has_the_score_of_its_best_window() -> None:
    index = DenseIndex.from_vectors([[1, 0], [0, 1], [1, 1]], [0, 0, 2], n_rows=4)
    assert index.search([0, 1], 4) == [
        (0, pytest.approx(1.0)),
        (2, pytest.approx(0.5**0.5, abs=1e-6)),
    ]
    assert index.scores([0, 1], 4).tolist() == pytest.approx(
        [1.0, -np.inf, 0.5**0.5, -np.inf], abs=1e-6
    )


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


def test_parts_of_few_vectors_are_searched_as_one_behind_the_large() -> None:
    tables = []
    for size, owner in (
        (300, range(300)),
        (3, [0, 0, 2]),
        (257, range(257)),
        (256, range(256)),
    ):
        matrix = unit_vectors(random_vectors(size, 8, seed=size))
        tables.append(
            VectorTable(Column(matrix), Column(np.array(owner, dtype=np.int32)))
        )
    # The second has a row without a vector and the last one a deleted row between others.
    places = [
        RowMap(300),
        RowMap(4, offset=300),
        RowMap(257, offset=304),
        RowMap(256, positions=np.insert(np.arange(561, 816), 1, -1)),
    ]
    index = DenseIndex([VectorPart(*pair) for pair in zip(tables, places, strict=True)])
    assert [len(part.table) for part in index.parts] == [300, 257, 259]
    vectors = np.concatenate([table.matrix.all() for table in tables])
    owner = [*range(300), 300, 300, 302, *range(304, 561), 561, -1, *range(562, 816)]
    for at in (0, 300, 301, 302, 303, 560, 562, 815):
        assert index.search(vectors[at], 1) == [(owner[at], pytest.approx(1, abs=1e-6))]
    found = [row for row, _ in index.search(vectors[561], 1000)]  # of the deleted row
    assert sorted(found) == sorted(set(owner) - {-1})


def test_float16_is_read_exactly() -> None:
    every = np.arange(65536, dtype=np.uint16).view(np.float16)
    finite = every[np.isfinite(every)].reshape(1, -1)
    wide = _widen(finite, np.empty(finite.shape, dtype=np.int32))
    assert wide.dtype == np.float32
    assert wide.tobytes() == finite.astype(np.float32).tobytes()


def test_float16_ranks_as_its_own_vectors_say() -> None:
    matrix = random_vectors(2000, 32)
    half = DenseIndex.from_vectors(matrix, dtype="float16")
    assert kept(half).dtype == np.float16
    query = random_vectors(1, 32, seed=2)[0]
    target = unit_vectors(query[None, :])[0].astype(np.float64)
    scores = kept(half).astype(np.float64) @ target
    assert [row for row, _ in half.search(query, 50)] == np.argsort(
        -scores, kind="stable"
    )[:50].tolist()
    exact = DenseIndex.from_vectors(matrix).scores(query, 2000)
    assert np.abs(half.scores(query, 2000) - exact).max() < 2e-3


def test_an_empty_index_finds_nothing() -> None:
    index = DenseIndex.from_vectors(np.empty((0, 0)), n_rows=3)
    assert len(index) == 0
    assert index.search([1.0, 2.0], 5) == []
    assert index.scores([1.0, 2.0], 3).tolist() == [-np.inf] * 3
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


def test_a_query_with_nan_and_an_unknown_dtype() -> None:
    with pytest.raises(InvalidAnswer, match="NaN"):
        DenseIndex.from_vectors([[1.0, 2.0]]).search([float("nan"), 0.0], 1)
    with pytest.raises(
        InvalidParameter, match="dtype must be one of 'float16', 'float32'; got 'int8'"
    ):
        DenseIndex.from_vectors([[1.0]], dtype="int8")


def test_the_first_unusable_vector_is_named_wherever_it_stands() -> None:
    matrix = np.ones((500, 2))
    matrix[450, 0], matrix[300, 1] = np.inf, np.nan
    with pytest.raises(InvalidAnswer, match="first at position 300 "):
        unit_vectors(matrix)


def test_whole_numbers_are_vectors_too_and_none_have_a_shape() -> None:
    unit = unit_vectors([[3, 4], [0, 0], [0, -7]])
    assert unit.dtype == np.float32
    assert unit.tolist() == [pytest.approx([0.6, 0.8]), [0, 0], [0, -1]]
    assert unit_vectors(np.empty((0, 5))).shape == (0, 5)
    assert unit_vectors(np.empty((3, 0))).shape == (3, 0)


def test_owners_ascend_from_the_first_row_to_the_last() -> None:
    owner = check_owner(np.array([0, 0, 3], dtype=np.uint8), 3, 4)
    assert owner.tolist() == [0, 0, 3] and owner.dtype == np.int32
    none = check_owner([], 0, 4)
    assert none.shape == (0,) and none.dtype == np.int32
    with pytest.raises(InvalidAnswer, match="to 3 at most; got values from 0 to 4"):
        check_owner([0, 0, 4], 3, 4)
    with pytest.raises(InvalidAnswer, match=r"1 expected, got \(0,\)"):
        check_owner([], 1, 4)
    with pytest.raises(InvalidAnswer, match=r"^The owners of the vectors must"):
        check_owner([1, 0], 2, 4)
    with pytest.raises(InvalidAnswer, match=r"^The owners of the vectors of view 'x'"):
        check_owner([1, 0], 2, 4, view="x")


def test_vectors_of_one_row_are_a_group() -> None:
    table = VectorTable(
        Column(unit_vectors([[1, 0], [0, 1], [1, 1]])),
        Column(np.array([1, 1, 4], dtype=np.int32)),
    )
    assert (len(table), table.dimension) == (3, 2)
    assert table.rows.tolist() == [1, 4] and table.bounds.tolist() == [0, 2, 3]
    assert table.groups(None).tolist() == [0, 1]
    for where, groups in (
        (slice(0, 1), []),
        (slice(0, 2), [0]),
        (slice(1, 4), [0]),
        (slice(2, 4), []),
        (slice(2, 5), [1]),
        (slice(1, 5), [0, 1]),
    ):
        assert table.groups(where).tolist() == groups
        mask = np.zeros(5, dtype=bool)
        mask[where] = True
        assert table.groups(mask).tolist() == groups
    none = VectorTable(
        Column(np.empty((0, 0), dtype=np.float32)), Column(np.empty(0, dtype=np.int32))
    )
    assert none.rows.tolist() == [] and none.bounds.tolist() == [0]
    assert none.groups(None).tolist() == none.groups(slice(0, 9)).tolist() == []


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


def test_all_rows_are_found_where_n_is_their_number_or_more() -> None:
    index = DenseIndex.from_vectors([[1, 0], [0, 1], [1, 1]], [0, 0, 2], n_rows=4)
    for n, rows in ((1, [0]), (2, [0, 2]), (3, [0, 2])):
        assert [row for row, _ in index.search([1, 0], n)] == rows
    assert index.search([1, 0], 1, np.array([False, True, True, True]))[0][0] == 2
    assert len(index) == 3 and index.dimension == 2
