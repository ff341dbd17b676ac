"""Runs of units: cut where a number for each unit passes a threshold, and kept within size limits.
Pure functions on numbers.

A segmentation of n units is a list of (first, after last) runs that tile range(n). Sizes are
tokens, one number a unit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise
from typing import TypeGuard

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.errors import InvalidParameter, check_at_least
from structrag.text.arrays import FloatArray, similarity, unit_vectors

Run = tuple[int, int]  # first unit, behind the last


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """The minimum and maximum tokens of a segment.

    `most` is kept where units allow, `least` where neighbours do.

    Raises:
        InvalidParameter: unless 0 <= least <= most and most >= 1.
    """

    least: int = 0
    most: int | None = None

    def __post_init__(self) -> None:
        check_at_least("min_tokens", self.least, 0)
        if self.most is None:
            return
        check_at_least("max_tokens", self.most, 1)
        if self.least > self.most:
            raise InvalidParameter(
                f"min_tokens must be at most max_tokens; got {self.least} and {self.most}."
            )


def runs_of(cuts: Sequence[int], n: int) -> list[Run]:
    """Return the runs between cuts. A cut at i is before unit i. n = 0 gives none."""
    return [(first, last) for first, last in pairwise([0, *cuts, n]) if first < last]


def join_small(
    runs: Sequence[Run],
    sizes: Sequence[int],
    limits: SizeLimits,
    closeness: Callable[[Run, Run], float],
) -> list[Run]:
    """Join runs below `least` with a neighbour where both fit `most`.

    The smallest is joined first (the first on ties). `closeness(left, right)` says how well two
    neighbours go together. The closer of a run's two neighbours is taken, the previous on ties. A
    run that no neighbour can take stays. No cut is added, and applying it again changes nothing.
    O(k log k) for k runs.
    """
    total = _totals(sizes)
    ends = dict(runs)  # of each run: first unit -> behind the last
    # First unit of a run -> that of the run before.
    previous = {right: left for (left, _), (right, _) in pairwise(runs)}
    smallest = [(total(run), run[0]) for run in runs if total(run) < limits.least]
    heapify(smallest)
    while smallest:
        size, first = heappop(smallest)
        if first not in ends or total((first, ends[first])) != size:
            continue  # it has been joined since it was put there
        run = (first, ends[first])
        pairs = _fitting_pairs(run, ends, previous, total, limits.most)
        if not pairs:
            continue
        left, right = max(
            pairs, key=lambda pair: (round(closeness(*pair), 9), -pair[0][0])
        )
        ends[left[0]] = right[1]
        del ends[right[0]], previous[right[0]]
        if right[1] in previous:
            previous[right[1]] = left[0]
        joined = total((left[0], right[1]))
        if joined < limits.least:
            heappush(smallest, (joined, left[0]))
    return sorted(ends.items())


def _fitting_pairs(
    run: Run,
    ends: Mapping[int, int],
    previous: Mapping[int, int],
    total: Callable[[Run], int],
    most: int | None,
) -> list[tuple[Run, Run]]:
    """A run with each of its neighbours, where they fit `most` together."""
    first, last = run
    pairs = []
    if first in previous:
        pairs.append(((previous[first], first), run))
    if last in ends:
        pairs.append((run, (last, ends[last])))
    if most is None:
        return pairs
    return [
        (left, right) for left, right in pairs if total((left[0], right[1])) <= most
    ]


def split_large(
    runs: Sequence[Run],
    sizes: Sequence[int],
    limits: SizeLimits,
    affinity: Sequence[float],
) -> list[Run]:
    """Split runs above `most` until all fit or are one unit."""
    if limits.most is None:
        return list(runs)
    total = _totals(sizes)
    done: list[Run] = []
    waiting = list(reversed(runs))
    while waiting:
        run = waiting.pop()
        if run[1] - run[0] == 1 or total(run) <= limits.most:
            done.append(run)
        else:
            waiting += reversed(split_once(run, sizes, limits.least, affinity))
    return done


def split_once(
    run: Run, sizes: Sequence[int], least: int, affinity: Sequence[float]
) -> tuple[Run, Run]:
    """Split a run of several units where neighbours go together least.

    `affinity[i]` belongs to the gap in front of unit i. Only places that leave both parts at least
    `least` tokens are taken, closest to the middle on ties. If there is none, it is the place
    closest to the middle.
    """
    first, last = run
    # Tokens in front of each place, and behind it.
    before = np.cumsum(np.asarray(sizes[first : last - 1], dtype=np.float64))
    after = before[-1] + sizes[last - 1] - before
    off_centre = np.abs(before - after)
    allowed = np.flatnonzero(np.minimum(before, after) >= least)
    if not len(allowed):
        cut = first + 1 + int(np.argmin(off_centre))
        return (first, cut), (cut, last)
    gaps = np.round(np.asarray(affinity[first + 1 : last], dtype=np.float64), 9)
    order = np.lexsort((off_centre[allowed], gaps[allowed]))
    cut = first + 1 + int(allowed[order[0]])
    return (first, cut), (cut, last)


def _totals(sizes: Sequence[int]) -> Callable[[Run], int]:
    """Return a function that gives the tokens of a run in constant time."""
    sums = [0, *accumulate(sizes)]
    return lambda run: sums[run[1]] - sums[run[0]]


# -- a number for every unit, and a threshold


BoolArray = NDArray[np.bool_]
RunMean = Callable[[Run], float]
EPSILON = 1e-9  # the mean of n equal numbers is often one rounding step above them


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
    """Return which values are at or above the threshold (within 1e-9).

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
    """Return the positions whose flag differs from the one before."""
    return [int(i) + 1 for i in np.flatnonzero(flags[1:] != flags[:-1])]


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and not isinstance(value, bool)
