"""Which sentences of a scope are relevant (PIC, section 3.2). Their similarities to the instruction
are compared with a threshold, which gives labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.chunks.bounds import Run
from structrag.chunks.pic.instructions import Instruction
from structrag.chunks.scopes import UnitScope
from structrag.chunks.series import (
    EPSILON,
    BoolArray,
    RunMean,
    Series,
    labels,
    similarity_to_own,
    threshold_of,
    weighted_mean,
)
from structrag.text.arrays import FloatArray
from structrag.text.cutting import Piece
from structrag.text.vectors import similarity


@dataclass(frozen=True, slots=True)
class Judged:
    """How the n units of one scope were judged. Without an instruction all are relevant, and
    nothing was compared."""

    # Cosine of each unit with the one before; 0 for the first, and without vectors.
    affinity: list[float]
    instruction: Instruction | None
    values: FloatArray  # shape (n,); similarities
    threshold: float  # NaN without an instruction
    flags: BoolArray  # shape (n,); whether relevant
    mean: RunMean  # of the values in a run, weighted by tokens

    def is_relevant(self, run: Run) -> bool:
        """Whether its units are relevant; where they differ, whether its mean is."""
        flags = self.flags[run[0] : run[1]]
        if flags.any() and not flags.all():
            return self.mean(run) >= self.threshold - EPSILON
        return bool(flags[0])

    def closeness(self, left: Run, right: Run) -> float:
        """How near the mean values of two runs are."""
        return -abs(self.mean(left) - self.mean(right))

    def extras(self, run: Run, _: Piece | None = None) -> dict[str, Any]:
        """The extras of the chunk of a run, as in `PICSplitter`."""
        if self.instruction is None:
            return {"relevant": True, "mean_similarity": None, "threshold": None}
        is_finite = np.isfinite(self.threshold)  # JSON has no infinity
        extras: dict[str, Any] = {
            "relevant": self.is_relevant(run),
            "mean_similarity": round(self.mean(run), 6),
            "threshold": round(self.threshold, 6) if is_finite else None,
        }
        if self.instruction.degraded:
            extras["degraded"] = True
        return extras

    def series(self, scope: UnitScope, runs: Sequence[Run]) -> Series:
        """What was seen and done, for an explanation."""
        # A unit above the limit is in several chunks.
        different = tuple(dict.fromkeys(runs))
        if self.instruction is None:
            return Series(scope.units, (), (), different)
        return Series(
            units=scope.units,
            values=tuple(self.values.tolist()),
            thresholds=(self.threshold,) * len(self.values),
            runs=different,
            note=self.instruction.note,
        )


def judge(
    scope: UnitScope,
    matrix: FloatArray | None,
    instruction: Instruction | None,
    *,
    threshold: str | float,
    spread: float,
    hysteresis: float,
) -> Judged:
    """Compare a scope's units with the instruction. The rows of `matrix` are the units' vectors.
    Settings are those of `PICSplitter`."""
    n = len(scope.units)
    affinity = np.zeros(n)
    values = np.zeros(n)
    limit = float("nan")
    flags = np.ones(n, dtype=bool)
    if matrix is not None:
        affinity[1:] = (matrix[1:] * matrix[:-1]).sum(axis=1)
        if instruction is not None:
            values = relevance(matrix, instruction)
            limit = threshold_of(values, threshold, spread)
            flags = labels(values, limit, margin=hysteresis * float(values.std()))
    mean = weighted_mean(values, scope.sizes)
    return Judged(affinity.tolist(), instruction, values, limit, flags, mean)


def relevance(matrix: FloatArray, instruction: Instruction) -> FloatArray:
    """Each sentence's highest cosine with an instruction vector. Where the instruction is the
    scope's own sentences, none is compared with itself."""
    if instruction.picked:
        return similarity_to_own(matrix, instruction.picked)
    return similarity(matrix, instruction.vectors)
