"""Which gaps between sentences are cut. A threshold follows recent margins, and small segments are
merged. All works on numbers alone."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from structrag.chunks.bounds import Run, SizeLimits, join_small, runs_of
from structrag.chunks.series import EPSILON
from structrag.errors import check_choice

MERGES = ("weakest", "greedy", "none")


@dataclass(slots=True)
class AdaptiveThreshold:
    """A threshold that follows the margins.

    It starts at `value`. From `warmup` margins on it is the mean of the last `history` ones (None:
    of all). The margin decided about is not part of the threshold it is compared with.

    Example:
        >>> threshold = AdaptiveThreshold(warmup=2)
        >>> [threshold.keeps(margin) for margin in (0.4, 0.2, 0.25)]
        [True, True, False]
    """

    value: float = 0.0
    warmup: int = 5
    history: int | None = 5
    seen: int = 0
    recent: deque[float] = field(default_factory=deque)
    total: float = 0.0

    def keeps(self, margin: float) -> bool:
        """Whether a gap with this margin is kept together. It is where the margin is above the
        threshold (by 1e-9). The threshold then moves on."""
        keep = margin > self.value + EPSILON
        self.seen += 1
        self.total += margin
        if self.history is not None:
            self.recent.append(margin)
            if len(self.recent) > self.history:
                self.recent.popleft()
        if self.seen >= self.warmup:
            if self.history is None:
                self.value = self.total / self.seen
            else:
                self.value = sum(self.recent) / len(self.recent)
        return keep


def decide(
    margins: Sequence[float],
    threshold: AdaptiveThreshold,
    sizes: Sequence[int] = (),
    most: int | None = None,
) -> tuple[list[int], list[float]]:
    """The cuts of a row of units, and each gap's threshold.

    `margins[i]` belongs to the gap in front of unit i + 1. A cut at i stands in front of unit i. A
    gap is also cut where the next unit would pass `most` tokens, and its margin moves the threshold
    like any other. `threshold` is changed: it runs on to the next row.
    """
    cuts: list[int] = []
    thresholds: list[float] = []
    size = sizes[0] if sizes else 0
    for i, margin in enumerate(margins, start=1):
        thresholds.append(threshold.value)
        keep = threshold.keeps(margin)
        size += sizes[i] if sizes else 0
        if not keep or (most is not None and size > most):
            cuts.append(i)
            size = sizes[i] if sizes else 0
    return cuts, thresholds


def merge_runs(
    cuts: Sequence[int],
    margins: Sequence[float],
    sizes: Sequence[int],
    limits: SizeLimits,
    *,
    merge: str = "weakest",
    target: int = 200,
) -> list[Run]:
    """The segments of a row of units, brought to size.

    "weakest": a segment below `limits.least` joins the neighbour across the larger margin.
    "greedy": left to right while a segment with the next counts at most `target`. "none": as cut.

    Raises:
        InvalidParameter: `merge` is another name.
    """
    check_choice("merge", merge, MERGES)
    runs = runs_of(cuts, len(sizes))
    if merge == "none":
        return runs
    if merge == "greedy":
        return _greedy(
            runs, sizes, target if limits.most is None else min(target, limits.most)
        )
    return join_small(runs, sizes, limits, lambda left, right: margins[right[0] - 1])


def _greedy(runs: Sequence[Run], sizes: Sequence[int], target: int) -> list[Run]:
    """Runs joined from the left while they count at most `target`."""
    totals = np.concatenate([[0], np.cumsum(sizes)])
    merged: list[Run] = []
    for first, last in runs:
        if merged and totals[last] - totals[merged[-1][0]] <= target:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
