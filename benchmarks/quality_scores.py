"""Scores of one system on one question set: recall at the top k chunks and at token budgets,
question by question."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.quality_systems import BASELINE, WHOLE_RANKING, System
from benchmarks.question_sets import Dataset, Question
from structrag.evaluation import (
    SpanMeasure,
    paired_bootstrap,
    recall_at_budget,
    span_recall,
    spans_of,
)
from structrag.records import Chunk
from structrag.text.tokens import TokenCounter

TOP = (1.5, 3, 5, 10)
BUDGETS = (1000, 2000)
AT_BUDGETS = tuple(f"{budget:,} tokens" for budget in BUDGETS)
POINTS = (*(f"top {k:g}" for k in TOP), *AT_BUDGETS)


@dataclass(frozen=True, slots=True)
class Scores:
    """One row of the table before averaging."""

    recall: dict[str, list[float]]  # point -> recall of each question, in [0, 1]
    tokens: list[int]  # per question, tokens of the chunks at top 5

    def mean(self, point: str) -> float:
        """Mean recall in percent."""
        return 100 * float(np.mean(self.recall[point]))


def gold_questions(dataset: Dataset) -> list[Question]:
    """The questions that have gold; recall is undefined for the others."""
    return [question for question in dataset.questions if question.gold]


def score(system: System, dataset: Dataset, counter: TokenCounter) -> Scores:
    """Search every question inside its own document."""
    measure = SpanMeasure(dataset.texts)
    sizes: dict[str, int] = {}
    recall: dict[str, list[float]] = {point: [] for point in POINTS}
    tokens: list[int] = []
    for ordinal, question in enumerate(gold_questions(dataset)):
        ranking = _search(system, question, WHOLE_RANKING)
        for chunk in ranking:
            if chunk.id not in sizes:
                sizes[chunk.id] = counter(chunk.text)
        for k, point in zip(TOP, POINTS, strict=False):
            found = _top(system, question, ranking, k, ordinal)
            recall[point].append(
                span_recall(question.gold, spans_of(found), measure, mode=question.mode)
                or 0.0
            )
            if k == 5:
                tokens.append(
                    sum(sizes.get(chunk.id) or counter(chunk.text) for chunk in found)
                )
        spent = [sizes[chunk.id] for chunk in ranking]
        for budget in BUDGETS:
            value = recall_at_budget(
                question.gold,
                spans_of(ranking),
                budget,
                measure,
                sizes=spent,
                mode=question.mode,
            )
            recall[f"{budget:,} tokens"].append(value or 0.0)
    return Scores(recall, tokens)


def differences(
    scores: dict[str, Scores], systems: Sequence[System]
) -> dict[str, dict[str, tuple[float, float, float]]]:
    """System -> budget -> (difference, low, high) in points of recall against fixed chunks searched
    by the same route.

    The interval holds 95% of 1,000 paired bootstrap samples of the questions. The defaults are
    compared with "both".
    """
    result = {}
    for system in systems:
        route = (
            system.route if f"{BASELINE} | raw | {system.route}" in scores else "both"
        )
        base = scores[f"{BASELINE} | raw | {route}"]
        if system.chunking == BASELINE:
            continue
        intervals = {}
        for point in AT_BUDGETS:
            found = paired_bootstrap(
                scores[system.name].recall[point], base.recall[point]
            )
            intervals[point] = (
                100 * found.mean,
                100 * found.low,
                100 * found.high,
            )
        result[system.name] = intervals
    return result


def _search(system: System, question: Question, k: float) -> list[Chunk]:
    doc_id = question.gold[0][0]
    return [
        hit.chunk
        for hit in system.retriever.search(
            question.question, k, where={"doc_id": doc_id}
        )
    ]


def _top(
    system: System, question: Question, ranking: list[Chunk], k: float, ordinal: int
) -> list[Chunk]:
    """The top k; 1.5 is 1 for every other question and 2 for the rest, as in the paper."""
    if not system.exact_k:
        return _search(system, question, k)
    return ranking[: int(k) if k == int(k) else int(k) + ordinal % 2]
