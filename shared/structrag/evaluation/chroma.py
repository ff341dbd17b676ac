"""The token-level metrics of Chroma's report on chunking.

That is "Evaluating Chunking Strategies for Retrieval" (Smith and Troynikov 2024). They are named
token-level there, but its code (brandonstarxel/chunking_evaluation) counts **characters**. With
`as_coded=True` the quirks of that code are kept, so that published figures reproduce:

- recall divides by the sum of the excerpts, precision and IoU by the sum of the retrieved chunks,
  so that overlap counts twice;
- ranges are closed: a chunk that only touches an excerpt counts as containing it.

The clean version (default) takes unions everywhere and half-open ranges. In both, retrieved chunks
of another corpus count in the denominators only. A question without excerpts scores None. Means go
over questions, not over corpora.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from structrag.errors import check_at_least
from structrag.evaluation.measure import Span, SpanCover, SpanMeasure
from structrag.evaluation.spans import span_iou, span_precision, span_recall

_CHARACTERS = SpanMeasure(unit="char")


@dataclass(frozen=True, slots=True)
class ChromaScores:
    """One question's scores for its retrieved chunks, each in [0, 1].

    Example:
        >>> chroma_scores([("d", 0, 10)], [("d", 0, 20)])
        ChromaScores(recall=1.0, precision=0.5, iou=0.5)
    """

    recall: float
    precision: float
    iou: float


def chroma_scores(
    excerpts: Sequence[Span], retrieved: Sequence[Span], *, as_coded: bool = False
) -> ChromaScores | None:
    """Recall, precision and IoU of the retrieved chunks (5 in the report). They are 0 when nothing
    was retrieved. None without excerpts."""
    if not any(start < end for _, start, end in excerpts):
        return None
    if not as_coded:
        recall = span_recall(excerpts, retrieved, _CHARACTERS)
        precision = span_precision(excerpts, retrieved, _CHARACTERS)
        iou = span_iou(excerpts, retrieved, _CHARACTERS)
        return ChromaScores(recall or 0.0, precision or 0.0, iou or 0.0)
    cover = SpanCover(retrieved, _CHARACTERS)
    covered = sum(
        cover.covered(span) for span in SpanCover(excerpts, _CHARACTERS).spans()
    )
    gold = _total(excerpts)
    uncovered = gold - sum(cover.covered(span) for span in excerpts)
    handed = _total(retrieved)
    return ChromaScores(
        recall=covered / gold,
        precision=covered / handed if handed else 0.0,
        iou=covered / (handed + uncovered),
    )


def precision_omega(
    excerpts: Sequence[Span], chunks: Iterable[Span], *, as_coded: bool = False
) -> float | None:
    """The best precision a chunking allows, in [0, 1].

    It is that of all chunks that meet an excerpt: |union(chunk ∩ excerpt)| / |union of those chunks
    and of the uncovered excerpts|. `chunks` are all of the corpus. Chunks of other documents may be
    among them. Needs no retrieval. None without excerpts.

    Example:
        >>> precision_omega([("d", 5, 15)], [("d", 0, 10), ("d", 10, 20), ("d", 20, 30)])
        0.5
    """
    gold = SpanCover(excerpts, _CHARACTERS)
    if not gold.total:
        return None
    met = _met(excerpts, chunks, as_coded)
    covering = SpanCover(met, _CHARACTERS)
    covered = sum(covering.covered(span) for span in gold.spans())
    return covered / (covering.total + gold.total - covered)


def chunks_to_retrieve(
    excerpts: Sequence[Span],
    chunks: Iterable[Span],
    *,
    limit: int = 20,
    as_coded: bool = False,
) -> int:
    """How many chunks meet the question's excerpts, at most `limit`. This is the report's "Min"
    setting (`retrieve=-1`)."""
    check_at_least("limit", limit, 1)
    return min(limit, len(_met(excerpts, chunks, as_coded)))


def position_as_coded(text: str, chunk_text: str) -> tuple[int, int] | None:
    """Where Chroma's code believes a chunk to be.

    That is the first occurrence of its text, a final "." removed first. So a repeated chunk gets
    the position of the first, and an end can be one short. None when it does not occur (the
    original then searches approximately).
    """
    target = chunk_text.removesuffix(".")
    start = text.find(target)
    return None if start < 0 else (start, start + len(target))


def _met(
    excerpts: Sequence[Span], chunks: Iterable[Span], as_coded: bool
) -> list[Span]:
    """The chunks that share a character with an excerpt. With `as_coded` also those that only touch
    one."""
    by_document: dict[str, list[tuple[int, int]]] = {}
    for doc_id, start, end in excerpts:
        by_document.setdefault(doc_id, []).append((start, end))
    reach = 1 if as_coded else 0
    met = []
    for doc_id, start, end in chunks:
        ranges = by_document.get(doc_id, ())
        if any(max(start, low) < min(end, high) + reach for low, high in ranges):
            met.append((doc_id, start, end))
    return met


def _total(spans: Sequence[Span]) -> int:
    return sum(end - start for _, start, end in spans)
