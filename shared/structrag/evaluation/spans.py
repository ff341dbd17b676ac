"""Retrieved spans against gold spans: recall, precision, and the share of gold that a chunking cuts
apart.

Every function takes spans `(document id, start, end)` and a `SpanMeasure` that fixes the unit. Each
works on unions per document, summed over documents, in O(n log n) for n spans. Without gold (no
gold span, or only gold that weighs nothing in the unit) a score is None: `macro_mean` leaves such a
question out and counts it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate

from structrag.errors import check_choice
from structrag.evaluation.measure import Span, SpanCover, SpanMeasure

_MODES = ("all", "any")


def span_recall(
    gold: Iterable[Span], retrieved: Iterable[Span], measure: SpanMeasure, *, mode: str = "all"
) -> float | None:
    """|union(retrieved) ∩ union(gold)| / |union(gold)|, in [0, 1]; 0 with nothing retrieved, None
    without gold.

    mode: "all" takes all gold spans together as the evidence. "any" takes them as alternatives,
    such as the occurrences of an answer: the score of the best single gold span.
    """
    check_choice("mode", mode, _MODES)
    gold = list(gold)
    found = SpanCover(retrieved, measure)
    wanted = SpanCover(gold, measure)
    if not wanted.total:
        return None
    if mode == "any":
        sized = [(span, measure.size(*span)) for span in gold]
        return max(found.covered(span) / size for span, size in sized if size)
    return _shared(wanted, found) / wanted.total


def paper_recall(
    gold: Iterable[Span], retrieved: Iterable[Span], measure: SpanMeasure
) -> float | None:
    """Recall as MC-indexing defines it: the sum over retrieved chunks of |chunk ∩ gold| / |gold|.

    Only for reproduction: text in two overlapping chunks counts twice, so the value can exceed 1.
    Equal to `span_recall` without overlap. None without gold.
    """
    wanted = SpanCover(gold, measure)
    if not wanted.total:
        return None
    return sum(wanted.covered(span) for span in retrieved) / wanted.total


def span_precision(
    gold: Iterable[Span], retrieved: Iterable[Span], measure: SpanMeasure
) -> float | None:
    """|union(retrieved) ∩ union(gold)| / |union(retrieved)|, in [0, 1]; 0 with nothing retrieved,
    None without gold.

    Retrieved spans of other documents count in the denominator, so the measure must know their
    texts.
    """
    wanted, found = SpanCover(gold, measure), SpanCover(retrieved, measure)
    if not wanted.total:
        return None
    return _shared(wanted, found) / found.total if found.total else 0.0


def span_f1(gold: Iterable[Span], retrieved: Iterable[Span], measure: SpanMeasure) -> float | None:
    """The harmonic mean of span precision and span recall: 2 |shared| / (|retrieved| + |gold|);
    None without gold."""
    wanted, found = SpanCover(gold, measure), SpanCover(retrieved, measure)
    if not wanted.total:
        return None
    return 2 * _shared(wanted, found) / (wanted.total + found.total)


def span_iou(gold: Iterable[Span], retrieved: Iterable[Span], measure: SpanMeasure) -> float | None:
    """Intersection over union of retrieved and gold text: |shared| / |retrieved ∪ gold|; None
    without gold."""
    wanted, found = SpanCover(gold, measure), SpanCover(retrieved, measure)
    if not wanted.total:
        return None
    shared = _shared(wanted, found)
    return shared / (wanted.total + found.total - shared)


def chunking_error(
    gold: Iterable[Span], chunks: Iterable[Span], texts: Mapping[str, str] | None = None
) -> float | None:
    """The share of gold spans that no single chunk contains, in [0, 1]. No retrieval involved.

    Outer white space of a gold span is trimmed first when `texts` has its document; blank gold
    spans are left out. None when no gold span remains. A repeated gold span counts each time.
    """
    trimmed = [_trim(span, texts or {}) for span in gold]
    wanted = [span for span in trimmed if span[1] < span[2]]
    if not wanted:
        return None
    by_document: dict[str, list[tuple[int, int]]] = {}
    for doc_id, start, end in chunks:
        by_document.setdefault(doc_id, []).append((start, end))
    starts: dict[str, list[int]] = {}
    reach: dict[str, list[int]] = {}  # the furthest end of the chunks up to and including this one
    for doc_id, ranges in by_document.items():
        ranges.sort()
        starts[doc_id] = [start for start, _ in ranges]
        reach[doc_id] = list(accumulate((end for _, end in ranges), max))
    whole = sum(
        _contains(starts.get(doc_id, []), reach.get(doc_id, []), start, end)
        for doc_id, start, end in wanted
    )
    return 1 - whole / len(wanted)


def _contains(starts: Sequence[int], reach: Sequence[int], start: int, end: int) -> bool:
    last = bisect_right(starts, start) - 1
    return last >= 0 and reach[last] >= end


def _trim(span: Span, texts: Mapping[str, str]) -> Span:
    doc_id, start, end = span
    if doc_id not in texts:
        return span
    piece = texts[doc_id][start:end]
    left = len(piece) - len(piece.lstrip())
    return doc_id, start + left, start + max(left, len(piece.rstrip()))


def _shared(wanted: SpanCover, found: SpanCover) -> int:
    return sum(found.covered(span) for span in wanted.spans())
