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
from structrag.text.arrays import FloatArray
from structrag.text.vectors import similarity, unit_vectors

BoolArray = NDArray[np.bool_]
RunMean = Callable[[Run], float]
EPSILON = 1e-9  # the mean of n equal numbers is often one rounding step above them


@dataclass(frozen=True, slots=True)
class Series:
    """What a splitter saw in one scope, and where it cut.

    A scope is a document or a section. `values` has one number a unit (PIC: similarity to the
    pseudo-instruction) or one a gap in front of a unit, the first being NaN (IDMS: margin).
    `thresholds` has what each was compared with. A scope that is too short to compare has neither.
    """

    units: tuple[Unit, ...]
    values: tuple[float, ...]
    thresholds: tuple[float, ...]
    runs: tuple[Run, ...]  # of units; each run is a chunk
    note: str = ""  # what was used, such as the pseudo-instruction


def similarity_to_own(sentences: ArrayLike, picked: Sequence[int]) -> FloatArray:
    """Cosine of each sentence with the mean of the picked ones.

    A picked one is compared with the mean of the *other* picked ones, so that a sentence in the
    summary does not match itself. A single picked sentence gets the mean of the others' values, and
    1 if it is the only sentence. Nothing picked gives zeros.
    """
    vectors = unit_vectors(sentences)
    if not len(picked):
        return np.zeros(len(vectors))
    total = vectors[list(picked)].sum(axis=0)
    values = similarity(vectors, total[None, :])
    if len(picked) == 1:
        others = np.delete(values, picked[0])
        values[picked[0]] = float(others.mean()) if len(others) else 1.0
        return values
    for i in picked:
        values[i] = similarity(vectors[i][None, :], (total - vectors[i])[None, :])[0]
    return values


def check_threshold(threshold: object, spread: object) -> None:
    """Raise InvalidParameter unless they are what `threshold_of` takes."""
    is_number = _is_number(threshold)
    # NaN, which is not equal to itself, is no threshold.
    if threshold not in ("mean", "median") and not (
        is_number and threshold == threshold
    ):
        raise InvalidParameter(
            f"threshold must be 'mean', 'median' or a number; got {threshold!r}."
        )
    if not _is_number(spread) or not np.isfinite(spread):
        raise InvalidParameter(f"threshold_sd must be a finite number; got {spread!r}.")
    if is_number and spread:
        raise InvalidParameter(
            f"threshold_sd must be 0 when threshold is a number; got {spread!r} and {threshold!r}."
        )


def threshold_of(
    values: FloatArray, threshold: str | float, spread: float = 0.0
) -> float:
    """The number that values are compared with. It is `threshold` itself, or the "mean" or "median"
    of the values plus `spread` times their population standard deviation."""
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
    high = series >= threshold + margin - EPSILON
    low = series < threshold - margin - EPSILON
    for i in range(1, len(series)):
        # Between the two the label stays what it was.
        above[i] = high[i] or (above[i - 1] and not low[i])
    return above


def weighted_mean(values: ArrayLike, weights: Sequence[int]) -> RunMean:
    """A function from a run to its weighted mean, in constant time.

    A weight below 1 counts as 1.
    """
    positive = np.maximum(1, np.asarray(weights, dtype=np.float64))
    weighted = np.asarray(values, dtype=np.float64) * positive
    totals = np.concatenate(([0.0], np.cumsum(positive)))
    sums = np.concatenate(([0.0], np.cumsum(weighted)))

    def mean(run: Run) -> float:
        first, last = run
        return float((sums[last] - sums[first]) / (totals[last] - totals[first]))

    return mean


def changes(flags: BoolArray) -> list[int]:
    """The positions whose flag differs from the one before."""
    return [int(i) + 1 for i in np.flatnonzero(flags[1:] != flags[:-1])]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
