"""What a question will cost, before anything is spent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from structrag.retrieval.d3.costs import StageCost, call_cost
from structrag.retrieval.d3.evidence import selection_cost
from structrag.retrieval.d3.outlines import Routing, windows
from structrag.retrieval.d3.routing import (
    BY_SCORES,
    SearchedPart,
    by_scores,
    first_levels,
    is_direct,
    stand_in,
    subtrees_of,
    with_children,
)
from structrag.retrieval.d3.scoring import lexical_part_scores
from structrag.retrieval.d3.selection import ASKING, Selection

ANSWER_TOKENS = 20  # of an answer, expected: a handful of ids


@dataclass(frozen=True, slots=True)
class Estimate:
    """Stage ("route", "select") -> its cost: expected, and at most.

    No model was asked and nothing embedded for it. Expected is what the sections take that BM25
    would choose, with answers of 20 tokens; at most, what all sections would take, with answers of
    the length reserved for them. The paper's method names a quarter of the text (QASPER); what a
    model will name is not known.
    """

    expected: Mapping[str, StageCost] = field(default_factory=dict)
    upper: Mapping[str, StageCost] = field(default_factory=dict)

    @property
    def expected_total(self) -> StageCost:
        """All stages together."""
        return sum(self.expected.values(), StageCost())

    @property
    def upper_total(self) -> StageCost:
        """All stages together."""
        return sum(self.upper.values(), StageCost())


def estimate(
    question: str,
    scope: SearchedPart,
    router: str,
    strategy: str,
    routing: Routing,
    selection: Selection,
) -> Estimate:
    """The estimate for a retriever with these settings (`D3Retriever.estimate`)."""
    none = {"route": StageCost(), "select": StageCost()}
    if not question.strip() or not scope.outline:
        return Estimate(none, none)
    everything = scope.rows(range(len(scope.outline)))
    expected, upper = StageCost(), StageCost()
    rows = everything
    if router in BY_SCORES or not is_direct(scope.outline, selection):
        scores = lexical_part_scores(scope.parts, question, scope.part_mask)
        rows = _likely(scope, router, scores, routing, everything)
        expected, upper = _route_costs(question, scope, router, scores, routing)
    likely = _select_cost(question, scope, rows, strategy, selection, ANSWER_TOKENS)
    most = _select_cost(
        question, scope, everything, strategy, selection, selection.answer_tokens
    )
    return Estimate(
        {"route": expected, "select": likely}, {"route": upper, "select": most}
    )


def _likely(
    scope: SearchedPart,
    router: str,
    scores: Mapping[int, float],
    routing: Routing,
    everything: list[int],
) -> list[int]:
    """The paragraph rows of the route by BM25 alone.

    All where no word of the question occurs.
    """
    if router in BY_SCORES:
        return by_scores(scope, scores, routing).rows or everything
    chosen = stand_in(range(len(scope.outline)), scope.section_scores(scores))
    positions = with_children(
        scope.outline, set(chosen), always=routing.expand_children
    )
    return scope.rows(positions) or everything


def _route_costs(
    question: str,
    scope: SearchedPart,
    router: str,
    scores: Mapping[int, float],
    routing: Routing,
) -> tuple[StageCost, StageCost]:
    """Expected, and at most."""
    n_parts = int(np.count_nonzero(scope.part_mask))
    if router in BY_SCORES:
        return StageCost(scored=n_parts), StageCost(scored=n_parts)
    if router == "cross_encoder":
        cost = StageCost(scored=sum(bool(section.rows) for section in scope.outline))
        return cost, cost
    outline = scope.outline
    if routing.drill == "outline":
        groups: list[Sequence[int]] = [range(len(outline))]
        likely = groups
    else:
        top, expandable = first_levels(outline)
        chosen = set(stand_in(range(len(outline)), scope.section_scores(scores)))
        subtrees = subtrees_of(outline, top, expandable)
        groups = [top, *subtrees]
        likely = [
            top,
            *(subtree for subtree in subtrees if chosen.intersection(subtree)),
        ]
    upper = _asking(question, scope, groups, routing, routing.answer_tokens)
    return _asking(question, scope, likely, routing, ANSWER_TOKENS), replace(
        upper, scored=n_parts
    )


def _asking(
    question: str,
    scope: SearchedPart,
    groups: Sequence[Sequence[int]],
    routing: Routing,
    answer_tokens: int,
) -> StageCost:
    cost = StageCost()
    for group in groups:
        for window in windows(question, scope.outline, group, routing):
            cost += call_cost(window.prompt, None, routing.counter)
    return replace(
        cost, answer_tokens=min(answer_tokens, routing.answer_tokens) * cost.calls
    )


def _select_cost(
    question: str,
    scope: SearchedPart,
    rows: Sequence[int],
    strategy: str,
    selection: Selection,
    answer_tokens: int,
) -> StageCost:
    if strategy in ("fused", "evidence"):
        return StageCost(scored=len(rows))
    cost = selection_cost(
        question, [scope.paragraphs.chunk(row) for row in rows], selection
    )
    if not set(selection.stages) & set(ASKING):
        return cost
    return replace(
        cost, answer_tokens=min(answer_tokens, selection.answer_tokens) * cost.calls
    )
