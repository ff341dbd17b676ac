"""Where documents hold a quote: exactly, except that any white space equals any other."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate

from structrag.evaluation.measure import Span
from structrag.records import Document

MOST_PLACES = 1000  # of one quote; an answer that is found more often tells nothing
_WORD = re.compile(r"\S+")


@dataclass(frozen=True, slots=True)
class _Collapsed:
    """A text with single spaces, and where its words were."""

    text: str
    starts: list[int]  # of each word in `text`
    sources: list[int]  # of each word in the document

    def source(self, offset: int) -> int:
        """The document's character for a character of a word."""
        word = bisect_right(self.starts, offset) - 1
        return self.sources[word] + offset - self.starts[word]


@dataclass(frozen=True, slots=True)
class QuoteFinder:
    """Finds quotes in documents; each document is read when it is first searched."""

    documents: Sequence[Document]
    _read: dict[str, _Collapsed] = field(default_factory=dict)

    def find(self, quote: str, doc_ids: Sequence[str] = ()) -> list[Span]:
        """The places of a quote in these documents (none given: in all), in their order, at most
        1,000; none for a blank quote.

        Case and punctuation count. A quote that begins or ends with an ASCII letter or digit does
        not match inside a longer run of those.
        """
        wanted = " ".join(quote.split())
        if not wanted:
            return []
        found: list[Span] = []
        for document in self.documents:
            if doc_ids and document.id not in doc_ids:
                continue
            collapsed = self._read.get(document.id)
            if collapsed is None:
                collapsed = self._read[document.id] = _collapse(document.text)
            found += [
                (document.id, start, end)
                for start, end in _places(collapsed, wanted, MOST_PLACES - len(found))
            ]
        return found


def _collapse(text: str) -> _Collapsed:
    words = list(_WORD.finditer(text))
    starts = list(accumulate((match.end() - match.start() + 1 for match in words), initial=0))
    return _Collapsed(
        " ".join(match.group() for match in words), starts[: len(words)], [m.start() for m in words]
    )


def _places(collapsed: _Collapsed, wanted: str, most: int) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    at = collapsed.text.find(wanted)
    while at >= 0 and len(places) < most:
        end = at + len(wanted)
        if not _runs_on(collapsed.text, at) and not _runs_on(collapsed.text, end):
            places.append((collapsed.source(at), collapsed.source(end - 1) + 1))
        at = collapsed.text.find(wanted, at + 1)
    return places


def _runs_on(text: str, border: int) -> bool:
    """Whether ASCII letters or digits stand on both sides of a place."""
    sides = text[border - 1 : border + 1] if border else ""
    return len(sides) == 2 and sides.isascii() and sides.isalnum()
