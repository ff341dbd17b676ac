"""The size of spans in one of three units, and retrieved spans against gold spans: recall, gold cut
apart, recall at an equal token budget.

Functions of spans take `(document id, start, end)` and a `SpanMeasure` that fixes the unit. They
work on unions per document, summed over documents, in O(n log n) for n spans. Without gold (no gold
span, or only gold that weighs nothing in the unit) a score is None. k chunks of 43 words and k of
500 are different offers, the same number of tokens is not.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.reading.outline import Outline
from structrag.records import Chunk

Span = tuple[str, int, int]
"""(document id, start, end): a half-open range of characters into that document's text."""

TokenSpans = Callable[[str], Sequence[tuple[int, int]]]
"""A tokenizer with offsets: text -> the (start, end) characters of each token, in order."""

_UNITS = ("nonspace", "char", "token")
_WHITE_SPACE = np.array(
    [code for code in range(0x3001) if chr(code).isspace()], dtype=np.uint32
)


class SpanMeasure:
    """The size of any span of some texts.

    It uses prefix sums that are built once per document.

    Example:
        >>> SpanMeasure({"d": "The Nova rings."}).size("d", 0, 8)
        7

    unit: "nonspace" counts characters that are not white space, so that two chunks whose border
    was trimmed can still cover a gold span that crosses it. "char" counts all characters and needs
    no texts. "token" counts the tokens of `token_spans`, each at its first character that is not
    white space (its first character when it is blank). So no token is counted in two neighbouring
    spans.

    ignore: spans that weigh nothing, such as `heading_spans` for splitters that drop headings.
    """

    __slots__ = ("_ignored", "_prefixes", "_token_spans", "texts", "unit")

    def __init__(
        self,
        texts: Mapping[str, str] | None = None,
        unit: str = "nonspace",
        *,
        token_spans: TokenSpans | None = None,
        ignore: Iterable[Span] = (),
    ) -> None:
        self.unit: str = check_choice("unit", unit, _UNITS)
        if unit == "token" and token_spans is None:
            raise InvalidParameter(
                "token_spans must be a function from a text to token offsets "
                "for unit='token'; got None."
            )
        self.texts: Mapping[str, str] = {} if texts is None else texts
        self._token_spans = token_spans
        self._ignored = merge(ignore)
        self._prefixes: dict[str, np.ndarray[Any, np.dtype[np.int64]]] = {}

    def text(self, doc_id: str) -> str:
        """The text of one document.

        Raises:
            InvalidParameter: it was not given.
        """
        try:
            return self.texts[doc_id]
        except KeyError:
            raise InvalidParameter(
                f"texts must hold every document that a span names; got none for {doc_id!r}. "
                "Pass it to SpanMeasure."
            ) from None

    def size(self, doc_id: str, start: int, end: int) -> int:
        """The units in `[start, end)` of the document.

        Raises:
            InvalidParameter: the span reaches outside the text.
        """
        if (
            self.unit == "char"
            and doc_id not in self._ignored
            and doc_id not in self.texts
        ):
            return end - start
        prefix = self._prefixes.get(doc_id)
        if prefix is None:
            prefix = self._prefixes[doc_id] = self._prefix(doc_id)
        if not 0 <= start <= end < len(prefix):
            raise InvalidParameter(
                f"A span must lie inside its document's {len(prefix) - 1} characters; got "
                f"({doc_id!r}, {start}, {end})."
            )
        return int(prefix[end] - prefix[start])

    def _prefix(self, doc_id: str) -> np.ndarray[Any, np.dtype[np.int64]]:
        text = self.text(doc_id)
        codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")
        weights = np.ones(len(text), dtype=np.int64)
        if self.unit == "nonspace":
            weights[np.isin(codes, _WHITE_SPACE)] = 0
        elif self._token_spans is not None and self.unit == "token":
            weights[:] = 0
            for start, end in self._token_spans(text):
                piece = text[start:end]
                blank = len(piece) - len(piece.lstrip())
                if blank < len(piece):
                    weights[start + blank] += 1
                elif piece:
                    weights[start] += 1
        for start, end in self._ignored.get(doc_id, ()):
            weights[start:end] = 0
        return np.concatenate(([0], np.cumsum(weights)))


class SpanCover:
    """A union of spans that says how much of another it covers.

    That takes O(log n).

    Example:
        >>> SpanCover([("d", 0, 10), ("d", 5, 20)], SpanMeasure(unit="char")).covered(("d", 15, 30))
        5
    """

    __slots__ = ("_before", "_measure", "_ranges", "_starts", "total")

    def __init__(self, spans: Iterable[Span], measure: SpanMeasure) -> None:
        self._measure = measure
        self._ranges = merge(spans)
        self._starts: dict[str, list[int]] = {}
        self._before: dict[str, list[int]] = {}  # units in the ranges before each
        for doc_id, ranges in self._ranges.items():
            sizes = [measure.size(doc_id, start, end) for start, end in ranges]
            self._starts[doc_id] = [start for start, _ in ranges]
            self._before[doc_id] = list(accumulate(sizes, initial=0))
        self.total: int = sum(before[-1] for before in self._before.values())

    def spans(self) -> list[Span]:
        """The merged spans, disjoint and not touching. They come by document in the order first
        seen, then by start."""
        return [
            (doc_id, *pair)
            for doc_id, ranges in self._ranges.items()
            for pair in ranges
        ]

    def covered(self, span: Span) -> int:
        """The units of `span` that lie in the union."""
        doc_id, start, end = span
        return self._up_to(doc_id, end) - self._up_to(doc_id, start)

    def _up_to(self, doc_id: str, offset: int) -> int:
        run = bisect_right(self._starts.get(doc_id, ()), offset) - 1
        if run < 0:
            return 0
        start, end = self._ranges[doc_id][run]
        return self._before[doc_id][run] + self._measure.size(
            doc_id, start, min(offset, end)
        )


def merge(spans: Iterable[Span]) -> dict[str, list[tuple[int, int]]]:
    """The union of spans per document as sorted, disjoint ranges.

    Touching ranges are joined, empty ones dropped.

    Raises:
        InvalidParameter: a span starts below 0 or ends before it starts.
    """
    by_document: dict[str, list[tuple[int, int]]] = {}
    for doc_id, start, end in spans:
        if not 0 <= start <= end:
            raise InvalidParameter(
                f"A span must have 0 <= start <= end; got ({doc_id!r}, {start}, {end})."
            )
        if start < end:
            by_document.setdefault(doc_id, []).append((start, end))
    merged: dict[str, list[tuple[int, int]]] = {}
    for doc_id, ranges in by_document.items():
        ranges.sort()
        union = [ranges[0]]
        for start, end in ranges[1:]:
            if start <= union[-1][1]:
                union[-1] = (union[-1][0], max(union[-1][1], end))
            else:
                union.append((start, end))
        merged[doc_id] = union
    return merged


def spans_of(chunks: Iterable[Chunk]) -> list[Span]:
    """The spans of chunks, in their order."""
    return [chunk.span for chunk in chunks]


def heading_spans(outline: Outline) -> list[Span]:
    """The heading lines of a document, for `SpanMeasure(ignore=...)`. Front matter is not a
    heading."""
    return [
        (section.doc_id, section.start, section.body_start)
        for section in outline.sections[1:]
    ]


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


Sizes = Sequence[int] | Callable[[str], int]
"""Tokens handed over per chunk, in rank order, or a token counter to apply to each chunk's text."""

_CUTS = ("truncate", "stop")


def tokens_taken(
    sizes: Sequence[int], budget: int, *, cut: str = "truncate"
) -> list[int]:
    """Return how many tokens of each chunk are handed over within a budget.

    Chunks are taken in rank order. The list ends where the budget does, so it may be shorter than
    `sizes`. Its sum is what the reader gets. Overlapping text is paid for each time.

    cut: "truncate" takes the part of the crossing chunk that still fits. "stop" leaves that chunk
    and all after it out, but always takes one chunk, so it can exceed the budget.

    Example:
        >>> tokens_taken([40, 40, 40], 100)
        [40, 40, 20]
        >>> tokens_taken([40, 40, 40], 100, cut="stop")
        [40, 40]
    """
    check_choice("cut", cut, _CUTS)
    check_at_least("budget", budget, 1)
    left, taken = budget, []
    for size in map(int, sizes):
        check_at_least("sizes", size, 0)
        if size > left:
            if cut == "truncate" and left:
                taken.append(left)
            elif cut == "stop" and not taken:
                taken.append(size)
            break
        taken.append(size)
        left -= size
    return taken


def spans_at_budget(
    ranking: Sequence[Span],
    budget: int,
    measure: SpanMeasure,
    *,
    sizes: Sizes,
    cut: str = "truncate",
    token_spans: TokenSpans | None = None,
) -> list[Span]:
    """The spans of a ranking that fit into `budget` tokens.

    The last one may be cut short (see `tokens_taken`).

    sizes: tokens per chunk as the reader gets it, or a counter for the text alone.
    token_spans: with it a cut falls on the end of a token of the chunk's text, and tokens of
    `sizes` beyond the text's own (a context shown in front) are spent first. Without it the cut is
    proportional in characters.
    """

    def text(span: Span) -> str:
        doc_id, start, end = span
        return measure.text(doc_id)[start:end]

    if callable(sizes):
        sizes = [sizes(text(span)) for span in ranking]
    elif len(sizes) != len(ranking):
        raise InvalidParameter(
            f"sizes must have one entry per ranked chunk, here {len(ranking)}; got {len(sizes)}."
        )
    spans = []
    taken = tokens_taken(sizes, budget, cut=cut)
    for span, size, left in zip(ranking, sizes, taken, strict=False):
        doc_id, start, end = span
        if left < size and token_spans is None:
            end = start + (end - start) * left // size
        elif left < size and token_spans is not None:
            end = start + _characters_of(left, size, token_spans(text(span)))
        spans.append((doc_id, start, end))
    return spans


def recall_at_budget(
    gold: Iterable[Span],
    ranking: Sequence[Span],
    budget: int,
    measure: SpanMeasure,
    *,
    sizes: Sizes,
    cut: str = "truncate",
    token_spans: TokenSpans | None = None,
    mode: str = "all",
) -> float | None:
    """`span_recall` of what fits into `budget` tokens.

    Chunks are taken in rank order. None without gold. Never decreases with the budget, and equals
    the recall of the whole ranking once that fits. Usual budgets: 500, 1,000, 2,000, 4,000. The
    other parameters: see `spans_at_budget` and `span_recall`.

    Example:
        >>> ranking = [("d", 0, 100), ("d", 100, 200)]
        >>> measure = SpanMeasure(unit="char")
        >>> recall_at_budget([("d", 90, 110)], ranking, 30, measure, sizes=[25, 25])
        1.0
    """
    spans = spans_at_budget(
        ranking, budget, measure, sizes=sizes, cut=cut, token_spans=token_spans
    )
    return span_recall(gold, spans, measure, mode=mode)


def _characters_of(taken: int, size: int, tokens: Sequence[tuple[int, int]]) -> int:
    """Return the length of a chunk's first tokens in characters."""
    # Tokens beyond the text's own are a context in front of it, which is spent first.
    of_text = taken - max(0, size - len(tokens))
    if of_text <= 0 or not tokens:
        return 0
    return tokens[min(of_text, len(tokens)) - 1][1]
