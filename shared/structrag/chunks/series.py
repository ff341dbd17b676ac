"""A number for every sentence, a threshold, and the runs it cuts. Pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.chunks.bounds import Run
from structrag.chunks.units import Unit

FloatArray = NDArray[np.float64]
EPSILON = 1e-9  # the mean of n equal numbers is often one rounding step above them


@dataclass(frozen=True, slots=True)
class Series:
    """What a splitter saw in one scope, a document or a section, and where it cut.

    `values` has one number a unit (PIC: similarity to the pseudo-instruction) or one a gap in front of a unit, the first being NaN
    (IDMS: margin). `thresholds` has what each was compared with. A scope too short to be looked at has neither.
    """

    units: tuple[Unit, ...]
    values: tuple[float, ...]
    thresholds: tuple[float, ...]
    runs: tuple[Run, ...]  # of units; each run is a chunk
    note: str = ""  # what was used, such as the pseudo-instruction


def unit_vectors(vectors: ArrayLike) -> FloatArray:
    """Rows scaled to length 1; rows of zeros stay."""
    matrix: FloatArray = np.asarray(vectors, dtype=np.float64)
    norms = np.linalg.norm(matrix, axis=1, keepdims=True)
    scaled: FloatArray = np.divide(matrix, norms, out=np.zeros_like(matrix), where=norms > 0)
    return scaled


def similarity(sentences: ArrayLike, instructions: ArrayLike) -> FloatArray:
    """For each sentence vector the highest cosine with an instruction vector; 0 for a zero vector.

    Shapes (n, d) and (m, d) give (n,); m = 0 gives zeros.
    """
    left, right = unit_vectors(sentences), np.asarray(instructions, dtype=np.float64)
    if not right.size:
        return np.zeros(len(left))
    best: FloatArray = (left @ unit_vectors(right).T).max(axis=1)
    return best


def similarity_to_own(sentences: ArrayLike, picked: Sequence[int]) -> FloatArray:
    """Cosine of each sentence with the mean of the picked ones; for a picked one, with the mean of the *other* picked ones.

    So that a sentence that is in the summary does not match itself. A single picked sentence gets the mean of the others' values.
    """
    vectors = unit_vectors(sentences)
    if not len(picked):
        return np.zeros(len(vectors))
    total = vectors[list(picked)].sum(axis=0)
    values = similarity(vectors, total[None, :])
    for i in picked:
        values[i] = (
            float(similarity(vectors[i][None, :], (total - vectors[i])[None, :])[0]) if len(picked) > 1 else np.nan
        )
    if len(picked) == 1:
        others = np.delete(values, picked[0])
        values[picked[0]] = float(others.mean()) if len(others) else 1.0
    return values


def central(
    sentences: ArrayLike, lengths: Sequence[int], *, max_sentences: int = 10, max_words: int = 200
) -> list[int]:
    """The sentences that make an extractive summary, ascending: near the centroid, unlike each other (MMR 0.7 to 0.3).

    The first sentence is worth 0.1 more. At least one; more while `lengths` (words) stay within `max_words`.
    """
    vectors = unit_vectors(sentences)
    relevance = similarity(vectors, vectors.mean(axis=0)[None, :])
    relevance[0] += 0.1
    closest = np.zeros(len(vectors))
    free = np.ones(len(vectors), dtype=bool)
    picked: list[int] = []
    words = 0
    while len(picked) < max_sentences and free.any():
        best = int(np.argmax(np.where(free, np.round(0.7 * relevance - 0.3 * closest, 9), -np.inf)))
        free[best] = False
        if picked and words + lengths[best] > max_words:
            continue
        picked.append(best)
        words += lengths[best]
        closest = np.maximum(closest, vectors @ vectors[best])
    return sorted(picked)


def median_of_three(values: ArrayLike) -> FloatArray:
    """Each value replaced by the median of itself and its neighbours; both ends unchanged."""
    smooth = np.array(values, dtype=np.float64)
    if len(smooth) > 2:
        smooth[1:-1] = np.median(np.stack([smooth[:-2], smooth[1:-1], smooth[2:]]), axis=0)
    return smooth


def labels(values: ArrayLike, threshold: float, *, margin: float = 0.0) -> NDArray[np.bool_]:
    """Whether each value is at or above the threshold (within 1e-9).

    With a `margin` the label changes only when a value passes the threshold by it (hysteresis): a run of high values ends below
    `threshold - margin` and the next begins at `threshold + margin`. The first label is that of the threshold itself.
    """
    series = np.asarray(values, dtype=np.float64)
    above = series >= threshold - EPSILON
    if not margin:
        return above
    high, low = series >= threshold + margin - EPSILON, series < threshold - margin - EPSILON
    state = bool(above[0]) if len(series) else False
    for i in range(len(series)):
        state = True if high[i] else False if low[i] else state
        above[i] = state
    return above


def changes(flags: NDArray[np.bool_]) -> list[int]:
    """The positions whose flag differs from the one before."""
    return [int(i) + 1 for i in np.flatnonzero(flags[1:] != flags[:-1])]
