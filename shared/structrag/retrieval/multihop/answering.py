"""Answering a question from evidence with a language model."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from structrag.errors import check_at_least
from structrag.model_calls.flow import ask
from structrag.model_calls.requests import Ask, Failed, Flow, LanguageModel
from structrag.records import Hit
from structrag.retrieval.d3.costs import StageCost, call_cost
from structrag.retrieval.multihop.replies import read_answer
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
        shown: How many hits the prompt held, whole or in part.
        cost: Of the call.
        failure: What the model raised, None when it answered.
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
        question: What is asked.
        hits: The evidence, in the order shown.
        llm: Who answers; None: the runner's own model.
        max_tokens: Of evidence in the prompt (`evidence_text`).
        prompt: A template with {evidence} and {question}.
        places: What other places of the template hold.
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
    """The beginning of a text, as much as fits into `max_tokens`. It ends with a whole sentence
    where at least one fits, else anywhere."""
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
