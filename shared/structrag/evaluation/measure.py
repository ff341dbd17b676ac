"""The size of spans, in one of three units."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter, check_choice
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
