"""The first stage as the retriever runs it: which paragraph rows a question is routed to, by
whichever router."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from structrag.asking.requests import Steps
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.layout import Layout, OutlineSection, paths_of, row_mask
from structrag.retrieval.d3.outlines import Routing, section_name
from structrag.retrieval.d3.reranking import checked_scores, keep
from structrag.retrieval.d3.routing import (
    Reading,
    RouteResult,
    route_steps,
    stand_in,
    with_children,
)
from structrag.retrieval.d3.scoring import part_scores_steps, wide_route
from structrag.retrieval.d3.selection import Selection

LABEL_TOKENS = 4  # of a paragraph's id in a call


class Scope:
    """The part of an index that a question is asked of."""

    def __init__(self, index: D3Index, where: Any) -> None:
        self.index = index
        self.layout: Layout = index.layout()
        sections, parts = index.sections.store, index.parts.store
        self.places = np.flatnonzero(row_mask(sections.select(where), len(sections))).tolist()
        self.part_mask = row_mask(parts.select(where), len(parts))
        self.outline: list[OutlineSection] = [self.layout.sections[place] for place in self.places]

    @cached_property
    def position_of(self) -> dict[int, int]:
        """Place in the whole layout -> position in this outline."""
        return {place: position for position, place in enumerate(self.places)}

    def rows(self, positions: Iterable[int]) -> list[int]:
        """The paragraph rows of sections of the outline, given in reading order."""
        return [row for i in positions for row in self.outline[i].rows]

    def part_rows(self, parts: Iterable[int]) -> list[int]:
        """The paragraph rows of parts, given in reading order."""
        return [row for part in parts for row in range(*self.layout.parts[part].tolist())]

    def section_scores(self, parts: Mapping[int, float]) -> dict[int, float]:
        """The score of each entry of the outline that a part lies in or reaches into: its best
        part's."""
        scores: dict[int, float] = {}
        for part, score in parts.items():
            first, last = self.layout.parts[part].tolist()
            for place in range(self.layout.section_of(first), self.layout.section_of(last - 1) + 1):
                position = self.position_of[place]
                if self.outline[position].rows:
                    scores[position] = max(scores.get(position, 0.0), score)
        return scores


@dataclass(frozen=True, slots=True)
class Found:
    """Where evidence is looked for."""

    route: RouteResult
    rows: list[int]  # of paragraphs, ascending
    scores: Mapping[int, float] = field(
        default_factory=dict
    )  # paragraph row -> the score of its part, where there is one


def routed_steps(
    question: str,
    scope: Scope,
    router: str,
    routing: Routing,
    selection: Selection,
    cross_encoder: Any,
) -> Steps[Found]:
    """The paragraphs a question is routed to. Text without headings that fits one call of the next
    stage is not routed."""
    if router != "scores" and is_direct(scope.outline, selection):
        everything = range(len(scope.outline))
        return Found(RouteResult(tuple(scope.outline), "direct"), scope.rows(everything))
    if router == "llm":
        return (yield from _read_steps(question, scope, routing))
    if router == "cross_encoder":
        return _ranked(question, scope, routing, cross_encoder)
    scores = yield from part_scores_steps(scope.index.parts, question, scope.part_mask)
    found = by_scores(scope, scores, routing)
    if found.rows or routing.on_empty != "all":
        return found
    return Found(replace(_all(scope), cost=found.route.cost), scope.rows(range(len(scope.outline))))


def is_direct(outline: Sequence[OutlineSection], selection: Selection) -> bool:
    """Whether there is nothing to route: no headings, and no more paragraphs than one call of the
    next stage shows."""
    if any(section.path and not section.pseudo for section in outline):
        return False
    room = selection.context_tokens - selection.answer_tokens - selection.counter(selection.prompt)
    size = sum(section.tokens + LABEL_TOKENS * len(section.rows) for section in outline)
    return size <= room


def by_scores(scope: Scope, scores: Mapping[int, float], routing: Routing) -> Found:
    """The route that the scores of parts give."""
    chosen = wide_route(
        scores,
        scope.layout,
        keep=routing.keep,
        share=routing.share,
        least_tokens=routing.least_tokens,
    )
    sections = scope.section_scores({part: scores[part] for part in chosen})
    order = sorted(sections)
    route = RouteResult(
        tuple(scope.outline[i] for i in order),
        "scores" if chosen else "none",
        tuple(sections[i] for i in order) if chosen else None,
        cost=StageCost(scored=len(scores)),
    )
    weights = {
        row: scores[part] for part in chosen for row in range(*scope.layout.parts[part].tolist())
    }
    return Found(route, scope.part_rows(chosen), weights)


def _read_steps(question: str, scope: Scope, routing: Routing) -> Steps[Found]:
    """The language model's route; calls that failed, and with `on_empty="lexical"` an empty one,
    are answered by scores."""
    reading = yield from route_steps(question, scope.outline, routing)
    chosen = set(reading.chosen)
    scores: dict[int, float] = {}
    if reading.failed:
        scores = yield from part_scores_steps(scope.index.parts, question, scope.part_mask)
        by_section = scope.section_scores(scores)
        for window in reading.failed:
            chosen.update(stand_in(window.positions, by_section))
    positions = with_children(scope.outline, chosen, always=routing.expand_children)
    if positions:
        return Found(_route(scope, positions, reading, len(scores)), scope.rows(positions))
    if routing.on_empty == "none":
        return Found(_route(scope, [], reading, len(scores)), [])
    if routing.on_empty == "all":
        return Found(
            _route(scope, range(len(scope.outline)), reading, len(scores), "all"),
            scope.rows(range(len(scope.outline))),
        )
    if not scores:
        scores = yield from part_scores_steps(scope.index.parts, question, scope.part_mask)
    found = by_scores(scope, scores, routing)
    read = _route(scope, [], reading, len(scores), found.route.how)
    return Found(
        replace(read, sections=found.route.sections, scores=found.route.scores),
        found.rows,
        found.scores,
    )


def _route(
    scope: Scope, positions: Sequence[int], reading: Reading, scored: int, how: str | None = None
) -> RouteResult:
    return RouteResult(
        tuple(scope.outline[i] for i in positions),
        how or ("llm" if positions else "none"),
        None,
        tuple(reading.answers),
        reading.cost + StageCost(scored=scored),
        reading.dropped,
        reading.windows,
        len(reading.failed),
        tuple(reading.failures),
    )


def _all(scope: Scope) -> RouteResult:
    return RouteResult(tuple(scope.outline), "all")


def _ranked(question: str, scope: Scope, routing: Routing, cross_encoder: Any) -> Found:
    """The sections that a cross-encoder puts first, by path and summary; their scores are its own."""
    filled = [i for i, section in enumerate(scope.outline) if section.rows]
    paths = paths_of(scope.outline)
    texts = [f"{section_name(paths[i])}\n{scope.outline[i].summary}" for i in filled]
    values = (
        checked_scores(cross_encoder.scores(question, texts), len(texts), "cross_encoder")
        if texts
        else []
    )
    threshold = routing.keep or None
    kept = [
        filled[i]
        for i in keep(values, "cross_encoder", k=routing.max_sections, threshold=threshold)
    ]
    by_position = dict(zip(filled, values, strict=True))
    route = RouteResult(
        tuple(scope.outline[i] for i in kept),
        "cross_encoder" if kept else "none",
        tuple(by_position[i] for i in kept) if kept else None,
        cost=StageCost(scored=len(filled)),
    )
    return Found(route, scope.rows(kept))
