"""The systems of the D3 comparison as steps: a question goes in, evidence with its cost comes
out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.d3_baselines import BASELINES
from benchmarks.d3_scores import Outcome
from benchmarks.datasets import Question
from structrag.asking.requests import Steps
from structrag.asking.runner import Runner
from structrag.asking.steps import together
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.multihop.answering import Answered, answer_steps
from structrag.retrieval.multihop.selfask import SelfAsk

D3 = {"D3-BASE": "base", "D3-HIERBASE": "hierbase"}
SELF_ASK = "SELF-ASK D3-BASE"
NAMES = (*D3, *BASELINES, SELF_ASK)


@dataclass(frozen=True, slots=True)
class System:
    """One row of the comparison."""

    name: str
    steps: Callable[[Question], Steps[Outcome]]
    runner: Runner


def document_of(question: Question) -> str:
    """The id of the document that a question is about."""
    return question.gold[0][0]


def baseline(
    name: str, paragraphs: Mapping[str, Sequence[Chunk]], runner: Runner
) -> System:
    """One of BASELINES, over the paragraphs of the question's own document."""

    def steps(question: Question) -> Steps[Outcome]:
        own = paragraphs[document_of(question)]
        evidence = yield from BASELINES[name](question.question, own)
        hits = [
            Hit(own[i], 1.0, rank) for rank, i in enumerate(evidence.positions, start=1)
        ]
        answered = yield from answer_steps(question.question, hits)
        return Outcome(hits, {"select": evidence.cost}, answered, evidence.degraded)

    return System(name, steps, runner)


def drill_down(name: str, retriever: Any) -> System:
    """A `D3Retriever`, inside the question's own document."""

    def steps(question: Question) -> Steps[Outcome]:
        found = yield from retriever.result_steps(
            question.question, where={"doc_id": document_of(question)}
        )
        answered = yield from answer_steps(question.question, found.hits)
        return Outcome(found.hits, found.cost, answered, found.degraded)

    return System(name, steps, retriever.runner)


def self_ask(retriever: Any) -> System:
    """Self-ask over a `D3Retriever`; its stages "ask" and "answer" count as finding evidence."""
    agent = SelfAsk(retriever)

    def steps(question: Question) -> Steps[Outcome]:
        found = yield from agent.steps(
            question.question, where={"doc_id": document_of(question)}
        )
        return Outcome(
            found.evidence,
            found.cost,
            Answered(found.answer, 0, StageCost()),
            found.failures,
        )

    return System(SELF_ASK, steps, retriever.runner)


def run_all(system: System, questions: Sequence[Question]) -> list[Outcome]:
    """Every question, the calls of one round together."""
    return system.runner.run(
        together([system.steps(question) for question in questions])
    )
