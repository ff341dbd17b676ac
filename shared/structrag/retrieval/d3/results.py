"""What D3 gives: the evidence, how it was found, and its cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from structrag.index.ranking import SCORE_DIGITS
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.d3.routing import RouteResult
from structrag.retrieval.d3.selection import Evidence

# The scores and the parts of a hit.
Details = tuple[Mapping[str, float], Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class D3Result:
    """The answer to one question.

    Attributes:
        question: As asked.
        hits: The evidence, paragraphs in reading order. `rank` is by score, else by place. `score`
            is from 0 to 1, and those of one question compare. 1 has with "fused" what is first by
            BM25, cosine and part among the paragraphs routed to; with "evidence" the best of all
            paragraphs searched; with "lexical" and "dense" the best routed to. A reranker gives the
            probability. Where a language model alone chose, each has 1. With "fused" `scores` has
            BM25, cosine and the score of the part that a paragraph lies in ("bm25", "dense",
            "route"), and `parts` what each adds; with another strategy that scores, its own score
            and its share of the score. `chunk.extras["route"]` is `route.how`.
        route: The sections it was looked for in.
        evidence: How it was selected; positions are those among the paragraphs of the route.
        cost: Stage ("route", "select") -> what it took.
    """

    question: str
    hits: tuple[Hit, ...] = ()
    route: RouteResult = field(default_factory=RouteResult)
    evidence: Evidence = field(default_factory=lambda: Evidence(()))
    cost: Mapping[str, StageCost] = field(default_factory=dict)

    @property
    def total(self) -> StageCost:
        """The cost of all stages together."""
        return sum(self.cost.values(), StageCost())

    @property
    def dropped(self) -> int:
        """Items in the language model's answers that matched nothing it was shown."""
        return self.route.dropped + self.evidence.dropped

    @property
    def degraded(self) -> int:
        """Calls that failed and were replaced by scores."""
        return self.route.degraded + self.evidence.degraded


def hits_of(
    chunks: Sequence[Chunk], evidence: Evidence, details: Sequence[Details], how: str
) -> list[Hit]:
    """Hits in the order of the chunks, ranked by score, then place.

    Without scores they are ranked by place, and each has 1.0. `how` they were routed to is noted
    in their chunks.
    """
    values = evidence.scores or [1.0] * len(chunks)
    shares = evidence.shares or values
    order = sorted(range(len(chunks)), key=lambda i: -round(values[i], SCORE_DIGITS))
    ranks = {i: rank for rank, i in enumerate(order, start=1)}
    hits = []
    for i, chunk in enumerate(chunks):
        scores, parts = details[i] if details else ({}, {})
        chunk = replace(chunk, extras={**chunk.extras, "route": how})
        hits.append(Hit(chunk, shares[i], ranks[i], scores=scores, parts=parts))
    return hits


def scores_by_strategy(evidence: Evidence) -> list[Details]:
    """The scores and parts of hits that one strategy scored, else nothing."""
    if evidence.scores is None or evidence.shares is None:
        return []
    name = evidence.scored_by
    pairs = zip(evidence.scores, evidence.shares, strict=True)
    return [({name: score}, {name: share}) for score, share in pairs]
