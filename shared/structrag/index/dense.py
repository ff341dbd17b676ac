"""Exact cosine similarity over rows that have one or several vectors. A float32 product finds the
candidates; the best of them are scored again in float64. So equal vectors get equal scores and the
order does not hang on how a BLAS library sums, or on which part of the matrix was searched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag._locks import cached_property
from structrag.errors import InvalidAnswer, check_choice
from structrag.index.blocks import Column
from structrag.index.ranking import (
    FloatArray,
    RowMap,
    concatenated,
    joined,
    nth_best,
    ranking,
)

DTYPES = ("float32", "float16")
# Vectors converted at a time; few, so that copies stay in the processor's cache.
_BLOCK = 192
_SMALL = 256  # vectors; parts of at most so many are searched as one
_SPARSE = 16  # a mask that keeps less than one row in this many is searched row by row


def unit_vectors(
    matrix: ArrayLike, *, dtype: str = "float32", view: str = ""
) -> NDArray[Any]:
    """The rows of a matrix divided by their lengths.

    Shape (m, d) in and out, as `dtype`; zero rows stay zero.

    Raises InvalidAnswer for another shape, for values that are not numbers and for NaN or infinity.
    """
    try:
        values = np.asarray(matrix)
        if values.dtype.kind != "f":
            # "same_kind" refuses strings and objects instead of guessing their values.
            values = values.astype(np.float64, casting="same_kind")
    except (TypeError, ValueError):
        raise InvalidAnswer(
            f"The vectors{_of(view)} must be numbers, rows of equal length, one per text; check "
            "the embedder."
        ) from None
    if values.ndim != 2:
        raise InvalidAnswer(
            f"The vectors{_of(view)} must be a matrix of shape (texts, dimensions); got "
            f"{values.shape}."
        )
    unit = np.empty(values.shape, dtype=dtype)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK].astype(np.float64)
        peak = np.abs(block).max(axis=1, keepdims=True, initial=0.0)
        if not np.isfinite(peak).all():
            row = start + int(np.flatnonzero(~np.isfinite(peak[:, 0]))[0])
            raise InvalidAnswer(
                f"The vectors{_of(view)} contain NaN or infinity, first at position {row} "
                "(counted from 0); check the embedder on that text."
            )
        block /= np.where(peak > 0, peak, 1.0)
        length = np.sqrt(np.einsum("ij,ij->i", block, block))[:, None]
        unit[start : start + _BLOCK] = block / np.where(length > 0, length, 1.0)
    return unit


def check_owner(
    owner: ArrayLike, n_vectors: int, n_rows: int, *, view: str = ""
) -> NDArray[np.int32]:
    """The row that each vector belongs to, checked. Shape (n_vectors,), int32, ascending, from 0 to
    n_rows - 1. Raises InvalidAnswer otherwise."""
    rows = np.asarray(owner)
    if rows.size == 0:
        rows = rows.astype(np.int32)
    if rows.shape != (n_vectors,) or rows.dtype.kind not in "iu":
        raise InvalidAnswer(
            f"The vectors{_of(view)} must have one owner each, a whole number: {n_vectors} "
            f"expected, got {rows.shape} of type {rows.dtype}."
        )
    if not n_vectors:
        return rows.astype(np.int32)
    ascends = (np.diff(rows.astype(np.int64)) >= 0).all()
    if rows[0] < 0 or rows[-1] >= n_rows or not ascends:
        raise InvalidAnswer(
            f"The owners of the vectors{_of(view)} must ascend from 0 to {n_rows - 1} at most; "
            f"got values from {rows.min()} to {rows.max()}. Embed one list of texts in order and "
            "pass the answers in that order."
        )
    return rows.astype(np.int32)


def unit_query(vector: ArrayLike, width: int, *, view: str = "") -> NDArray[np.float32]:
    """A query vector divided by its length. Raises InvalidAnswer unless it has `width` finite
    numbers, or any number for width 0."""
    query = np.asarray(vector)
    if query.ndim != 1 or (width and query.shape != (width,)):
        raise InvalidAnswer(
            f"The query vector for the index{_of(view)} must have shape ({width},); got "
            f"{query.shape}. Use the embedder that the index was built with."
        )
    unit: NDArray[np.float32] = unit_vectors(query[None, :], view=view)[0]
    return unit


def check_width(view: str, width: int, expected: int, document: str) -> None:
    """Raise InvalidAnswer unless a document's vectors are as wide as those of its view."""
    if width != expected:
        raise InvalidAnswer(
            f"The vectors of view {view!r} must have {expected} dimensions, as in the store; "
            f"document {document!r} has {width}. Use the embedder that the store was built "
            "with, or build a new store."
        )


def _of(view: str) -> str:
    return f" of view {view!r}" if view else ""


class VectorTable:
    """The unit vectors of one view of one segment, never changed.

    `matrix` (m, d) holds what `unit_vectors` gives. `owner` (m,) says which row each vector belongs
    to, ascending. The vectors of one row are a group, in the order of rows.
    """

    def __init__(self, matrix: Column, owner: Column) -> None:
        self.matrix = matrix
        self.owner = owner

    def __len__(self) -> int:
        """The number of vectors."""
        return len(self.matrix)

    @property
    def dimension(self) -> int:
        """The length of each vector; 0 where there are none."""
        return int(self.matrix.values.shape[1])

    @cached_property
    def _groups(self) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        owner = self.owner.all()
        changes = np.flatnonzero(np.diff(owner)) + 1
        starts = np.concatenate([np.zeros(min(1, len(owner)), dtype=np.int64), changes])
        return owner[starts], np.append(starts, len(owner))

    @property
    def rows(self) -> NDArray[np.int32]:
        """The row of each group, ascending: the rows that have vectors."""
        return self._groups[0]

    @property
    def bounds(self) -> NDArray[np.int64]:
        """The start of each group's vectors, and the end of the last group."""
        return self._groups[1]

    def of_rows(self, rows: range) -> tuple[NDArray[Any], NDArray[np.int32]]:
        """The vectors of some rows, and which of these each belongs to."""
        owner = self.owner.all()
        first, last = np.searchsorted(owner, (rows.start, rows.stop)).tolist()
        return self.matrix.part(first, last), owner[first:last] - rows.start

    @cached_property
    def _all_groups(self) -> NDArray[np.int64]:
        return np.arange(len(self.rows))

    def groups(self, where: slice | NDArray[np.bool_] | None) -> NDArray[np.int64]:
        """The groups of the rows to search, ascending."""
        if isinstance(where, np.ndarray):
            return np.flatnonzero(where[self.rows])
        if where is None:
            return self._all_groups
        first, last = np.searchsorted(self.rows, (where.start, where.stop))
        return self._all_groups[first:last]

    def near(
        self, query: NDArray[np.float32], groups: NDArray[np.int64]
    ) -> NDArray[Any]:
        """The scores of groups by float32 products; exact where groups are few. At least one group
        is asked for."""
        # A product over the whole span would be wasted on a mask that keeps few of its rows.
        if len(groups) * _SPARSE <= groups[-1] - groups[0] + 1:
            return self.exact(query, groups)
        first, last = int(groups[0]), int(groups[-1]) + 1
        bounds = self.bounds[first : last + 1]
        near = self._product(query, int(bounds[0]), int(bounds[-1]))
        if len(near) > last - first:
            near = np.maximum.reduceat(near, bounds[:-1] - bounds[0])
        return near[groups - first] if len(groups) < last - first else near

    def _product(
        self, query: NDArray[np.float32], start: int, stop: int
    ) -> NDArray[np.float32]:
        matrix = self.matrix.part(start, stop)
        if matrix.dtype != np.float16:
            product: NDArray[np.float32] = matrix @ query
            return product
        product = np.empty(len(matrix), dtype=np.float32)
        wide = np.empty((min(len(matrix), _BLOCK), self.dimension), dtype=np.int32)
        for at in range(0, len(matrix), _BLOCK):
            block = matrix[at : at + _BLOCK]
            product[at : at + _BLOCK] = _widen(block, wide[: len(block)]) @ query
        return product

    def exact(
        self, query: NDArray[np.float32], groups: NDArray[np.int64]
    ) -> FloatArray:
        """The scores of groups in float64, each independent of the others."""
        wide_query = query.astype(np.float64)
        starts, stops = self.bounds[groups], self.bounds[groups + 1]
        counts = stops - starts
        # The position of each group's first vector among those scored.
        firsts = np.cumsum(counts) - counts
        source = self.matrix.part(int(starts[0]), int(stops[-1]))
        # Groups that follow each other are read as one run, others vector by vector.
        positions = None
        if len(groups) < groups[-1] - groups[0] + 1:
            positions = np.repeat(starts - starts[0] - firsts, counts)
            positions += np.arange(len(positions))
        scores = np.empty(int(counts.sum()))
        for at in range(0, len(scores), _BLOCK):
            run = slice(at, at + _BLOCK)
            block = (
                source[run]
                if positions is None
                else source.take(positions[run], axis=0)
            )
            scores[run] = np.einsum("ij,j->i", block.astype(np.float64), wide_query)
        if len(scores) > len(groups):
            scores = np.maximum.reduceat(scores, firsts)
        return scores


@dataclass(frozen=True, slots=True)
class VectorPart:
    """The vectors of one segment, and where its rows stand among all."""

    table: VectorTable
    place: RowMap


class DenseIndex:
    """Exact cosine search over unit vectors.

    Example:
        >>> index = DenseIndex.from_vectors([[3.0, 0.0], [1.0, 1.0], [0.0, 2.0]])
        >>> [(row, round(score, 2)) for row, score in index.search([1.0, 0.0], 2)]
        [(0, 1.0), (1, 0.71)]

    The vectors lie in one or more parts of one dimension. A row's score is the best of its vectors;
    a row without a vector is not found. Scores lie in [-1, 1], up to the rounding of the dtype. A
    zero vector, in the index or as query, scores 0.
    """

    def __init__(self, parts: Sequence[VectorPart], *, view: str = "") -> None:
        self.parts: list[VectorPart] = _small_joined(
            [part for part in parts if len(part.table)]
        )
        self.view = view

    @classmethod
    def from_vectors(
        cls,
        matrix: ArrayLike,
        owner: ArrayLike | None = None,
        *,
        n_rows: int | None = None,
        dtype: str = "float32",
        view: str = "",
    ) -> DenseIndex:
        """Normalise, check and index; without `owner` vector i belongs to row i."""
        unit = unit_vectors(
            matrix, dtype=check_choice("dtype", dtype, DTYPES), view=view
        )
        rows = np.arange(len(unit)) if owner is None else owner
        n_rows = len(unit) if n_rows is None else n_rows
        owners = check_owner(rows, len(unit), n_rows, view=view)
        table = VectorTable(Column(unit), Column(owners))
        return cls([VectorPart(table, RowMap(n_rows))], view=view)

    def __len__(self) -> int:
        """The number of vectors, those of deleted rows among them."""
        return sum(len(part.table) for part in self.parts)

    @property
    def dimension(self) -> int:
        """The length of each vector; 0 where there are none."""
        return self.parts[0].table.dimension if self.parts else 0

    def search(
        self, vector: ArrayLike, n: int, where: slice | NDArray[np.bool_] | None = None
    ) -> list[tuple[int, float]]:
        """The best rows and their scores.

        At most `n` (row, score) pairs within the rows of `where`, best first, equal scores (to nine
        decimals) by row. Raises InvalidAnswer for a query vector of another dimension or with NaN
        or infinity.
        """
        query = unit_query(vector, self.dimension, view=self.view)
        searched = []  # the parts with rows to search, and their groups
        for part in self.parts:
            groups = part.table.groups(part.place.local(where))
            if len(groups):
                searched.append((part, groups))
        if n <= 0 or not searched:
            return []
        if n < sum(len(groups) for _, groups in searched):
            searched = self._candidates(query, searched, n)
        positions, scores = [], []
        for part, groups in searched:
            positions.append(part.place.positions_of(part.table.rows[groups]))
            scores.append(part.table.exact(query, groups))
        return ranking(
            concatenated(positions, np.int64), concatenated(scores, np.float64), n
        )

    def _candidates(
        self,
        query: NDArray[np.float32],
        searched: Sequence[tuple[VectorPart, NDArray[np.int64]]],
        n: int,
    ) -> list[tuple[VectorPart, NDArray[np.int64]]]:
        """The groups that may be among the best, by float32 products."""
        near = [part.table.near(query, groups) for part, groups in searched]
        limit = nth_best(near[0] if len(near) == 1 else np.concatenate(near), n)
        # Twice the error bound of a float32 product of two unit vectors.
        lowest = limit - self.dimension * 2.0**-23
        candidates = []
        for (part, groups), scores in zip(searched, near, strict=True):
            hopeful = groups[np.flatnonzero(scores >= lowest)]
            if len(hopeful):
                candidates.append((part, hopeful))
        return candidates


def _small_joined(parts: Sequence[VectorPart]) -> list[VectorPart]:
    """The parts, those of few vectors copied into one behind the others. A part costs every search
    some steps of Python, whatever its size."""
    large = [part for part in parts if len(part.table) > _SMALL]
    small = [part for part in parts if len(part.table) <= _SMALL]
    if len(small) < 2:
        return list(parts)
    owners, n_rows = [], 0
    for part in small:
        owners.append(part.table.owner.all() + np.int32(n_rows))
        n_rows += part.place.n_rows
    matrix = np.concatenate([part.table.matrix.all() for part in small])
    table = VectorTable(Column(matrix), Column(np.concatenate(owners)))
    return [*large, VectorPart(table, joined([part.place for part in small]))]


def _widen(block: NDArray[np.float16], out: NDArray[np.int32]) -> NDArray[np.float32]:
    """Finite float16 values as float32, exactly, in `out`.

    Several times faster than NumPy's own conversion. Shifting moves sign, exponent and fraction to
    their float32 places; 2 ** 112 makes up for the exponents' bias.
    """
    out[...] = block.view(np.int16)
    np.left_shift(out, 13, out=out)
    np.bitwise_and(out, np.int32(-0x70002000), out=out)
    wide = out.view(np.float32)
    np.multiply(wide, np.float32(2.0**112), out=wide)
    return wide
