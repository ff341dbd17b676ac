"""Selecting evidence: from the paragraphs of the chosen sections to those that answer the question
(D3, section 3.3.2)."""

from __future__ import annotations

from collections.abc import Sequence

from structrag.asking.requests import Steps
from structrag.errors import NoModel
from structrag.records import Chunk
from structrag.retrieval.d3.asking import asking_cost, base_steps, hierbase_steps, short_forms
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.reranking import keep, score_steps
from structrag.retrieval.d3.selection import ASKING, Evidence, Selection, Tally

__all__ = ["Evidence", "Selection", "select_steps", "selection_cost"]


def select_steps(
    question: str, paragraphs: Sequence[Chunk], settings: Selection | None = None
) -> Steps[Evidence]:
    """The evidence for a question among paragraphs in reading order, as steps. No paragraph gives
    no evidence and takes no call.

    Whatever the language model answers, the result is a subset of the paragraphs, in reading order.

    Raises:
        NoModel: the strategy asks a language model or an embedder, and there is none (not with
            "auto" or "lexical").
        InvalidAnswer: a reranker did not give one finite number for each paragraph.
    """
    settings = settings or Selection()
    if settings.strategy != "auto":
        return (yield from _chain_steps(settings.stages, question, paragraphs, settings))
    try:
        return (yield from _chain_steps(("base",), question, paragraphs, settings))
    except NoModel:
        return (yield from _chain_steps(("lexical",), question, paragraphs, settings))


def selection_cost(
    question: str, paragraphs: Sequence[Chunk], settings: Selection | None = None
) -> StageCost:
    """What `select_steps` will take at most, without the answers' tokens: exact for a single
    strategy but "hierbase".

    Of chains and of "hierbase", whose later passes read what earlier ones keep, the most that those
    can keep is counted: the longest paragraphs. "auto" is counted as "base".
    """
    settings = settings or Selection()
    stages = ("base",) if settings.strategy == "auto" else settings.stages
    texts = [paragraph.text for paragraph in paragraphs]
    cost = StageCost()
    for stage in stages:
        if stage not in ASKING:
            cost += StageCost(scored=len(texts))
            longest = sorted(range(len(texts)), key=lambda i: (-settings.counter(texts[i]), i))[
                : settings.chain_k
            ]
            texts = [texts[i] for i in sorted(longest)]
            paragraphs = [paragraphs[i] for i in sorted(longest)]
            continue
        if stage == "hierbase":
            cost += asking_cost(question, short_forms(paragraphs, settings), settings)
        cost += asking_cost(question, texts, settings)
    return cost


def _chain_steps(
    stages: Sequence[str], question: str, paragraphs: Sequence[Chunk], settings: Selection
) -> Steps[Evidence]:
    tally = Tally()
    kept = list(range(len(paragraphs)))
    scores: dict[int, float] = {}
    for number, stage in enumerate(stages, start=1):
        if not kept:
            break
        candidates = [paragraphs[i] for i in kept]
        if stage == "base":
            texts = [paragraph.text for paragraph in candidates]
            chosen = yield from base_steps(question, candidates, texts, settings, tally)
        elif stage == "hierbase":
            chosen = yield from hierbase_steps(question, candidates, settings, tally)
        else:
            values = yield from score_steps(stage, question, candidates, settings)
            tally.cost += StageCost(scored=len(candidates))
            scores = dict(zip(kept, values, strict=True))
            k = settings.k if number == len(stages) else settings.chain_k
            chosen = keep(values, stage, k=k, threshold=settings.threshold)
        kept = [kept[i] for i in chosen]
    return Evidence(
        tuple(kept),
        tuple(scores[i] for i in kept) if scores else None,
        tally.cost,
        tally.dropped,
        tally.degraded,
        tuple(tally.answers),
        tuple(tally.failures),
    )
