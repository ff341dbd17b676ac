"""Short names of arrays, and computations on arrays and vectors that several rooms need."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

BoolArray = NDArray[np.bool_]
IntArray = NDArray[np.int64]
Int32Array = NDArray[np.int32]
FloatArray = NDArray[np.float64]
Array = NDArray[np.float32]  # vectors


def running_totals(sizes: ArrayLike) -> IntArray:
    """The totals before each size and behind the last: one more than there are sizes."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def evenly(values: NDArray[Any], n: int) -> NDArray[Any]:
    """At most `n` of some values, at even distances."""
    places = np.linspace(0, len(values) - 1, min(n, len(values)))
    chosen: NDArray[Any] = values[places.round().astype(np.int64)]
    return chosen


def text_bytes(text: str) -> NDArray[np.uint8]:
    """A text as an array to keep in a file."""
    return np.frombuffer(text.encode("utf-8", "surrogatepass"), dtype=np.uint8)


def bytes_text(content: NDArray[Any]) -> str:
    """The text of `text_bytes`."""
    return content.tobytes().decode("utf-8", "surrogatepass")


def unit_vectors(vectors: ArrayLike) -> FloatArray:
    """Rows scaled to length 1; rows of zeros stay."""
    matrix: FloatArray = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    scaled: FloatArray = np.divide(
        matrix, norms, out=np.zeros_like(matrix), where=norms > 0
    )
    return scaled


def similarity(sentences: ArrayLike, instructions: ArrayLike) -> FloatArray:
    """Return the highest cosine of each sentence vector with an instruction vector: 0 for a zero
    vector, and for m = 0. Shapes (n, d) and (m, d) give (n,)."""
    left, right = unit_vectors(sentences), np.asarray(instructions, dtype=np.float64)
    if not right.size:
        return np.zeros(len(left))
    best: FloatArray = (left @ unit_vectors(right).T).max(axis=1)
    return best
