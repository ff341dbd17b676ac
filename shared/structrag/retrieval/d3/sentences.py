"""D3's stages by the best sentences, as evidence scores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter
from structrag.model_calls.requests import Flow
from structrag.retrieval.d3.layout import SectionLayout
from structrag.retrieval.d3.scoring import embedded_by
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.fusion import minmax


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
