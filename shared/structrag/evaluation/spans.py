"""Retrieved spans against gold spans: recall, gold cut apart.

Every function takes spans `(document id, start, end)` and a `SpanMeasure` that fixes the unit. Each
works on unions per document, summed over documents, in O(n log n) for n spans. Without gold (no
gold span, or only gold that weighs nothing in the unit) a score is None.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping
from itertools import accumulate

from structrag.errors import check_choice
from structrag.evaluation.measure import Span, SpanCover, SpanMeasure

_MODES = ("all", "any")


def span_recall(
    gold: Iterable[Span],
    retrieved: Iterable[Span],
    measure: SpanMeasure,
    *,
    mode: str = "all",
) -> float | None:
    """The share of the gold that was retrieved, in [0, 1].

    |union(retrieved) ∩ union(gold)| / |union(gold)|. 0 with nothing retrieved, None without gold.

    mode: "all" takes all gold spans together as the evidence. "any" takes them as alternatives,
    such as the occurrences of an answer: the score of the best single gold span.

    Example:
        >>> span_recall([("d", 0, 10)], [("d", 0, 8), ("d", 20, 40)], SpanMeasure(unit="char"))
        0.8
    """
    check_choice("mode", mode, _MODES)
    gold = list(gold)
    evidence, cover = SpanCover(gold, measure), SpanCover(retrieved, measure)
    if not evidence.total:
        return None
    if mode == "any":
        sized = [(span, measure.size(*span)) for span in gold]
        return max(cover.covered(span) / size for span, size in sized if size)
    return sum(map(cover.covered, evidence.spans())) / evidence.total


def chunking_error(
    gold: Iterable[Span], chunks: Iterable[Span], texts: Mapping[str, str] | None = None
) -> float | None:
    """The share of gold spans that no single chunk contains.

    In [0, 1]. No retrieval is involved. Outer white space of a gold span is trimmed first when
    `texts` has its document. Blank gold spans are left out. None when no gold span remains. A
    repeated gold span counts each time.

    Example:
        >>> chunking_error([("d", 0, 8), ("d", 8, 12)], [("d", 0, 10), ("d", 10, 20)])
        0.5
    """
    trimmed = [_trim(span, texts or {}) for span in gold]
    filled = [span for span in trimmed if span[1] < span[2]]
    if not filled:
        return None
    by_document: dict[str, list[tuple[int, int]]] = {}
    for doc_id, start, end in chunks:
        by_document.setdefault(doc_id, []).append((start, end))
    chunks_of = {doc_id: _Ranges(ranges) for doc_id, ranges in by_document.items()}
    whole = 0
    for doc_id, start, end in filled:
        whole += doc_id in chunks_of and chunks_of[doc_id].hold(start, end)
    return 1 - whole / len(filled)


class _Ranges:
    """Ranges of one document, which may overlap."""

    def __init__(self, ranges: list[tuple[int, int]]) -> None:
        ranges.sort()
        self.starts = [start for start, _ in ranges]
        # The furthest end of the ranges up to and including each.
        self.reach = list(accumulate((end for _, end in ranges), max))

    def hold(self, start: int, end: int) -> bool:
        """Return True if one of the ranges contains `[start, end)`."""
        last = bisect_right(self.starts, start) - 1
        return last >= 0 and self.reach[last] >= end


def _trim(span: Span, texts: Mapping[str, str]) -> Span:
    doc_id, start, end = span
    if doc_id not in texts:
        return span
    piece = texts[doc_id][start:end]
    left = len(piece) - len(piece.lstrip())
    return doc_id, start + left, start + max(left, len(piece.rstrip()))
