"""Token vectors as they are kept: rotated, a byte a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from structrag.asking.requests import Array

Number = TypeVar("Number", np.float32, np.float64)
_LEVELS = 127
_FITTED_ON = 50_000  # token vectors at most
_TILE = 1024  # vectors multiplied at once


@dataclass(frozen=True, slots=True)
class Quantised:
    """Unit vectors, each a row of bytes times its scale.

    Example:
        >>> rotation = fit_rotation(np.eye(2, dtype=np.float32))
        >>> kept = quantise(np.array([[3.0, 4.0]], dtype=np.float32), rotation)
        >>> (kept.rows.astype(float) * kept.scales[:, None] @ rotation.T).round(2).tolist()
        [[0.6, 0.8]]
    """

    rows: NDArray[np.int8]  # (n, d)
    scales: NDArray[np.float32]  # (n,)


def fit_rotation(vectors: Array, dimensions: int | None = None) -> Array:
    """The principal axes of vectors as columns, the strongest first.

    The shape is (d, dimensions). None: all d, so that products of rotated vectors are the products
    of the vectors. The vectors are not centred; at most 50,000 of them are looked at, at even
    distances.
    """
    step = max(1, -(-len(vectors) // _FITTED_ON))
    sample = unit_rows(vectors[::step].astype(np.float32, copy=False))
    _, axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    # the sign of an axis is of no matter; that of its largest number is made positive
    strongest = np.abs(axes).argmax(axis=0)
    axes = axes * np.where(axes[strongest, np.arange(len(axes))] < 0, -1.0, 1.0)
    return np.ascontiguousarray(axes[:, ::-1][:, :dimensions], dtype=np.float32)


def quantise(vectors: Array, rotation: Array) -> Quantised:
    """The vectors at length 1, rotated and rounded; rows of zeros stay."""
    rows = np.empty((len(vectors), rotation.shape[1]), dtype=np.int8)
    scales = np.empty(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _TILE):
        tile = slice(start, start + _TILE)
        turned = unit_rows(vectors[tile]) @ rotation
        largest = np.maximum(turned.max(axis=1, initial=0.0), -turned.min(axis=1, initial=0.0))
        scales[tile] = largest / _LEVELS
        divisors = np.where(largest > 0, largest / _LEVELS, 1.0)
        turned /= divisors[:, None]
        np.rint(turned, out=turned)
        rows[tile] = turned
    return Quantised(rows, scales)


def products(parts: Sequence[Quantised], queries: Array) -> Array:
    """Products of kept vectors with rotated queries.

    Vectors come in the order of parts. `queries` (k, d) gives (n, k), float32.
    """
    n = sum(len(part.rows) for part in parts)
    columns = np.ascontiguousarray(queries.T, dtype=np.float32)
    result: Array = np.empty((n, len(queries)), dtype=np.float32)
    # So many rows, widened, stay in the processor's cache until they are multiplied.
    widened = np.empty((min(_TILE, n), columns.shape[0]), dtype=np.float32)
    first = filled = 0
    for rows in (part.rows for part in parts):
        start = 0
        while start < len(rows):
            count = min(_TILE - filled, len(rows) - start)
            widened[filled : filled + count] = rows[start : start + count]
            start, filled = start + count, filled + count
            if filled == _TILE:
                np.matmul(widened, columns, out=result[first : first + filled])
                first, filled = first + filled, 0
    if filled:
        np.matmul(widened[:filled], columns, out=result[first:])
    result *= np.concatenate([part.scales for part in parts])[:, None]
    return result


def unit_rows(vectors: NDArray[Number]) -> NDArray[Number]:
    """The rows at length 1; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    units: NDArray[Number] = np.divide(
        vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0
    )
    return units
