"""The systems of the D3 comparison as steps: a question goes in, evidence with its cost comes
out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.d3_baselines import BASELINES
from benchmarks.d3_scores import Outcome
from benchmarks.question_sets import Question
from structrag.model_calls.requests import Flow, gather
from structrag.model_calls.runner import Runner
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.selection import StageCost
from structrag.retrieval.multihop.agents import SelfAsk
from structrag.retrieval.multihop.hops import Answered, answer_flow

D3 = {"D3-BASE": "base", "D3-HIERBASE": "hierbase"}
SELF_ASK = "SELF-ASK D3-BASE"
NAMES = (*D3, *BASELINES, SELF_ASK)


@dataclass(frozen=True, slots=True)
class System:
    """One row of the comparison."""

    name: str
    flow: Callable[[Question], Flow[Outcome]]
    runner: Runner


def document_of(question: Question) -> str:
    """The id of the document that a question is about."""
    return question.gold[0][0]


def baseline(
    name: str, paragraphs: Mapping[str, Sequence[Chunk]], runner: Runner
) -> System:
    """One of BASELINES, over the paragraphs of the question's own document."""

    def flow(question: Question) -> Flow[Outcome]:
        own = paragraphs[document_of(question)]
        evidence = yield from BASELINES[name](question.question, own)
        hits = [
            Hit(own[i], 1.0, rank) for rank, i in enumerate(evidence.positions, start=1)
        ]
        answered = yield from answer_flow(question.question, hits)
        return Outcome(hits, {"select": evidence.cost}, answered, evidence.degraded)

    return System(name, flow, runner)


def drill_down(name: str, retriever: Any) -> System:
    """A `D3Retriever`, inside the question's own document."""

    def flow(question: Question) -> Flow[Outcome]:
        found = yield from retriever.result_flow(
            question.question, where={"doc_id": document_of(question)}
        )
        answered = yield from answer_flow(question.question, found.hits)
        return Outcome(found.hits, found.cost, answered, found.degraded)

    return System(name, flow, retriever.runner)


def self_ask(retriever: Any) -> System:
    """Self-ask over a `D3Retriever`; its stages "ask" and "answer" count as finding evidence."""
    agent = SelfAsk(retriever)

    def flow(question: Question) -> Flow[Outcome]:
        found = yield from agent.flow(
            question.question, where={"doc_id": document_of(question)}
        )
        return Outcome(
            found.evidence,
            found.cost,
            Answered(found.answer, 0, StageCost()),
            found.failures,
        )

    return System(SELF_ASK, flow, retriever.runner)


def run_all(system: System, questions: Sequence[Question]) -> list[Outcome]:
    """Every question, the calls of one round together."""
    return system.runner.run(gather([system.flow(question) for question in questions]))
