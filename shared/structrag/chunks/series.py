"""A number for every sentence, a threshold, and the runs it cuts. Pure functions on arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.chunks.bounds import Run
from structrag.chunks.units import Unit
from structrag.errors import InvalidParameter
from structrag.text.vectors import FloatArray, similarity, unit_vectors

BoolArray = NDArray[np.bool_]
RunMean = Callable[[Run], float]
EPSILON = 1e-9  # the mean of n equal numbers is often one rounding step above them


@dataclass(frozen=True, slots=True)
class Series:
    """What a splitter saw in one scope, a document or a section, and where it cut.

    `values` has one number a unit (PIC: similarity to the pseudo-instruction) or one a gap in front
    of a unit, the first being NaN (IDMS: margin). `thresholds` has what each was compared with. A
    scope too short to be looked at has neither.
    """

    units: tuple[Unit, ...]
    values: tuple[float, ...]
    thresholds: tuple[float, ...]
    runs: tuple[Run, ...]  # of units; each run is a chunk
    note: str = ""  # what was used, such as the pseudo-instruction


def similarity_to_own(sentences: ArrayLike, picked: Sequence[int]) -> FloatArray:
    """Cosine of each sentence with the mean of the picked ones; for a picked one, with the mean of
    the *other* picked ones.

    So that a sentence that is in the summary does not match itself. A single picked sentence gets
    the mean of the others' values.
    """
    vectors = unit_vectors(sentences)
    if not len(picked):
        return np.zeros(len(vectors))
    total = vectors[list(picked)].sum(axis=0)
    values = similarity(vectors, total[None, :])
    for i in picked:
        values[i] = (
            float(similarity(vectors[i][None, :], (total - vectors[i])[None, :])[0])
            if len(picked) > 1
            else np.nan
        )
    if len(picked) == 1:
        others = np.delete(values, picked[0])
        values[picked[0]] = float(others.mean()) if len(others) else 1.0
    return values


def check_threshold(threshold: object, spread: object) -> None:
    """Raise InvalidParameter unless they are what `threshold_of` takes."""
    is_number = _is_number(threshold)
    if threshold not in ("mean", "median") and not (is_number and threshold == threshold):
        raise InvalidParameter(
            f"threshold must be 'mean', 'median' or a number; got {threshold!r}."
        )
    if not _is_number(spread) or not np.isfinite(spread):
        raise InvalidParameter(f"threshold_sd must be a finite number; got {spread!r}.")
    if is_number and spread:
        raise InvalidParameter(
            f"threshold_sd must be 0 where threshold is a number; got {spread!r} and {threshold!r}."
        )


def threshold_of(values: FloatArray, threshold: str | float, spread: float = 0.0) -> float:
    """A number as it is, else the "mean" or "median" of the values plus `spread` times their
    population standard deviation."""
    if not isinstance(threshold, str):
        return float(threshold)
    middle = np.mean(values) if threshold == "mean" else np.median(values)
    return float(middle + spread * values.std())


def labels(values: ArrayLike, threshold: float, *, margin: float = 0.0) -> BoolArray:
    """Whether each value is at or above the threshold (within 1e-9).

    With a `margin` the label changes only when a value passes the threshold by it (hysteresis): a
    run of high values ends below `threshold - margin` and the next begins at `threshold + margin`.
    The first label is that of the threshold itself.
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


def weighted_mean(values: ArrayLike, weights: Sequence[int]) -> RunMean:
    """A function that gives the weighted mean of the values in a run, in constant time; a weight
    below 1 counts as 1."""
    positive = np.maximum(1, np.asarray(weights, dtype=np.float64))
    total = np.concatenate(([0.0], np.cumsum(positive)))
    sums = np.concatenate(([0.0], np.cumsum(np.asarray(values, dtype=np.float64) * positive)))
    return lambda run: float((sums[run[1]] - sums[run[0]]) / (total[run[1]] - total[run[0]]))


def changes(flags: BoolArray) -> list[int]:
    """The positions whose flag differs from the one before."""
    return [int(i) + 1 for i in np.flatnonzero(flags[1:] != flags[:-1])]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
