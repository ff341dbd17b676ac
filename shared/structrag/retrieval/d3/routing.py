"""Routing (D3, section 3.3.1): which sections may help, by the language model that reads the
outline, by scores or by a cross-encoder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np

from structrag.asking.replies.ids import parse_ids, usable_ids
from structrag.asking.replies.titles import parse_names, usable_names
from structrag.asking.requests import Ask, Failed, Score, Steps
from structrag.errors import NoModel
from structrag.retrieval.d3.costs import StageCost, call_cost
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.layout import Layout, OutlineSection, descendants, paths_of, row_mask
from structrag.retrieval.d3.outlines import Routing, Window, section_name, windows
from structrag.retrieval.d3.reranking import keep
from structrag.retrieval.d3.scoring import part_scores_steps, wide_route
from structrag.retrieval.d3.selection import Selection

COMPONENT = "d3.route/1"
LEXICAL_SHARE = 0.5  # of the best section's score, for sections that stand in for a failed call
LEXICAL_MOST = 5
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
class RouteResult:
    """Which sections a question was routed to, and what that took.

    Attributes:
        sections: Those with paragraphs to look into, in reading order.
        how: "llm", "scores" (BM25 and vectors), "cross_encoder", "direct" (too little text to
            route), "all" or "none".
        scores: One a section, in [0, 1] unless a cross-encoder's; None: there are none.
        answers: Of the language model, as they came; "" for a failed call.
        cost: Calls, tokens, and the sections or parts of sections that were scored.
        dropped: Names or ids in answers that matched nothing shown.
        windows: Calls that the outline took, 0 without a language model.
        degraded: Calls that failed, and whose sections were chosen by score instead.
        failures: Why they failed.
    """

    sections: tuple[OutlineSection, ...] = ()
    how: str = "none"
    scores: tuple[float, ...] | None = None
    answers: tuple[str, ...] = ()
    cost: StageCost = field(default_factory=StageCost)
    dropped: int = 0
    windows: int = 0
    degraded: int = 0
    failures: tuple[str, ...] = ()


@dataclass(slots=True)
class Reading:
    """What the calls of one routing gave, while it is collected. Sections are positions in the
    outline."""

    chosen: set[int] = field(default_factory=set)
    failed: list[Window] = field(default_factory=list)  # calls to be answered by score
    answers: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    cost: StageCost = field(default_factory=StageCost)
    dropped: int = 0
    windows: int = 0


@dataclass(frozen=True, slots=True)
class Routed:
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
) -> Steps[Routed]:
    """The paragraphs a question is routed to. Text without headings that fits one call of the next
    stage is not routed."""
    if router != "scores" and is_direct(scope.outline, selection):
        everything = range(len(scope.outline))
        return Routed(RouteResult(tuple(scope.outline), "direct"), scope.rows(everything))
    if router == "llm":
        return (yield from _read_steps(question, scope, routing))
    if router == "cross_encoder":
        return (yield from _ranked_steps(question, scope, routing, cross_encoder))
    scores = yield from part_scores_steps(scope.index.parts, question, scope.part_mask)
    routed = by_scores(scope, scores, routing)
    if routed.rows or routing.on_empty != "all":
        return routed
    return Routed(
        replace(_all(scope), cost=routed.route.cost), scope.rows(range(len(scope.outline)))
    )


def is_direct(outline: Sequence[OutlineSection], selection: Selection) -> bool:
    """Whether there is nothing to route: no headings, and no more paragraphs than one call of the
    next stage shows."""
    if any(section.path and not section.pseudo for section in outline):
        return False
    room = selection.context_tokens - selection.answer_tokens - selection.counter(selection.prompt)
    size = sum(section.tokens + LABEL_TOKENS * len(section.rows) for section in outline)
    return size <= room


def by_scores(scope: Scope, scores: Mapping[int, float], routing: Routing) -> Routed:
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
    return Routed(route, scope.part_rows(chosen), weights)


def _read_steps(question: str, scope: Scope, routing: Routing) -> Steps[Routed]:
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
        return Routed(_route(scope, positions, reading, len(scores)), scope.rows(positions))
    if routing.on_empty == "none":
        return Routed(_route(scope, [], reading, len(scores)), [])
    if routing.on_empty == "all":
        return Routed(
            _route(scope, range(len(scope.outline)), reading, len(scores), "all"),
            scope.rows(range(len(scope.outline))),
        )
    if not scores:
        scores = yield from part_scores_steps(scope.index.parts, question, scope.part_mask)
    routed = by_scores(scope, scores, routing)
    read = _route(scope, [], reading, len(scores), routed.route.how)
    return Routed(
        replace(read, sections=routed.route.sections, scores=routed.route.scores),
        routed.rows,
        routed.scores,
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


def _ranked_steps(
    question: str, scope: Scope, routing: Routing, cross_encoder: Any
) -> Steps[Routed]:
    """The sections that a cross-encoder puts first, by path and summary; their scores are its own."""
    filled = [i for i, section in enumerate(scope.outline) if section.rows]
    paths = paths_of(scope.outline)
    texts = [f"{section_name(paths[i])}\n{scope.outline[i].summary}" for i in filled]
    (values,) = yield [Score(question, tuple(texts), cross_encoder)]
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
    return Routed(route, scope.rows(kept))


def route_steps(
    question: str, sections: Sequence[OutlineSection], settings: Routing | None = None
) -> Steps[Reading]:
    """Ask which sections of the outline may help; the chosen positions are a subset of those shown,
    whatever is answered.

    With `drill="levels"` the first level of each document is shown first, then, all at once, what
    is below each section chosen there.

    Raises:
        NoModel: there is no language model.
    """
    settings = settings or Routing()
    reading = Reading()
    if settings.drill == "outline":
        reading.chosen |= yield from _asked(
            question, sections, [range(len(sections))], settings, reading
        )
        return reading
    top, expandable = first_levels(sections)
    first = yield from _asked(question, sections, [top], settings, reading)
    subtrees = subtrees_of(sections, sorted(first), expandable)
    reading.chosen |= first.difference(*subtrees)
    if subtrees:
        reading.chosen |= yield from _asked(question, sections, subtrees, settings, reading)
    return reading


def first_levels(sections: Sequence[OutlineSection]) -> tuple[list[int], set[int]]:
    """The sections of each document down to the first level that has several, and those of that
    level."""
    depths: dict[str, Counter[int]] = {}
    for section in sections:
        own = depths.setdefault(section.doc_id, Counter())
        own[len(section.path)] += section.part <= 1  # the parts of a section are one
    levels = {
        doc_id: min(
            (depth for depth, count in counts.items() if depth and count > 1), default=max(counts)
        )
        for doc_id, counts in depths.items()
    }
    top = [i for i, section in enumerate(sections) if len(section.path) <= levels[section.doc_id]]
    return top, {i for i in top if len(sections[i].path) == levels[sections[i].doc_id]}


def subtrees_of(
    sections: Sequence[OutlineSection], tops: Sequence[int], expandable: set[int]
) -> list[list[int]]:
    """Each section of `tops` that may be expanded and has something below it, with what is below
    it; its parts are one section."""
    own: dict[tuple[str, str], list[int]] = {}
    for i in tops:
        if i in expandable:
            own.setdefault((sections[i].doc_id, sections[i].section_id), []).append(i)
    below = [(parts, list(descendants(sections, parts[0]))) for parts in own.values()]
    return [parts + deeper for parts, deeper in below if deeper]


def _asked(
    question: str,
    sections: Sequence[OutlineSection],
    groups: Sequence[Sequence[int]],
    settings: Routing,
    reading: Reading,
) -> Steps[set[int]]:
    """The positions named when each group is shown in calls of its own; all calls go out together."""
    calls = [window for group in groups for window in windows(question, sections, group, settings)]
    paths = paths_of(sections) if settings.answer_format == "names" else []

    def check(call: Window) -> Callable[[str], bool]:
        if paths:
            return partial(usable_names, [paths[i] for i in call.positions])
        return partial(usable_ids, {i + 1 for i in call.positions})

    answers = yield [Ask(call.prompt, COMPONENT, usable=check(call)) for call in calls]
    found: set[int] = set()
    for call, answer in zip(calls, answers, strict=True):
        if isinstance(answer, Failed) and isinstance(answer.reason, NoModel):
            raise answer.reason
        reading.windows += 1
        reading.cost += call_cost(call.prompt, answer, settings.counter)
        reading.answers.append("" if isinstance(answer, Failed) else answer)
        if isinstance(answer, Failed):
            reading.failed.append(call)
            reading.failures.append(f"{type(answer.reason).__name__}: {answer.reason}")
            continue
        if settings.answer_format == "ids":
            ids, dropped = parse_ids(answer, {i + 1 for i in call.positions})
            found.update(i - 1 for i in ids)
        else:
            places, dropped = parse_names(answer, [paths[i] for i in call.positions])
            found.update(call.positions[place] for place in places)
        reading.dropped += dropped
    return found


def stand_in(positions: Sequence[int], scores: Mapping[int, float]) -> list[int]:
    """The sections that stand in for those of a failed call, by score: five at most, half of the
    best score at least, none at 0."""
    best = max((scores.get(i, 0.0) for i in positions), default=0.0)
    ranking = sorted(positions, key=lambda i: (-round(scores.get(i, 0.0), 9), i))
    return [
        i for i in ranking[:LEXICAL_MOST] if best > 0 and scores.get(i, 0.0) >= LEXICAL_SHARE * best
    ]


def with_children(
    sections: Sequence[OutlineSection], chosen: set[int], *, always: bool
) -> list[int]:
    """The chosen sections that have paragraphs, and those below a heading without any (`always`:
    below every one), in reading order."""
    expanded = set(chosen)
    covered = (
        -1
    )  # what is below the section looked at last; its sections need not be looked at again
    for i in sorted(chosen):
        if i > covered and (always or not sections[i].rows):
            below = list(descendants(sections, i))
            expanded.update(below)
            covered = below[-1] if below else i
    return [i for i in sorted(expanded) if sections[i].rows]
