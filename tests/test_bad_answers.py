"""Models that answer badly, through every method that asks one: no exception, no lost text, only
what was shown is named, and what could not be used is counted with its reason."""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from structrag import (
    D3Index,
    D3Retriever,
    Document,
    HiQAFormatter,
    IDMSEnricher,
    IDMSSplitter,
    Index,
    PICSplitter,
    SelfAsk,
    read_text,
)
from structrag.integrations.models import LogProbabilities, tried
from structrag.model_calls.runner import Runner

TEXT = """# The X100 pump

The X100 moves water from the tank to the boiler. It was built by Acme Works in 1968.

## Maintenance

Rinse the filter every week. The seal of the shaft wears out after two years, and a worn seal lets
water into the motor. Order the seal by its code, SK-22.

## Acme Works

Acme Works was founded in Bergen by Ada Holm. It employs forty people, who build pumps and valves.
"""
PLAIN = (
    "1 Overview\n\nThe pump moves water from the tank.\n\n1.1 Safety\n\nSwitch it off before you "
    "open it.\n\n2 Technical data\n\nIt weighs nine kilograms.\n"
)
QUESTION = "Where was the maker of the X100 founded?"
Counts = Mapping[str, int]
Reasons = Mapping[str, str]


def exceeds_the_window(prompt: str) -> str:
    raise ValueError(
        "request (2048 tokens) exceeds the available context size (1024 tokens)"
    )


# What no method may take for an answer.
FAULTS: dict[str, Callable[[str], str]] = {
    "echoes": lambda prompt: prompt,
    "echoes three times": lambda prompt: f"{prompt}\n\n{prompt}\n\n{prompt}",
    "enumerates": lambda prompt: "\n".join(f"{number}." for number in range(1, 60)),
    "loops": lambda prompt: "the seal of the pump is " * 400,
    "loops on a letter": lambda prompt: "a" * 20_000,
    "refuses in German": lambda prompt: (
        "Leider kann ich diese Frage nicht beantworten."
    ),
    "refuses in Chinese": lambda prompt: "抱歉，我无法回答这个问题。",
    "exceeds the window": exceeds_the_window,
    "stops mid-JSON": lambda prompt: (
        '{"summary": "The pump moves water from the tank and the fil'
    ),
    "stops mid-ids": lambda prompt: '{"sections": [1, 2',
}
# What some methods may take: it is prose.
PROSE: dict[str, Callable[[str], str]] = {
    "numbers its prose": lambda prompt: (
        "1. This text is about pumps.\n2. Of herons.\n3. Of firms."
    ),
    "answers in German": lambda prompt: (
        "Der Text handelt von Pumpen und ihrer Wartung."
    ),
    "answers in Chinese": lambda prompt: "本文介绍了水泵及其维护。",
}


class Faulty:
    """Answers every prompt by one fault."""

    name = "faulty"

    def __init__(self, fault: Callable[[str], str]) -> None:
        self.fault = fault
        self.calls = 0

    def complete(self, prompt: str) -> str:
        self.calls += 1
        return self.fault(prompt)


def document() -> Document:
    return read_text(TEXT, format="markdown", id="pump", title="The X100 pump")


def assert_whole(chunks: Any) -> None:
    """Every chunk is a slice, and together they hold the whole text."""
    assert all(TEXT[chunk.start : chunk.end] == chunk.text for chunk in chunks)
    covered = {place for chunk in chunks for place in range(chunk.start, chunk.end)}
    assert not "".join(
        c for place, c in enumerate(TEXT) if place not in covered
    ).strip()


def views(**options: Any) -> Callable[[Any], tuple[Counts, Reasons]]:
    def used(llm: Any) -> tuple[Counts, Reasons]:
        index = Index(llm=llm, **options)
        # else short sections are their own summaries
        index.view_settings = replace(index.view_settings, summary_min_tokens=5)
        usage = index.add([document()]).usage
        assert_whole(index.chunks())
        return usage["fallbacks"], usage["reasons"]

    return used


def splitting(splitter: Any) -> Callable[[Any], tuple[Counts, Reasons]]:
    def used(llm: Any) -> tuple[Counts, Reasons]:
        runner = Runner(llm=llm)
        assert_whole(splitter.split(document(), runner=runner))
        return runner.usage.fallbacks, runner.usage.reasons

    return used


def enriching(
    make: Callable[..., IDMSEnricher],
) -> Callable[[Any], tuple[Counts, Reasons]]:
    def used(llm: Any) -> tuple[Counts, Reasons]:
        runner = Runner(llm=llm)
        chunks = IDMSSplitter(margin="words", min_tokens=0, max_tokens=60).split(
            document()
        )
        enricher = make(low=2.0, high=2.0, min_tokens=0)
        enriched = enricher.enrich(document(), chunks, runner=runner)
        assert [chunk.text for chunk in enriched] == [chunk.text for chunk in chunks]
        return runner.usage.fallbacks, runner.usage.reasons

    return used


def formatting(
    make: Callable[..., HiQAFormatter],
) -> Callable[[Any], tuple[Counts, Reasons]]:
    def used(llm: Any) -> tuple[Counts, Reasons]:
        formatted = make(llm=llm).format(PLAIN)
        words = set(re.findall(r"\w+", formatted.document.text))
        assert set(re.findall(r"\w+", PLAIN)) <= words
        report = formatted.report
        return {"windows": report.fallbacks}, dict.fromkeys(
            ["windows"], *report.uncertain
        )

    return used


def drilling(**options: Any) -> Callable[[Any], tuple[Counts, Reasons]]:
    def used(llm: Any) -> tuple[Counts, Reasons]:
        index = D3Index()
        index.add([document()])
        result = D3Retriever(index, llm=llm, **options).result(QUESTION)
        assert all(
            TEXT[hit.chunk.start : hit.chunk.end] == hit.chunk.text
            for hit in result.hits
        )
        paths = {("The X100 pump",)} | {
            ("The X100 pump", title) for title in ("Maintenance", "Acme Works")
        }
        assert (
            result.route is not None
            and {s.path for s in result.route.sections} <= paths
        )
        stages = [
            stage for stage in (result.route, result.evidence) if stage is not None
        ]
        failures = [reason for stage in stages for reason in stage.failures]
        return {"calls": result.degraded}, dict.fromkeys(["calls"], "; ".join(failures))

    return used


def condensing(llm: Any) -> tuple[Counts, Reasons]:
    index = D3Index(llm=llm, whole_tokens=0)
    usage = index.add([document()]).usage
    return usage["fallbacks"], usage["reasons"]


METHODS: dict[str, Callable[[Any], tuple[Counts, Reasons]]] = {
    "MC": views(),
    "MC of the paper": views(preset="paper"),
    "PIC": splitting(PICSplitter(min_tokens=10)),
    "PIC of the paper": splitting(PICSplitter.paper()),
    "IDMS": splitting(IDMSSplitter(min_tokens=10, max_tokens=80)),
    "IDMS of the paper": splitting(IDMSSplitter.paper()),
    "IDMS enriched": enriching(IDMSEnricher),
    "IDMS enriched, of the paper": enriching(IDMSEnricher.paper),
    "HiQA": formatting(HiQAFormatter),
    "HiQA of the paper": formatting(HiQAFormatter.paper),
    "D3 summaries": condensing,
    "D3": drilling(),
    "D3 of the paper": drilling(preset="paper"),
    "D3, hierbase": drilling(strategy="hierbase"),
}
# An empty answer names nothing there: that is what the paper's prompt asks for.
MEANS_NONE = {
    ("D3 of the paper", "echoes"),
    ("D3 of the paper", "echoes three times"),
    # A summary as published is what the model wrote.
    ("PIC of the paper", "refuses in German"),
    ("PIC of the paper", "refuses in Chinese"),
}


@pytest.fixture(autouse=True)
def warnings_pass() -> Iterator[None]:
    """That answers cannot be used is what warnings are for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("method", METHODS)
def test_what_cannot_be_used_is_counted_with_its_reason(
    method: str, fault: str
) -> None:
    llm = Faulty(FAULTS[fault])
    fallbacks, reasons = METHODS[method](llm)
    assert llm.calls
    if (method, fault) not in MEANS_NONE:
        assert sum(fallbacks.values()) > 0
        assert reasons and all(reasons.values())


@pytest.mark.parametrize("fault", PROSE)
@pytest.mark.parametrize("method", METHODS)
def test_prose_is_taken_or_counted_and_costs_no_text(method: str, fault: str) -> None:
    fallbacks, reasons = METHODS[method](Faulty(PROSE[fault]))
    assert bool(sum(fallbacks.values())) <= bool(reasons)


@pytest.mark.parametrize("fault", [*FAULTS, *PROSE])
def test_self_ask_ends(fault: str) -> None:
    """Its calls that fail, not all of them, are counted."""
    index = D3Index()
    index.add([document()])
    llm = Faulty({**FAULTS, **PROSE}[fault])
    llm.fault = once_well(llm.fault)
    result = SelfAsk(D3Retriever(index), llm).answer(QUESTION)
    evidence = [hit for hop in result.trace for hit in hop.evidence]
    assert all(
        TEXT[hit.chunk.start : hit.chunk.end] == hit.chunk.text for hit in evidence
    )
    if fault in FAULTS:
        assert result.stopped != "final_answer"


def once_well(fault: Callable[[str], str]) -> Callable[[str], str]:
    """The first prompt is answered as it should be."""
    answers = iter(["Follow up: Who made the X100?"])
    return lambda prompt: next(answers, None) or fault(prompt)


# -- margins

OTHERS = [("The", -0.1), ("Sure", -2.0), ("I", -3.0)]  # tokens that were not asked for
MARGINS: dict[str, Callable[[], Any]] = {
    "other tokens": lambda: tried(
        LogProbabilities().flow(("2", "1"), lambda _: OTHERS), lambda _: ""
    ),
    "none": lambda: tried(
        LogProbabilities().flow(("2", "1"), lambda _: []), lambda _: ""
    ),
    "None": lambda: None,
    "NaN": lambda: math.nan,
    "above 1": lambda: 7.5,
    "text": lambda: "keep",
    "a window": lambda: exceeds_the_window(""),
}


class Weighing(Faulty):
    """Weighs options by a fault, and answers in prose when it is asked for a rating."""

    def __init__(self, fault: Callable[[], Any]) -> None:
        super().__init__(lambda prompt: "That is hard to say.")
        self.margin = fault

    def choose(self, prompt: str, options: tuple[str, str]) -> Any:
        self.calls += 1
        return self.margin()


@pytest.mark.parametrize("fault", MARGINS)
@pytest.mark.parametrize("make", [IDMSSplitter, IDMSSplitter.paper])
def test_margins_that_mean_nothing_are_those_of_similarity(
    make: Callable[[], IDMSSplitter], fault: str
) -> None:
    llm = Weighing(MARGINS[fault])
    fallbacks, reasons = splitting(make())(llm)
    assert llm.calls and fallbacks["chunks"] > 0 and reasons["chunks"]
