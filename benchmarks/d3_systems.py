"""The systems of the D3 comparison as steps: a question goes in, evidence with its cost comes
out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.d3_baselines import BASELINES
from benchmarks.d3_scores import Outcome
from benchmarks.question_sets import Question
from structrag.model_calls.requests import Flow, gather
from structrag.model_calls.runner import Runner
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.retriever import D3Result
from structrag.retrieval.d3.selection import StageCost
from structrag.retrieval.multihop.agents import SelfAsk
from structrag.retrieval.multihop.hops import Answered, answer_flow
from structrag.retrieval.retriever import Retriever

# Of a router and of what selects. BM25 is in MonoT5's place.
D3 = {
    "D3-BASE": "base",
    "D3-HIERBASE": "hierbase",
    "D3-LEXICAL": "lexical",
    "D3-LEXICAL+BASE": "lexical+base",
    "D3-BASE+LEXICAL": "base+lexical",
}
SELF_ASK = "SELF-ASK "
ASKING = ("CHUNK", "MAP-REDUCE OPTIMIZED", "D3-BASE")
NAMES = (*D3, *BASELINES, *(SELF_ASK + name for name in ASKING))
FOLLOW_UPS = 8


def document_of(question: Question) -> str:
    """The id of the document that a question is about."""
    return question.gold[0][0]


@dataclass(frozen=True)
class Baseline(Retriever):
    """One of BASELINES, over the paragraphs of one document."""

    name: str
    paragraphs: Mapping[str, Sequence[Chunk]]  # by document id
    runner: Runner

    def result_flow(self, query: str, *, where: Any = None) -> Flow[D3Result]:
        own = self.paragraphs[where["doc_id"]]
        evidence = yield from BASELINES[self.name](query, own)
        hits = [
            Hit(own[i], 1.0, rank) for rank, i in enumerate(evidence.positions, start=1)
        ]
        return D3Result(
            query, tuple(hits), evidence=evidence, cost={"select": evidence.cost}
        )


def run_all(name: str, retriever: Any, questions: Sequence[Question]) -> list[Outcome]:
    """What a `D3Retriever` or a `Baseline`, or self-ask over it, does with every question, inside
    the question's own document; the calls of one round together.

    Self-ask's stages "ask" and "answer" count as finding evidence.
    """
    agent = SelfAsk(retriever, max_followups=FOLLOW_UPS)

    def flow(question: Question) -> Flow[Outcome]:
        asked, where = question.question, {"doc_id": document_of(question)}
        if name.startswith(SELF_ASK):
            found = yield from agent.flow(asked, where=where)
            answered = Answered(found.answer, 0, StageCost())
            return Outcome(found.evidence, found.cost, answered, found.failures)
        result = yield from retriever.result_flow(asked, where=where)
        answered = yield from answer_flow(asked, result.hits)
        return Outcome(result.hits, result.cost, answered, result.degraded)

    return retriever.runner.run(gather([flow(question) for question in questions]))
