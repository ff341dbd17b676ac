"""The records of self-ask, and hits of several searches put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal

from structrag.errors import check_template
from structrag.model_calls.requests import Flow
from structrag.records import Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.fusion import round_robin
from structrag.retrieval.multihop.answering import ANSWER_PROMPT
from structrag.retrieval.retriever import Retriever

Stopped = Literal[
    "final_answer",
    "max_followups",
    "repeated_followup",
    "empty_answers",
    "token_budget",
    "no_reply",
]

NEXT_PROMPT = """\
Answer a question with the help of follow-up questions, one at a time. \
Each is looked up in documents and answered for you. A follow-up
must be simple and understood by itself: name what it is about, never "it" or "this".
Reply in one of these two ways and write nothing else:
Follow up: <the next follow-up question>
So the final answer is: <the answer, as briefly as possible>
Use only what the intermediate answers say. As long as there are none, ask a follow-up; \
once they are enough, give the final answer.

Question: {question}
{history}"""

FINAL_PROMPT = """\
Answer the question from the evidence and the intermediate answers, as briefly as possible. \
Use only these; if they do not hold the answer,
reply "Unanswerable".

Evidence:
{evidence}

{history}
Question: {question}
Answer:"""


@dataclass(frozen=True, slots=True)
class SelfAskPrompts:
    """The prompts of the language model: templates, other braces doubled."""

    # For a follow-up or the final answer: {question}, {history}
    next: str = NEXT_PROMPT
    answer: str = ANSWER_PROMPT  # the answer to one follow-up: {evidence}, {question}
    # The direct question at the end: {evidence}, {history}, {question}
    final: str = FINAL_PROMPT

    def __post_init__(self) -> None:
        check_template("The prompt 'next'", self.next, ("question", "history"))
        check_template("The prompt 'answer'", self.answer, ("evidence", "question"))
        check_template(
            "The prompt 'final'", self.final, ("evidence", "history", "question")
        )


@dataclass(frozen=True, slots=True)
class Hop:
    """One follow-up question.

    Attributes:
        follow_up: The question.
        answer: The answer from its evidence; "Unanswerable" if nothing was found, "" if the call
            failed.
        evidence: The retriever's hits for it.
        cost: The cost of retrieving and answering.
        retrieved: All that the retriever's steps gave: a `D3Result`, or the list of hits.
    """

    follow_up: str
    answer: str
    evidence: tuple[Hit, ...]
    cost: StageCost
    retrieved: Any = field(default=None, repr=False, compare=False)


@dataclass(frozen=True, slots=True)
class SelfAskResult:
    """An answer and how it came about.

    Attributes:
        question: The question.
        answer: "Unanswerable" when nothing was found; "" when the last calls failed.
        evidence: The chunks of all hops in order of first use, each once; none when the model
            answered without a follow-up (`min_followups=0`).
        trace: The hops, in order.
        stopped: Why no further follow-up was asked: "final_answer" (the model gave it),
            "max_followups", "repeated_followup", "empty_answers" (two in a row), "token_budget", or
            "no_reply" (the call failed, or nothing in the reply could be used).
        cost: Stage -> cost: "ask" (for follow-ups and the final answer), "answer" (follow-ups, and
            the direct question), and the retriever's own stages.
        failures: Calls of self-ask itself that failed; the retriever counts its own
            (`Hop.retrieved`).
    """

    question: str
    answer: str
    evidence: list[Hit]
    trace: list[Hop]
    stopped: Stopped
    cost: Costs
    failures: int

    @property
    def total(self) -> StageCost:
        """All stages together."""
        return sum(self.cost.values(), StageCost())


Costs = dict[str, StageCost]  # stage -> what it cost


@dataclass(frozen=True, slots=True)
class Retrieved:
    """The result of one search of a retriever."""

    hits: list[Hit]
    cost: Mapping[str, StageCost]  # by stage; {} where the retriever does not say
    result: Any  # all of it: a `D3Result`, a `TwoHopResult`, or the list of hits


def retrieved_flow(retriever: Retriever, query: str, where: Any) -> Flow[Retrieved]:
    """One search, with its cost where the retriever has `result_flow`."""
    result_flow = getattr(retriever, "result_flow", None)
    if result_flow is None:
        hits = yield from retriever.flow(query, where=where)
        return Retrieved(hits, {}, hits)
    result = yield from result_flow(query, where=where)
    return Retrieved(list(result.hits), result.cost, result)


def add_costs(total: Costs, more: Mapping[str, StageCost]) -> None:
    """Add each stage's cost to that stage of `total`."""
    for stage, cost in more.items():
        total[stage] = total.get(stage, StageCost()) + cost


def each_once(hits: Iterable[Hit]) -> list[Hit]:
    """Every chunk once, where it comes first."""
    unique: dict[str, Hit] = {}
    for hit in hits:
        unique.setdefault(hit.chunk.id, hit)
    return list(unique.values())


def interleaved(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The first hit of each list, then the second, ... Every chunk comes once, as the hit of the
    first list that has it. Ranks are numbered again."""
    hit_of = {hit.chunk.id: hit for hit in each_once(chain(*lists))}
    rankings = [[hit.chunk.id for hit in hits] for hits in lists]
    order = round_robin(rankings, len(hit_of))
    return [replace(hit_of[id_], rank=rank) for rank, id_ in enumerate(order, start=1)]
