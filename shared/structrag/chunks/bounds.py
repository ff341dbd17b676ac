"""Size limits for a row of units that is cut into segments. These are pure functions on numbers. A
segmentation of n units is a list of (first, behind last) runs that tile range(n). Sizes are tokens,
one number a unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import accumulate, pairwise

import numpy as np

from structrag.errors import InvalidParameter, check_at_least

Run = tuple[int, int]  # first unit, behind the last


@dataclass(frozen=True, slots=True)
class SizeLimits:
    """Between how many tokens a segment should have.

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
    """The runs between cuts. A cut at i stands in front of unit i. n = 0 gives none."""
    return [(first, last) for first, last in pairwise([0, *cuts, n]) if first < last]


def join_small(
    runs: Sequence[Run],
    sizes: Sequence[int],
    limits: SizeLimits,
    closeness: Callable[[Run, Run], float],
) -> list[Run]:
    """Join runs below `least` with a neighbour where both fit `most`.

    The smallest is joined first (the first on ties). `closeness(left, right)` says how well two
    neighbours go together. Of a run's two neighbours the closer one is taken, the previous on ties.
    A run that no neighbour can take stays. No cut is added, and applying it again changes nothing.
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
    `least` tokens are taken, closest to the middle on ties. Where there is none, it is the place
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
    """A function that gives the tokens of a run in constant time."""
    sums = [0, *accumulate(sizes)]
    return lambda run: sums[run[1]] - sums[run[0]]
