"""Which gaps between sentences are cut: a threshold that follows recent margins, and merging. Pure
functions on numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from structrag.chunks.bounds import Limits, Run, join_small, runs_of
from structrag.chunks.series import EPSILON
from structrag.errors import check_choice

MERGES = ("weakest", "greedy", "none")


@dataclass(slots=True)
class AdaptiveThreshold:
    """A threshold that starts at `value` and, from `warmup` margins on, is the mean of the last
    `history` ones (None: of all).

    The margin decided about is not part of the threshold it is compared with.
    """

    value: float = 0.0
    warmup: int = 5
    history: int | None = 5
    seen: int = 0
    recent: deque[float] = field(default_factory=deque)
    total: float = 0.0

    def keeps(self, margin: float) -> bool:
        """Whether a gap with this margin is kept together: strictly above the threshold (1e-9); the
        threshold then moves on."""
        keep = margin > self.value + EPSILON
        self.seen += 1
        self.total += margin
        if self.history is not None:
            self.recent.append(margin)
            if len(self.recent) > self.history:
                self.recent.popleft()
        if self.seen >= self.warmup:
            self.value = (
                self.total / self.seen
                if self.history is None
                else sum(self.recent) / len(self.recent)
            )
        return keep


def decide(
    margins: Sequence[float],
    threshold: AdaptiveThreshold,
    sizes: Sequence[int] = (),
    most: int | None = None,
) -> tuple[list[int], list[float]]:
    """The cuts of a row of units, and the threshold each gap was compared with.

    `margins[i]` belongs to the gap in front of unit i + 1; a cut at i stands in front of unit i. A
    gap is also cut where the next unit would pass `most` tokens; its margin moves the threshold
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
    limits: Limits,
    *,
    merge: str = "weakest",
    target: int = 200,
) -> list[Run]:
    """The segments of a row of units, brought to size.

    "weakest": a segment below `limits.least` joins the neighbour across the larger margin.
    "greedy": left to right while a segment with the next counts at most `target`. "none": as cut.

    Raises InvalidParameter for another name.
    """
    check_choice("merge", merge, MERGES)
    n = len(sizes)
    runs = runs_of(cuts, n)
    if merge == "none":
        return runs
    if merge == "greedy":
        return _greedy(runs, sizes, target if limits.most is None else min(target, limits.most))
    return join_small(runs, sizes, limits, lambda left, right: margins[right[0] - 1])


def _greedy(runs: Sequence[Run], sizes: Sequence[int], target: int) -> list[Run]:
    totals = np.concatenate([[0], np.cumsum(sizes)])
    merged: list[Run] = []
    for first, last in runs:
        if merged and totals[last] - totals[merged[-1][0]] <= target:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
