"""What D3 is compared with: evidence selection that reads the whole document (D3, section 4)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from math import ceil
from typing import Any

from structrag.errors import NoModel, check_at_least
from structrag.model_calls.requests import Ask, Failed, Flow
from structrag.records import Chunk
from structrag.retrieval.d3.evidence import select_flow
from structrag.retrieval.d3.selection import (
    ESTIMATED_SHARE,
    Evidence,
    Selection,
    StageCost,
    call_cost,
)
from structrag.text.tokens import count_tokens

CHUNK_TOKENS = 3500  # of paragraphs in one call of CHUNK
SIZES = (500, 1000, 2000)  # others that CHUNK is run with
ONE_CALL = 10**9  # context tokens: whatever there is goes into one call

RELEVANCE_PROMPT = """\
Paragraph of a document:

{paragraph}

Question: {question}

Does this paragraph hold information that helps to answer the question? \
Answer with "yes" or "no" and nothing else."""

_WORD = re.compile(r"\w+")
_YES = "yes true relevant 1 y ja oui sí si sim да 是 是的 相关 はい نعم"


def paragraph_flow(question: str, paragraphs: Sequence[Chunk]) -> Flow[Evidence]:
    """PARAGRAPH: one call for each paragraph, which is evidence if the answer is yes. A failed call
    is counted and selects nothing.

    Raises:
        NoModel: there is no language model.
    """
    prompts = [
        RELEVANCE_PROMPT.format(paragraph=paragraph.text.strip(), question=question)
        for paragraph in paragraphs
    ]
    answers: list[Any] = []
    if prompts:
        answers = yield [Ask(prompt, "d3.relevance/1") for prompt in prompts]
    cost = StageCost()
    for prompt, answer in zip(prompts, answers, strict=True):
        cost += call_cost(prompt, answer)
    reasons = [answer.reason for answer in answers if isinstance(answer, Failed)]
    for reason in reasons:
        if isinstance(reason, NoModel):
            raise reason
    return Evidence(
        positions=tuple(
            i
            for i, answer in enumerate(answers)
            if isinstance(answer, str) and says_yes(answer)
        ),
        cost=cost,
        degraded=len(reasons),
        answers=tuple(
            "" if isinstance(answer, Failed) else answer for answer in answers
        ),
        failures=tuple(f"{type(reason).__name__}: {reason}" for reason in reasons),
    )


def chunk_flow(
    question: str, paragraphs: Sequence[Chunk], *, chunk_tokens: int = CHUNK_TOKENS
) -> Flow[Evidence]:
    """CHUNK: the strategy "base" over all paragraphs, `chunk_tokens` of them a call."""
    check_at_least("chunk_tokens", chunk_tokens, 1)
    settings = Selection("base")
    frame = count_tokens(settings.prompt.format(paragraphs="", question=question))
    # Of a window that is estimated a part stays empty.
    room = ceil((chunk_tokens + frame + settings.answer_tokens) / ESTIMATED_SHARE)
    settings = replace(settings, context_tokens=room)
    return (yield from select_flow(question, paragraphs, settings))


def map_reduce_flow(question: str, paragraphs: Sequence[Chunk]) -> Flow[Evidence]:
    """MAP-REDUCE: PARAGRAPH, then what is left together in one call of "base", however long."""
    first = yield from paragraph_flow(question, paragraphs)
    kept = [paragraphs[i] for i in first.positions]
    settings = Selection("base", context_tokens=ONE_CALL)
    return _joined(first, (yield from select_flow(question, kept, settings)))


def map_reduce_optimized_flow(
    question: str, paragraphs: Sequence[Chunk]
) -> Flow[Evidence]:
    """MAP-REDUCE OPTIMIZED: CHUNK, then CHUNK over what it kept."""
    first = yield from chunk_flow(question, paragraphs)
    kept = [paragraphs[i] for i in first.positions]
    return _joined(first, (yield from chunk_flow(question, kept)))


BASELINES: dict[str, Callable[[str, Sequence[Chunk]], Flow[Evidence]]] = {
    "PARAGRAPH": paragraph_flow,
    "CHUNK": chunk_flow,
    **{f"CHUNK {size}": partial(chunk_flow, chunk_tokens=size) for size in SIZES},
    "MAP-REDUCE": map_reduce_flow,
    "MAP-REDUCE OPTIMIZED": map_reduce_optimized_flow,
}


def says_yes(answer: str) -> bool:
    """Whether the first word of an answer, its reasoning left out, means yes."""
    words = _WORD.findall(answer.rpartition("</think>")[2].casefold())
    if words[:1] == ["answer"]:
        del words[0]
    return bool(words) and words[0] in _YES.split()


def _joined(first: Evidence, second: Evidence) -> Evidence:
    """Both passes as one: what the second kept of the first, and what both took."""
    return Evidence(
        positions=tuple(first.positions[i] for i in second.positions),
        cost=first.cost + second.cost,
        dropped=first.dropped + second.dropped,
        degraded=first.degraded + second.degraded,
        answers=first.answers + second.answers,
        failures=first.failures + second.failures,
    )
