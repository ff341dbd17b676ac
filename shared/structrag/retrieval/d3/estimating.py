"""An upper bound on the cost of a question, computed before any model is called.

The stages run as usual, and every prompt is answered by "all".
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from structrag.model_calls.flow import drive
from structrag.model_calls.requests import Request, Score
from structrag.records import Chunk
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.evidence import select_flow
from structrag.retrieval.d3.outlines import Routing, paths_of, section_name
from structrag.retrieval.d3.routing import (
    BY_SCORES,
    SearchedPart,
    is_direct,
    route_flow,
)
from structrag.retrieval.d3.selection import ASKING, Selection


@dataclass(frozen=True, slots=True)
class D3Estimate:
    """Stage ("route", "select") -> its cost at most.

    No model was asked and nothing embedded for it. All sections are taken to be chosen, and answers
    to have the length reserved for them. The paper's method names a quarter of the text (QASPER);
    what a model will name is not known.
    """

    stages: Mapping[str, StageCost] = field(default_factory=dict)

    @property
    def total(self) -> StageCost:
        """All stages together."""
        return sum(self.stages.values(), StageCost())


def estimate(
    question: str,
    scope: SearchedPart,
    router: str,
    strategy: str,
    routing: Routing,
    selection: Selection,
) -> D3Estimate:
    """The estimate for a retriever with these settings (`D3Retriever.estimate`)."""
    route = select = StageCost()
    if question.strip() and scope.outline:
        if router in BY_SCORES or not is_direct(scope.outline, selection):
            route = _route_cost(question, scope, router, routing)
        select = StageCost(scored=len(scope.all_rows))
        if strategy not in ("fused", "evidence"):
            paragraphs = [scope.paragraphs.chunk(row) for row in scope.all_rows]
            select = selection_cost(question, paragraphs, selection)
    return D3Estimate({"route": route, "select": select})


def _route_cost(
    question: str, scope: SearchedPart, router: str, routing: Routing
) -> StageCost:
    # If an answer cannot be used, the parts are scored.
    scored = StageCost(scored=int(scope.part_mask.sum()))
    if router in BY_SCORES:
        return scored
    answer = "1-999999999"
    if routing.answer_format == "names":
        answer = json.dumps([*map(section_name, paths_of(scope.outline))])
    flow = route_flow(question, scope.outline, routing)
    tally = drive(flow, lambda requests: [answer for _ in requests])
    return _reserved(tally.cost, routing.answer_tokens) + scored


def selection_cost(
    question: str, paragraphs: Sequence[Chunk], selection: Selection
) -> StageCost:
    """Return the highest cost of `select_flow`, "auto" taken as "base": the longest paragraphs are
    kept."""
    stages = [
        "cross_encoder" if part not in ASKING else part for part in selection.stages
    ]
    strategy = "base" if selection.strategy == "auto" else "+".join(stages)
    dry = replace(
        selection, strategy=strategy, cross_encoder=_NoScorer(), with_path=False
    )

    def answer(request: Request) -> Any:
        if isinstance(request, Score):
            return [1 - 1 / (2 + selection.counter(text)) for text in request.texts]
        return "1-999999999"

    flow = select_flow(question, paragraphs, dry)
    evidence = drive(flow, lambda requests: list(map(answer, requests)))
    return _reserved(evidence.cost, selection.answer_tokens)


def _reserved(cost: StageCost, answer_tokens: int) -> StageCost:
    return replace(cost, answer_tokens=answer_tokens * cost.calls)


class _NoScorer:
    """A stand-in for a reranker. It is never called."""

    def score(self, question: str, texts: Sequence[str]) -> list[float]:
        raise NotImplementedError
