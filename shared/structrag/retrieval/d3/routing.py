"""Route a question to the sections that may help (D3, section 3.3.1): by the language model that
reads the outline, by scores, or by a cross-encoder. The names of sections in an answer are matched
leniently."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import partial
from typing import Any

import numpy as np

from structrag._locks import cached_property
from structrag.index.snapshot import Reader
from structrag.model_calls.answers import (
    ID_SCHEMA,
    bare,
    first_value,
    parse_ids,
    usable_ids,
)
from structrag.model_calls.requests import Ask, Flow
from structrag.retrieval.d3.index import PARAGRAPHS, PARTS, SECTIONS, D3Index
from structrag.retrieval.d3.outlines import (
    OutlineSection,
    RouterCall,
    Routing,
    SectionLayout,
    descendants,
    paths_of,
    row_mask,
    windows,
)
from structrag.retrieval.d3.scoring import (
    keep,
    part_scores_flow,
    part_sentence_scores,
    wide_route,
)
from structrag.retrieval.d3.selection import (
    CallStats,
    Selection,
    StageCost,
    empty_is_none,
    window_tokens,
)
from structrag.text.arrays import BoolArray

COMPONENT = "d3.route/1"
BY_SCORES = ("scores", "evidence")  # routers that score parts of sections
# Share of the best section's score, for sections that replace a failed call.
LEXICAL_SHARE = 0.5
LEXICAL_MOST = 5
LABEL_TOKENS = 4  # of a paragraph's id in a call


class SearchedPart:
    """The part of an index that a question searches, at one moment."""

    def __init__(self, index: D3Index, where: Any) -> None:
        self.index = index
        self.paragraphs: Reader = index.searched(PARAGRAPHS)
        snapshot = self.paragraphs.snapshot
        self.layout: SectionLayout = index.layout(snapshot)
        sections = snapshot.reader(SECTIONS)
        parts = snapshot.reader(PARTS)
        self.places: list[int] = np.flatnonzero(
            row_mask(sections.select(where), len(sections))
        ).tolist()
        self.part_mask: BoolArray = row_mask(parts.select(where), len(parts))
        self.outline: list[OutlineSection] = [
            self.layout.sections[place] for place in self.places
        ]

    @cached_property
    def parts(self) -> Reader:
        """The parts to search; LSA is fitted when they are searched."""
        return self.index.searched(PARTS, self.paragraphs.snapshot)

    @cached_property
    def position_of(self) -> dict[int, int]:
        """Place in the whole layout -> position in this outline."""
        return {place: position for position, place in enumerate(self.places)}

    @property
    def all_rows(self) -> list[int]:
        """The paragraph rows of the whole outline."""
        return self.rows(range(len(self.outline)))

    def rows(self, positions: Iterable[int]) -> list[int]:
        """The paragraph rows of sections of the outline, given in reading order."""
        return [row for i in positions for row in self.outline[i].rows]

    def part_rows(self, parts: Iterable[int]) -> list[int]:
        """The paragraph rows of parts, given in reading order."""
        return [
            row for part in parts for row in range(*self.layout.parts[part].tolist())
        ]

    def section_scores(self, parts: Mapping[int, float]) -> dict[int, float]:
        """The score of each outline entry: that of its best part. A part counts for all entries
        that it lies in or reaches into."""
        scores: dict[int, float] = {}
        for part, score in parts.items():
            first, last = self.layout.parts[part].tolist()
            for place in range(
                self.layout.section_of(first), self.layout.section_of(last - 1) + 1
            ):
                position = self.position_of[place]
                if self.outline[position].rows:
                    scores[position] = max(scores.get(position, 0.0), score)
        return scores


@dataclass(frozen=True, slots=True)
class RouteResult:
    """The sections that a question was routed to, and the cost.

    Attributes:
        sections: The sections with paragraphs to search, in reading order.
        how: "llm", "scores" (BM25 and vectors), "evidence" (best sentences), "cross_encoder",
            "direct" (too little text to route) or "none".
        scores: One a section, in [0, 1] unless a cross-encoder's; None: there are none.
        answers: The language model's answers, unchanged; "" for a failed call.
        cost: Calls, tokens, and the sections or parts of sections that were scored.
        dropped: Names or ids in answers that matched nothing shown.
        windows: Calls that the outline took, 0 without a language model.
        degraded: Calls that failed, or whose answer could not be used; their sections were chosen
            by score instead.
        failures: Why, one a call.
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
class RouteTally(CallStats):
    """The results of the calls of one routing while they are collected. Sections are positions in
    the outline."""

    chosen: set[int] = field(default_factory=set)
    failed: list[RouterCall] = field(
        default_factory=list
    )  # calls to be answered by score
    windows: int = 0


@dataclass(frozen=True, slots=True)
class Routed:
    """The route of a question and its paragraphs."""

    route: RouteResult
    rows: list[int]  # of paragraphs, ascending
    # paragraph row -> the score of its part, where there is one
    scores: Mapping[int, float] = field(default_factory=dict)


def routed_flow(
    question: str,
    scope: SearchedPart,
    router: str,
    routing: Routing,
    selection: Selection,
    sentences: Mapping[int, float] | None = None,
) -> Flow[Routed]:
    """The paragraphs a question is routed to.

    `sentences` are the scores of paragraphs by their best sentences, for the router "evidence".

    Text without headings that fits one call of the next stage is not routed.
    """
    if router not in BY_SCORES and is_direct(scope.outline, selection):
        return Routed(RouteResult(tuple(scope.outline), "direct"), scope.all_rows)
    if router == "llm":
        return (yield from _llm_flow(question, scope, routing))
    if sentences is None:
        scores = yield from part_scores_flow(scope.parts, question, scope.part_mask)
    else:
        scores = part_sentence_scores(sentences, scope.layout)
    return by_scores(scope, scores, routing, router, selection.k)


def is_direct(outline: Sequence[OutlineSection], selection: Selection) -> bool:
    """Return True if there is nothing to route: no headings, and no more paragraphs than fit one
    call of the next stage."""
    if any(section.path and not section.pseudo for section in outline):
        return False
    count = selection.counter
    window = window_tokens(selection.context_tokens, count)
    room = window - selection.answer_tokens - count(selection.prompt)
    size = sum(section.tokens + LABEL_TOKENS * len(section.rows) for section in outline)
    return size <= room


def by_scores(
    scope: SearchedPart,
    scores: Mapping[int, float],
    routing: Routing,
    how: str = "scores",
    k: int | None = None,
) -> Routed:
    """The route that the scores of parts give, to at least `k` paragraphs."""
    chosen = wide_route(
        scores,
        scope.layout,
        share=routing.share,
        least_tokens=routing.least_tokens,
        least_rows=k or 0,
    )
    by_section = scope.section_scores({part: scores[part] for part in chosen})
    order = sorted(by_section)
    route = RouteResult(
        sections=tuple(scope.outline[i] for i in order),
        how=how if chosen else "none",
        scores=tuple(by_section[i] for i in order) if chosen else None,
        cost=StageCost(scored=len(scores)),
    )
    row_scores = {
        row: scores[part] for part in chosen for row in scope.part_rows([part])
    }
    return Routed(route, scope.part_rows(chosen), row_scores)


def _llm_flow(question: str, scope: SearchedPart, routing: Routing) -> Flow[Routed]:
    """The language model's route. Calls that failed, answers that cannot be used, and with
    `on_empty="lexical"` an empty route, are answered by scores."""
    tally = yield from route_flow(question, scope.outline, routing)
    chosen = set(tally.chosen)
    scores: dict[int, float] = {}
    if tally.failed:
        scores = yield from part_scores_flow(scope.parts, question, scope.part_mask)
        by_section = scope.section_scores(scores)
        for window in tally.failed:
            chosen.update(stand_in(window.positions, by_section))
    positions = with_children(scope.outline, chosen)
    how = "llm" if positions else "none"
    sections = tuple(scope.outline[i] for i in positions)
    routed = Routed(RouteResult(sections, how), scope.rows(positions))
    if not positions and routing.on_empty == "lexical":
        if not scores:
            scores = yield from part_scores_flow(scope.parts, question, scope.part_mask)
        routed = by_scores(scope, scores, routing)
    route = replace(
        routed.route,
        answers=tuple(tally.answers),
        cost=tally.cost + StageCost(scored=len(scores)),
        dropped=tally.dropped,
        windows=tally.windows,
        degraded=len(tally.failed),
        failures=tuple(tally.failures),
    )
    return replace(routed, route=route)


def route_flow(
    question: str, sections: Sequence[OutlineSection], settings: Routing | None = None
) -> Flow[RouteTally]:
    """Ask which sections of the outline may help.

    The chosen positions are a subset of those shown, whatever is answered.

    Raises:
        NoModel: there is no language model.
    """
    settings = settings or Routing()
    tally = RouteTally()
    calls = windows(question, sections, range(len(sections)), settings)
    paths = paths_of(sections) if settings.answer_format == "names" else []
    empty = empty_is_none(settings.template)
    schema = None if paths or empty else ID_SCHEMA

    def check(call: RouterCall) -> Callable[[str], bool]:
        if paths:
            return partial(
                usable_names, [paths[i] for i in call.positions], empty=empty
            )
        return partial(usable_ids, {i + 1 for i in call.positions}, empty=empty)

    answers = yield [Ask(call.prompt, COMPONENT, schema=schema) for call in calls]
    for call, answer in zip(calls, answers, strict=True):
        text = tally.note(call.prompt, answer, settings.counter, check(call))
        tally.windows += 1
        if text is None:
            tally.failed.append(call)
            continue
        positions, dropped = _named(text, call, paths)
        tally.chosen.update(positions)
        tally.dropped += dropped
    return tally


def _named(
    answer: str, call: RouterCall, paths: Sequence[tuple[str, ...]]
) -> tuple[list[int], int]:
    """The positions that an answer names, and how much was dropped."""
    if paths:
        places, dropped = parse_names(answer, [paths[i] for i in call.positions])
        return [call.positions[place] for place in places], dropped
    ids, dropped = parse_ids(answer, {i + 1 for i in call.positions})
    return [i - 1 for i in ids], dropped


def stand_in(positions: Sequence[int], scores: Mapping[int, float]) -> list[int]:
    """Choose sections for a failed call by score: at most five, each with at least half of the best
    score and more than 0."""
    values = [scores.get(i, 0.0) for i in positions]
    best = keep(values, "lexical", k=LEXICAL_MOST, threshold=LEXICAL_SHARE)
    return [positions[i] for i in best]


def with_children(sections: Sequence[OutlineSection], chosen: set[int]) -> list[int]:
    """Return the chosen sections that have paragraphs, and those below a chosen one that has none,
    in reading order."""
    expanded = set(chosen)
    for i in chosen:
        if not sections[i].rows:
            expanded.update(descendants(sections, i))
    return [i for i in sorted(expanded) if sections[i].rows]


FUZZY = 0.9  # least similarity (difflib's ratio) of a name that is spelt differently
FUZZY_TRIES = 50  # names of one answer that are compared with all known ones
MAX_WORDS = 40  # of a name; a longer run of words is prose

_WORD = re.compile(r"[^\W_]+")
# A number, a bullet, or how sections are shown in D3's paper.
_LABEL = re.compile(r"^\W*(?:(?:\d+[.):]|[-*•])\s+)?(?:section\s*:\s*)?", re.IGNORECASE)
_ITEMS = re.compile(r"[\n;；]+")
_COMMA = re.compile(r"[,，、]")
_NOTHING = {
    "",
    "none",
    "n a",
    "na",
    "nothing",
    "no",
    "null",
    "empty",
    "no sections",
    "none of the sections",
    "no relevant sections",
}


def parse_names(answer: str, paths: Sequence[Sequence[str]]) -> tuple[list[int], int]:
    """The positions of the paths named; how many items match none.

    A name is a path or its last titles, case, white space and punctuation aside, and stands for
    every section it fits; a whole path goes before its end, and the spelling may differ by a tenth.
    Names stand in a list (JSON, lines, commas); one that holds commas is found first. In an answer
    that is prose names are looked for inside. "none", "N/A" and an empty answer name nothing. Never
    raises.
    """
    names = _KnownNames(paths)
    positions: set[int] = set()
    dropped = 0
    for item in _items(answer):
        of_item, unknown = names.of_item(item)
        positions |= of_item
        dropped += unknown
    if not positions and dropped:
        positions = names.inside(answer)
    return sorted(positions), dropped


def usable_names(
    paths: Sequence[Sequence[str]], answer: str, *, empty: bool = False
) -> bool:
    """Whether an answer names sections, or says that there are none. An empty answer says so only
    with `empty`."""
    positions, dropped = parse_names(answer, paths)
    if positions or dropped:
        return bool(positions)
    text = answer.strip()
    value = first_value(text)
    if isinstance(value, list | dict):
        parts = value.values() if isinstance(value, dict) else value
        return not any(parts)  # others than strings name nothing
    return bool(_normal(text)) or (empty and not text)


class _KnownNames:
    """Every way to name each section, and who is meant."""

    def __init__(self, paths: Sequence[Sequence[str]]) -> None:
        whole: dict[str, set[int]] = {}
        ends: dict[str, set[int]] = {}
        for position, path in enumerate(paths):
            for first in range(len(path)):
                names = ends if first else whole
                names.setdefault(_normal(" ".join(path[first:])), set()).add(position)
        self.known = {**ends, **whole}
        self.known.pop("", None)
        self.tries = FUZZY_TRIES
        self.guesses: dict[str, set[int]] = {}  # what inexact names were found to mean
        commas = [len(_COMMA.findall(" ".join(path))) for path in paths]
        self.most_parts = 1 + max(commas, default=0)  # of a name, between its commas

    def of_item(self, item: str) -> tuple[set[int], int]:
        """The positions that an item names; how many names are unknown."""
        parts = _COMMA.split(item)
        if 1 < len(parts) <= self.most_parts and (whole := self._meant(item)):
            return whole, 0  # one name that holds commas
        of_item: set[int] = set()
        unknown = 0
        first = 0
        while first < len(parts):
            last = min(len(parts), first + self.most_parts)
            while last > first + 1 and not self._exact(",".join(parts[first:last])):
                last -= 1
            name = ",".join(parts[first:last])
            positions = self._meant(name)
            of_item |= positions
            unknown += not positions and _normal(name) not in _NOTHING
            first = last
        return of_item, unknown

    def _meant(self, name: str) -> set[int]:
        form = _normal(name)
        if exact := self._exact(name):
            return exact
        if form in self.guesses:
            return self.guesses[form]
        if form in _NOTHING or len(form.split()) > MAX_WORDS or not self.tries:
            return set()
        self.tries -= 1
        width = len(form)  # names of far other lengths are too different
        near = [name for name in self.known if 0.8 * width <= len(name) <= 1.25 * width]
        best = get_close_matches(form, near, n=1, cutoff=FUZZY)
        self.guesses[form] = self.known[best[0]] if best else set()
        return self.guesses[form]

    def _exact(self, name: str) -> set[int]:
        bare = _normal(_LABEL.sub("", name))
        return self.known.get(_normal(name)) or self.known.get(bare) or set()

    def inside(self, answer: str) -> set[int]:
        """The sections whose name stands somewhere in the answer. The longest names come first, and
        each word is in one name only."""
        text = f" {_normal(answer)} "
        positions: set[int] = set()
        for name in sorted(self.known, key=len, reverse=True):
            if f" {name} " in text:
                positions |= self.known[name]
                text = text.replace(f" {name} ", " \n ")
        return positions


def _items(answer: str) -> Iterable[str]:
    value = first_value(answer)
    if isinstance(value, dict):
        lists = [part for part in value.values() if isinstance(part, list)]
        value = lists[0] if lists else list(value.values())
    if isinstance(value, list | tuple):
        return [item.replace("\n", " ") for item in value if isinstance(item, str)]
    return [part for part in _ITEMS.split(bare(answer)) if part.strip()]


def _normal(name: str) -> str:
    return " ".join(_WORD.findall(name.casefold()))
