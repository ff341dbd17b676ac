"""Answers from evidence by a language model, and its replies in a self-ask dialogue."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from structrag.errors import check_at_least
from structrag.model_calls.answer_parsing.lists import bare, parse_answer, plain_text
from structrag.model_calls.flow import ask
from structrag.model_calls.requests import Ask, Failed, Flow, LanguageModel
from structrag.records import Hit
from structrag.retrieval.d3.costs import StageCost, call_cost
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
