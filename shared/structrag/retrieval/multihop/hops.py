"""The records of self-ask, hits of several searches put together, answers from evidence by a
language model, and its replies in a self-ask dialogue."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any, Literal, NamedTuple

from structrag.errors import check_at_least, check_template
from structrag.model_calls.answers import bare, parse_answer, plain_text
from structrag.model_calls.requests import Ask, Failed, Flow, LanguageModel, ask
from structrag.records import Hit
from structrag.retrieval.d3.selection import StageCost, call_cost
from structrag.retrieval.fusion import round_robin
from structrag.retrieval.retriever import Retriever
from structrag.text.sentences import sentence_spans
from structrag.text.tokens import count_tokens

UNANSWERABLE = "Unanswerable"
EVIDENCE_TOKENS = 3000
# Characters looked at behind a cut to tell whether a sentence ends there.
_SENTENCE = 500

ANSWER_PROMPT = """\
Answer the question from the evidence, as briefly as possible. Use only the evidence; \
if it does not hold the answer, reply "Unanswerable".

Evidence:
{evidence}

Question: {question}
Answer:"""


@dataclass(frozen=True, slots=True)
class Answered:
    """An answer read from evidence.

    Attributes:
        answer: "" when the call failed; "Unanswerable" when there was no evidence, and nothing was
            asked.
        shown: The number of hits in the prompt, whole or in part.
        cost: The cost of the call.
        failure: The exception of the model, None when it answered.
    """

    answer: str
    shown: int
    cost: StageCost
    failure: Exception | None = None


def answer_flow(
    question: str,
    hits: Sequence[Hit],
    *,
    llm: LanguageModel | None = None,
    max_tokens: int = EVIDENCE_TOKENS,
    prompt: str = ANSWER_PROMPT,
    places: Mapping[str, str] | None = None,
    component: str = "answer/1",
) -> Flow[Answered]:
    """The language model's answer to a question from hits, as steps.

    Args:
        question: The question.
        hits: The evidence, in the order shown.
        llm: Who answers; None: the runner's own model.
        max_tokens: The limit of evidence in the prompt (`evidence_text`).
        prompt: A template with {evidence} and {question}.
        places: The values of other places in the template.
        component: For the cache key.
    """
    check_at_least("max_tokens", max_tokens, 1)
    evidence, shown = evidence_text(hits, max_tokens)
    if not shown:
        return Answered(UNANSWERABLE, 0, StageCost())
    filled = prompt.format(evidence=evidence, question=question, **(places or {}))
    answer = yield from ask(Ask(filled, component, llm=llm))
    cost = call_cost(filled, answer)
    if isinstance(answer, Failed):
        return Answered("", shown, cost, answer.reason)
    return Answered(read_answer(answer), shown, cost)


def evidence_text(hits: Sequence[Hit], max_tokens: int) -> tuple[str, int]:
    """The evidence of a prompt, at most `max_tokens`, and how many passages.

    The passages are the hits, numbered, under their heading path. One that does not fit any more
    is left out, and later, shorter ones may still come. One that alone is too long is cut behind a
    sentence.
    """
    passages: list[str] = []
    room = max_tokens
    for hit in hits:
        head = f"[{len(passages) + 1}] {hit.chunk.context}".rstrip() + "\n"
        passage = head + hit.chunk.text.strip()
        # Only the first passage is cut: behind others a later, shorter one may fit whole.
        if not passages:
            passage = beginning(passage, room)
        size = count_tokens(passage)
        if passage and size <= room:
            passages.append(passage)
            room -= size
    return "\n\n".join(passages), len(passages)


def beginning(text: str, max_tokens: int) -> str:
    """Return the beginning of a text within `max_tokens`. It ends with a whole sentence if one
    fits."""
    if count_tokens(text) <= max_tokens:
        return text
    lengths = range(len(text))  # the whole does not fit
    fits = (
        bisect_right(lengths, max_tokens, key=lambda end: count_tokens(text[:end])) - 1
    )
    spans = sentence_spans(text[: fits + _SENTENCE])
    # White space that a sentence's span ends with need not fit.
    ends = [
        end for start, end in spans if start + len(text[start:end].rstrip()) <= fits
    ]
    return text[: ends[-1] if ends else fits].rstrip()


# -- replies of a model, read leniently


LONGEST_FOLLOW_UP = 600  # characters of a follow-up question that are kept

_MARKER = re.compile(
    r"(?P<follow_up>\bfollow[\s-]?up(?:\s+question)?(?:\s+\d+)?[\s*_]*[:：])|"
    r"(?P<final>\b(?:so,?\s+)?(?:the\s+)?final\s+answer(?:\s+is)?[\s*_]*[:：]|"
    r"\bso,?\s+the\s+final\s+answer\s+is\b)",
    re.IGNORECASE,
)
_NEXT_TURN = re.compile(
    r"\n[ \t>*_#-]*(?:follow[ -]?up\b|are follow|intermediate answer\b|so,? the final answer\b)",
    re.IGNORECASE,
)
_ANSWER_LABEL = re.compile(
    r"\A[\s*_]*(?:(?:the|final|short|intermediate)\s+)*answer(?:\s+is)?[\s*_]*[:：]",
    re.IGNORECASE,
)
_QUESTION_MARKS = ("?", "？", "؟", "՞", "፧")
_FOLLOW_UP_KEYS = {
    "followup",
    "followups",
    "followupquestion",
    "followupquestions",
    "nextquestion",
    "question",
}
_FINAL_KEYS = {
    "finalanswer",
    "sothefinalansweris",
    "thefinalansweris",
    "final",
    "answer",
}
_NOTHING = re.compile(
    r"|unanswerable|unknown|it is unknown|none|null|na|nothing|no (?:answer|evidence|information)|"
    r"not (?:answerable|available|found|given|known|mentioned|provided|specified|stated)|"
    r"i (?:dont|do not) know|cannot answer|cannot be answered|"
    r"unbekannt|inconnu|desconocido|未知|不明"
)


class Reply(NamedTuple):
    """The next step of the model: "follow_up" or "final" with its text. Both are "" if nothing in
    the reply can be used."""

    kind: Literal["follow_up", "final", ""]
    text: str


def read_reply(reply: str) -> Reply:
    """The follow-up question or the final answer in a reply.

    A JSON object counts first (`{"follow_up": "..."}`, `{"final_answer": "..."}`), then the markers
    "Follow up:" and "So the final answer is:", case aside: split at the first one, and everything
    behind it is kept, except lines in which the model goes on to play the next turns. Without
    either: the first line that ends with a question mark is a follow-up, other prose the final
    answer. A follow-up is kept to 600 characters. Empty replies and refusals are neither.
    """
    text = bare(reply)
    for kind, content in (*_in_json(text), *_behind_markers(text)):
        # "Follow up: none" asks nothing, while "unknown" may well be a final answer.
        if content.strip() and not (kind == "follow_up" and is_nothing(content)):
            return _reply(kind, content)
    # A marker with nothing behind it is a form not filled in, and no prose to be read.
    if _MARKER.search(text) or not parse_answer("summary", text)[0]:
        return Reply("", "")
    for line in map(str.strip, text.splitlines()):
        if line.endswith(_QUESTION_MARKS):
            return _reply("follow_up", line)
    return _reply("final", text)


def read_answer(reply: str) -> str:
    """Read a short answer without reasoning, a code fence, a JSON object or "Answer:" around it."""
    text = bare(reply)
    values = [value for kind, value in _in_json(text) if kind == "final"]
    answer = values[0] if values else _ANSWER_LABEL.sub("", text)
    return answer.strip().strip("*_").strip()


def is_nothing(answer: str) -> bool:
    """Return True if an answer is empty, "unknown", "N/A", or an apology."""
    words = " ".join(re.sub(r"[^\w\s]", "", answer.casefold()).split())
    return bool(_NOTHING.fullmatch(words)) or not plain_text(answer)


def _reply(kind: Literal["follow_up", "final"], text: str) -> Reply:
    text = text.strip().strip("*_`").strip()
    if kind == "final":
        return Reply(kind, text)
    text = " ".join(text.split())
    if len(text) > LONGEST_FOLLOW_UP:
        cut = text[:LONGEST_FOLLOW_UP]
        text = cut.rpartition(" ")[0] or cut  # behind a whole word, if there is one
    return Reply(kind, text)


def _in_json(text: str) -> Iterator[tuple[Literal["follow_up", "final"], str]]:
    if "{" not in text:
        return
    try:
        value, _ = json.JSONDecoder(strict=False).raw_decode(text, text.find("{"))
    except (ValueError, RecursionError):
        return
    for key, part in value.items():
        name = re.sub(r"[^a-z]", "", key.casefold())
        if name in _FOLLOW_UP_KEYS and _as_text(part):
            yield "follow_up", _as_text(part)
        elif name in _FINAL_KEYS and _as_text(part):
            yield "final", _as_text(part)


def _as_text(value: Any) -> str:
    if isinstance(value, list):
        return next((text for part in value if (text := _as_text(part))), "")
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return str(value) if isinstance(value, str | int | float) else ""


def _behind_markers(text: str) -> Iterator[tuple[Literal["follow_up", "final"], str]]:
    for marker in _MARKER.finditer(text):
        following = _NEXT_TURN.search(text, marker.end())
        end = following.start() if following else len(text)
        yield "follow_up" if marker["follow_up"] else "final", text[marker.end() : end]


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
    result: Any  # all of it: a `D3Result`, or the list of hits


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
