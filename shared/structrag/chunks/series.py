"""A number for every sentence, a threshold, and the runs it cuts. Pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.chunks.bounds import Run
from structrag.chunks.units import Unit
from structrag.models.centrality import FloatArray, central, similarity, unit_vectors

__all__ = [
    "EPSILON",
    "FloatArray",
    "Series",
    "central",
    "changes",
    "labels",
    "median_of_three",
    "similarity",
    "similarity_to_own",
    "unit_vectors",
]
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
