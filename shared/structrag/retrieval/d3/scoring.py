"""Routing and evidence without a language model: scores fused."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter
from structrag.index.levels import query_vectors
from structrag.index.ranking import best_positions
from structrag.index.snapshot import Reader
from structrag.model_calls.flow import ask, handle
from structrag.model_calls.requests import Embed, Flow, Request, T
from structrag.retrieval.d3.outlines import SectionLayout
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.fusion import maxnorm, minmax
from structrag.text.arrays import BoolArray, FloatArray, IntArray, running_totals

PART_WEIGHT = 0.25  # of the score of a paragraph's part, beside 1 for its own


def embedded_by(embedder: Any, flow: Flow[T]) -> Flow[T]:
    """The same steps, embedded by what made an index's vectors, whoever runs them. An embedder
    fitted to an index (LSA) is known to no runner."""

    def answer(request: Request) -> Flow[Any]:
        if isinstance(request, Embed) and request.embedder is None:
            request = replace(request, embedder=embedder)
        return (yield from ask(request))

    return handle(flow, answer)


@dataclass(frozen=True, slots=True)
class ParagraphScore:
    """The scores of one paragraph. `scores` and `parts` are as in `Hit`."""

    score: float  # in [0, 1], the sum of the parts
    # "bm25", "dense" (the cosine) and "route", where there is one.
    scores: Mapping[str, float]
    parts: Mapping[str, float]  # all three


def route_scores(
    reader: Reader, question: str, vector: Any, mask: BoolArray
) -> dict[str, dict[int, float]]:
    """Route ("bm25", "dense") -> row of the mask -> its own score. A row that the route did not
    find is left out."""
    n = int(np.count_nonzero(mask))
    bm25 = reader.search_lexical("raw", question, n, mask)
    dense = [] if vector is None else reader.search_dense("raw", vector, n, mask)
    return {"bm25": dict(bm25), "dense": dict(dense)}


def fused_scores(
    reader: Reader, question: str, vector: Any, mask: BoolArray
) -> dict[int, dict[str, float]]:
    """Row of the mask -> "bm25" and "dense", in [0, 1] each. They are normalised over the rows of
    the mask, as they are summed. A row that a route did not find has 0 from it."""
    return _normalised(route_scores(reader, question, vector, mask), mask)


def _normalised(
    by_route: Mapping[str, Mapping[int, float]], mask: BoolArray
) -> dict[int, dict[str, float]]:
    scores = {row: {"bm25": 0.0, "dense": 0.0} for row in np.flatnonzero(mask).tolist()}
    for name, normalise in (("bm25", maxnorm), ("dense", minmax)):
        values = normalise(list(by_route[name].values())).tolist()
        for row, score in zip(by_route[name], values, strict=True):
            scores[row][name] = score
    return scores


def part_scores_flow(
    reader: Reader, question: str, mask: BoolArray
) -> Flow[dict[int, float]]:
    """The score of each part of the mask, in [0, 1]. It is the mean of BM25 and cosine, both
    normalised. The index texts of parts begin with the heading path."""
    if not mask.any():
        return {}
    (vector,) = yield from query_vectors(reader, question)
    by_row = fused_scores(reader, question, vector, mask)
    return {
        row: (scores["bm25"] + scores["dense"]) / 2 for row, scores in by_row.items()
    }


def wide_route(
    scores: Mapping[int, float],
    layout: SectionLayout,
    *,
    share: float,
    least_tokens: int,
    least_rows: int = 0,
) -> list[int]:
    """The rows of the parts to look into, ascending.

    They are taken best first, up to `share` of the tokens of all together, and in any case up to
    `least_tokens`. A part that does not fit is passed over for smaller ones. The best one is always
    taken. If they have fewer than `least_rows` paragraphs, those passed over follow, best first.
    Nothing where all scores are 0.
    """
    rows = sorted(scores)
    values = np.array([scores[row] for row in rows])
    if not len(rows) or values.max() <= 0:
        return []
    sums = running_totals(layout.tokens)
    parts = layout.parts[rows].tolist()
    sizes = [int(sums[last] - sums[first]) for first, last in parts]
    counts = [last - first for first, last in parts]
    room = max(share * sum(sizes), least_tokens)
    chosen: list[int] = []
    passed: list[int] = []
    for place in best_positions(values, len(rows)).tolist():
        if not chosen or sizes[place] <= room:
            chosen.append(place)
            room -= sizes[place]
        else:
            passed.append(place)
    while passed and sum(counts[place] for place in chosen) < least_rows:
        chosen.append(passed.pop(0))
    return sorted(rows[place] for place in chosen)


def paragraph_scores_flow(
    reader: Reader, question: str, rows: Sequence[int], parts: Mapping[int, float]
) -> Flow[dict[int, ParagraphScore]]:
    """Row -> its score of BM25, cosine and its part's score.

    BM25 and cosine are brought to [0, 1] over the rows. `parts` are the scores of the parts by
    paragraph row; a row that is not there counts 0.
    """
    mask = np.zeros(len(reader), dtype=bool)
    mask[list(rows)] = True
    (vector,) = yield from query_vectors(reader, question)
    by_route: dict[str, Mapping[int, float]] = {
        **route_scores(reader, question, vector, mask),
        "route": parts,
    }
    # without scores of parts a paragraph that is first by BM25 and cosine has 1 too
    highest = 1 + PART_WEIGHT if parts else 1.0
    weights = {"bm25": 0.5, "dense": 0.5, "route": PART_WEIGHT}
    paragraphs: dict[int, ParagraphScore] = {}
    for row, scaled in _normalised(by_route, mask).items():
        route = parts.get(row, 0.0)
        fused = ((scaled["bm25"] + scaled["dense"]) / 2 + PART_WEIGHT * route) / highest
        summed = {**scaled, "route": route}
        paragraphs[row] = ParagraphScore(
            fused,
            {name: scores[row] for name, scores in by_route.items() if row in scores},
            {name: weights[name] * value / highest for name, value in summed.items()},
        )
    return paragraphs


def within_budget(
    scores: Mapping[int, float],
    sizes: IntArray,
    *,
    k: int | None,
    max_tokens: int | None,
) -> list[int]:
    """The rows to keep, best first (ties by row). At most `k`, and together at most `max_tokens`,
    but always the first. The first that does not fit ends it. Rows of score 0 are left out."""
    chosen: list[int] = []
    left: float = inf if max_tokens is None else max_tokens
    rows = sorted(scores)
    values: FloatArray = np.array([scores[row] for row in rows])
    for place in best_positions(values, len(rows) if k is None else k).tolist():
        row = rows[place]
        if values[place] <= 0 or (chosen and sizes[row] > left):
            break
        chosen.append(row)
        left -= int(sizes[row])
    return chosen


def check_evidence(evidence: Any) -> None:
    """Raise InvalidParameter unless it is None or an `EvidenceRetriever`."""
    if evidence is not None and not isinstance(evidence, EvidenceRetriever):
        raise InvalidParameter(
            "evidence must be an EvidenceRetriever over the documents of the index; got "
            f"{type(evidence).__name__}."
        )


def paragraph_sentence_flow(
    evidence: EvidenceRetriever, question: str, layout: SectionLayout, where: Any
) -> Flow[dict[int, float]]:
    """Paragraph row -> the score of its best sentence.

    Scores are in [0, 1] over the documents searched. Rows of other documents are left out.

    Raises:
        InvalidParameter: a document of the index is not in `evidence`.
    """
    missing = layout.documents.keys() - set(evidence.document_ids)
    if missing:
        raise InvalidParameter(
            "evidence must hold every document of the index; it lacks "
            f"{', '.join(map(repr, sorted(missing)[:3]))}. Add them with evidence.add(...)."
        )
    flow = evidence.sentence_scores_flow(question, where=where)
    by_document = yield from embedded_by(evidence.embedder, flow)
    best: dict[int, float] = {}
    for doc_id, scored in by_document.items():
        if doc_id not in layout.documents:
            continue
        first, starts, ends = layout.documents[doc_id]
        places = np.searchsorted(starts, scored.starts, "right") - 1
        # Else a heading, or left out.
        inside = (places >= 0) & (scored.starts < ends[places])
        for place, score in zip(
            places[inside].tolist(), scored.scores[inside], strict=True
        ):
            row = first + place
            best[row] = max(best.get(row, -np.inf), float(score))
    scaled = minmax(list(best.values())).tolist()
    return dict(zip(best, scaled, strict=True))


def part_sentence_scores(
    paragraphs: Mapping[int, float], layout: SectionLayout
) -> dict[int, float]:
    """Part row -> the best of its paragraphs' scores. A part without one is left out."""
    parts: dict[int, float] = {}
    for part, (first, last) in enumerate(layout.parts.tolist()):
        scores = [paragraphs[row] for row in range(first, last) if row in paragraphs]
        if scores:
            parts[part] = max(scores)
    return parts
