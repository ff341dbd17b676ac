"""Where documents hold a quote, exactly but for white space."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

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
    """Finds quotes in documents.

    A document is read when it is first searched.

    Example:
        >>> QuoteFinder([Document("The Nova\\nrings.", id="nova")]).find("Nova rings")
        [('nova', 4, 14)]
    """

    documents: Sequence[Document]
    _read: dict[str, _Collapsed] = field(default_factory=dict)

    def find(self, quote: str, doc_ids: Sequence[str] = ()) -> list[Span]:
        """The places of a quote in these documents, in their order.

        Without `doc_ids` all documents are searched. There are at most 1,000 places, none for a
        blank quote. Case and punctuation count. A quote that begins or ends with an ASCII letter
        or digit does not match inside a longer run of those.
        """
        words = " ".join(quote.split())
        if not words:
            return []
        spans: list[Span] = []
        for document in self.documents:
            if doc_ids and document.id not in doc_ids:
                continue
            collapsed = self._read.get(document.id)
            if collapsed is None:
                collapsed = self._read[document.id] = _collapse(document.text)
            for start, end in _places(collapsed, words, MOST_PLACES - len(spans)):
                spans.append((document.id, start, end))
        return spans


def _collapse(text: str) -> _Collapsed:
    words = []
    starts = []
    sources = []
    length = 0
    for match in _WORD.finditer(text):
        words.append(match.group())
        starts.append(length)
        sources.append(match.start())
        length += len(match.group()) + 1
    return _Collapsed(" ".join(words), starts, sources)


def _places(collapsed: _Collapsed, words: str, most: int) -> list[tuple[int, int]]:
    places: list[tuple[int, int]] = []
    at = collapsed.text.find(words)
    while at >= 0 and len(places) < most:
        end = at + len(words)
        if not _runs_on(collapsed.text, at) and not _runs_on(collapsed.text, end):
            places.append((collapsed.source(at), collapsed.source(end - 1) + 1))
        at = collapsed.text.find(words, at + 1)
    return places


def _runs_on(text: str, border: int) -> bool:
    """Whether ASCII letters or digits stand on both sides of a place."""
    sides = text[border - 1 : border + 1] if border else ""
    return len(sides) == 2 and sides.isascii() and sides.isalnum()
