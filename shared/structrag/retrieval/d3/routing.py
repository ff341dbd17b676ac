"""Routing (D3, section 3.3.1): the language model reads the outline and says which sections may
help."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from structrag.asking.replies.ids import parse_ids, usable_ids
from structrag.asking.replies.titles import parse_names, usable_names
from structrag.asking.requests import Ask, Failed, Steps
from structrag.errors import NoModel
from structrag.retrieval.d3.costs import StageCost, call_cost
from structrag.retrieval.d3.layout import OutlineSection, descendants, paths_of
from structrag.retrieval.d3.outlines import Routing, Window, windows

COMPONENT = "d3.route/1"
LEXICAL_SHARE = 0.5  # of the best section's score, for sections that stand in for a failed call
LEXICAL_MOST = 5


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
