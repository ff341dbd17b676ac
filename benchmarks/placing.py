"""Where the chunks of a splitter that gives texts only stand in the source.

White space does not count, since most splitters strip or replace some. A text that is not in the
source (another library's reading of a table, of emphasis, of links) is placed where most of its
words follow each other in the source.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from structrag.records import Chunk, Document
from structrag.text.tokens import count_tokens

GRAM = 3  # words that must follow each other
_WORD = re.compile(r"\w+")


@dataclass
class _Source:
    """A text without its white space, and its words, each with places in the text."""

    text: str
    bare: str = field(init=False)
    places: list[int] = field(init=False)  # of each character of `bare`
    words: list[str] = field(init=False)
    spans: list[tuple[int, int]] = field(init=False)  # of each word
    grams: dict[tuple[str, ...], list[int]] = field(
        init=False
    )  # words in a row -> numbers of the first ones

    def __post_init__(self) -> None:
        self.places = [
            place
            for place, character in enumerate(self.text)
            if not character.isspace()
        ]
        self.bare = "".join(self.text.split())
        found = list(_WORD.finditer(self.text))
        self.words = [match.group().lower() for match in found]
        self.spans = [match.span() for match in found]
        self.grams = {}
        for number in range(len(self.words) - GRAM + 1):
            self.grams.setdefault(tuple(self.words[number : number + GRAM]), []).append(
                number
            )


def placed(
    document: Document, texts: Sequence[str], contexts: Sequence[str] = ()
) -> list[Chunk]:
    """The chunks at their places; texts that are nowhere in the document, or where another chunk
    is, are left out. `contexts`: for each text what its index text begins with; none: nothing."""
    source = _Source(document.text)
    chunks: dict[tuple[int, int], Chunk] = {}
    start = end = 0  # of the chunk before, in characters
    for text, context in zip(texts, contexts or [""] * len(texts), strict=True):
        span = _exactly(source, text, start, end) or _by_words(source, text, start)
        if span is not None:
            start, end = span
            chunks.setdefault(span, _chunk(document, span, text, context))
    return list(chunks.values())


def _exactly(
    source: _Source, text: str, start: int, end: int
) -> tuple[int, int] | None:
    bare = "".join(text.split())
    if not bare:
        return None
    behind, overlapping = (
        bisect_left(source.places, end),
        bisect_left(source.places, start + 1 if end else 0),
    )
    at = (
        behind
        if source.bare.startswith(bare, behind)
        else source.bare.find(bare, overlapping)
    )
    return (
        None if at < 0 else (source.places[at], source.places[at + len(bare) - 1] + 1)
    )


def _by_words(source: _Source, text: str, start: int) -> tuple[int, int] | None:
    """Where most of its words follow each other as they do in the text, at most twice as many words
    long; of equals the next one."""
    words = [word.lower() for word in _WORD.findall(text)]
    size = max(len(words), GRAM)
    grams = {
        tuple(words[number : number + GRAM]) for number in range(len(words) - GRAM + 1)
    }
    found = sorted(number for gram in grams for number in source.grams.get(gram, ()))
    if not found:
        return None
    votes = Counter(number // size for number in found)
    expected = bisect_left(source.spans, (start, 0)) // size
    best = max(
        sorted(votes),
        key=lambda window: (votes[window] + votes[window + 1], -abs(window - expected)),
    )
    inside = [number for number in found if best <= number // size <= best + 1]
    return source.spans[inside[0]][0], source.spans[inside[-1] + GRAM - 1][1]


def _chunk(document: Document, span: tuple[int, int], text: str, context: str) -> Chunk:
    start, end = span
    name = f"{document.id}:{start}-{end}"
    return Chunk(
        name,
        document.id,
        "",
        start,
        end,
        text,
        context=context,
        n_tokens=count_tokens(text),
    )
