"""Compare vectors of sentences, and choose the sentences that represent all."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from structrag.text.arrays import FloatArray


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


def central(
    sentences: ArrayLike,
    lengths: Sequence[int],
    *,
    max_sentences: int = 10,
    max_words: int = 200,
) -> list[int]:
    """The sentences that make an extractive summary, ascending.

    They are near the centroid and unlike each other (MMR, 0.7 to 0.3). The first sentence is worth
    0.1 more. There is at least one, and more while `lengths` (words) stay within `max_words`. Ties:
    the earlier. No sentence gives none.

    Example:
        >>> central([[1, 0], [1, 0], [1, 1]], [5, 5, 5], max_sentences=2)
        [0, 2]
    """
    vectors = unit_vectors(sentences)
    if not len(vectors):
        return []
    relevance = similarity(vectors, vectors.mean(axis=0)[None, :])
    relevance[0] += 0.1
    closest = np.zeros(len(vectors))
    free = np.ones(len(vectors), dtype=bool)
    picked: list[int] = []
    words = 0
    sizes = np.asarray(lengths)
    while len(picked) < max_sentences and free.any():
        worth = np.round(0.7 * relevance - 0.3 * closest, 9)
        best = int(np.argmax(np.where(free, worth, -np.inf)))
        picked.append(best)
        words += int(sizes[best])
        free[best] = False
        free &= sizes <= max_words - words
        closest = np.maximum(closest, vectors @ vectors[best])
    return sorted(picked)
