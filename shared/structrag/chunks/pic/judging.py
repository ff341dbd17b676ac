"""Which sentences of a scope are relevant (PIC, section 3.2): their similarities to the
instruction, a threshold, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from structrag.chunks.bounds import Run
from structrag.chunks.pic.instructions import Instruction
from structrag.chunks.scopes import Scope
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
from structrag.text.vectors import FloatArray, similarity


@dataclass(frozen=True, slots=True)
class Judged:
    """How the n units of one scope were judged; without an instruction all are relevant, and
    nothing was compared."""

    sizes: list[int]  # tokens of each unit
    affinity: list[
        float
    ]  # cosine of each unit with the one before; 0 for the first, and without vectors
    instruction: Instruction | None
    values: FloatArray  # shape (n,); similarities
    threshold: float  # NaN without an instruction
    flags: BoolArray  # shape (n,); whether relevant
    mean: RunMean  # of the values in a run, weighted by tokens

    def is_relevant(self, run: Run) -> bool:
        """Whether a run is: as all its units are, or where they differ, by its mean."""
        flags = self.flags[run[0] : run[1]]
        if flags.any() and not flags.all():
            return self.mean(run) >= self.threshold - EPSILON
        return bool(flags[0])

    def extras(self, run: Run) -> dict[str, Any]:
        """What the chunk of a run tells of how it was found, as in `PICSplitter`."""
        if self.instruction is None:
            return {"relevant": True, "mean_similarity": None, "threshold": None}
        extras: dict[str, Any] = {
            "relevant": self.is_relevant(run),
            "mean_similarity": round(self.mean(run), 6),
            "threshold": round(self.threshold, 6)
            if np.isfinite(self.threshold)
            else None,  # JSON has no infinity
        }
        return {**extras, "degraded": True} if self.instruction.degraded else extras

    def series(self, scope: Scope, runs: Sequence[Run]) -> Series:
        """What was seen and done, for an explanation."""
        seen = self.instruction is not None
        return Series(
            units=scope.units,
            values=tuple(map(float, self.values)) if seen else (),
            thresholds=(self.threshold,) * len(self.values) if seen else (),
            runs=tuple(dict.fromkeys(runs)),
            note=self.instruction.note if self.instruction is not None else "",
        )


def judge(
    scope: Scope,
    matrix: FloatArray | None,
    instruction: Instruction | None,
    *,
    threshold: str | float,
    spread: float,
    hysteresis: float,
) -> Judged:
    """Compare a scope's units, their vectors the rows of `matrix`, with the instruction; settings
    are those of `PICSplitter`."""
    n = len(scope.units)
    sizes = [unit.tokens for unit in scope.units]
    affinity = np.zeros(n)
    if matrix is not None:
        affinity[1:] = (matrix[1:] * matrix[:-1]).sum(axis=1)
    values, limit, flags = np.zeros(n), float("nan"), np.ones(n, dtype=bool)
    if instruction is None or matrix is None:
        return Judged(
            sizes, affinity.tolist(), None, values, limit, flags, weighted_mean(values, sizes)
        )
    values = relevance(matrix, instruction)
    limit = threshold_of(values, threshold, spread)
    flags = labels(values, limit, margin=hysteresis * float(values.std()))
    return Judged(
        sizes, affinity.tolist(), instruction, values, limit, flags, weighted_mean(values, sizes)
    )


def relevance(matrix: FloatArray, instruction: Instruction) -> FloatArray:
    """Each sentence's highest cosine with an instruction vector; with a summary of own sentences,
    never with itself."""
    if instruction.picked:
        return similarity_to_own(matrix, instruction.picked)
    return similarity(matrix, instruction.vectors)
