"""Paragraphs in as few calls as reading order allows (D3, strategy BASE)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from structrag.errors import check_at_least
from structrag.text.sentences import LANGUAGES, safe_cuts, sentence_spans, word_starts
from structrag.text.tokens import TokenCounter, count_tokens


@dataclass(frozen=True, slots=True)
class ShownParagraph:
    """A paragraph in a call, or a piece of a long one."""

    position: int  # of the paragraph in the sequence that was packed
    start: int  # first character of its text that is shown
    end: int  # behind the last
    tokens: int  # what it takes of the call's budget, its label included


def pack_calls(
    texts: Sequence[str],
    budget: int,
    counter: TokenCounter = count_tokens,
    *,
    label_tokens: int = 0,
    language: str = "english",
) -> list[list[ShownParagraph]]:
    """Fill calls of at most `budget` tokens with the texts in order.

    Next-fit: each text is in one call, whole. A text above the budget is cut by sentences (a
    sentence above it by words, a word by characters) into pieces that share its position. Its first
    piece starts a new call, and what follows may share the call of its last: so a larger budget
    never gives more calls. Every part takes `label_tokens` besides its text. No text gives no call.
    400, 300, 500, 200, 900 and 100 tokens in a budget of 1,000: (400 300) (500 200) (900 100).

    Only a single code point that counts more than the whole budget makes a longer call.

    Raises:
        InvalidParameter: the budget does not exceed `label_tokens`.
    """
    check_at_least("budget", budget, label_tokens + 1)
    calls: list[list[ShownParagraph]] = []
    room = 0
    for position, text in enumerate(texts):
        tokens = label_tokens + counter(text)
        if calls and tokens <= room:
            calls[-1].append(ShownParagraph(position, 0, len(text), tokens))
            room -= tokens
            continue
        spans = [(0, len(text))]
        if tokens > budget:
            spans = cut_pieces(text, budget - label_tokens, counter, language=language)
        for start, end in spans:
            tokens = label_tokens + counter(text[start:end])
            calls.append([ShownParagraph(position, start, end, tokens)])
            room = budget - tokens
    return calls


def cut_pieces(
    text: str,
    budget: int,
    counter: TokenCounter = count_tokens,
    *,
    language: str = "english",
) -> list[tuple[int, int]]:
    """Spans that tile the text, each of at most `budget` tokens.

    They are in order, each of as many whole sentences as fit. A sentence above the budget starts a
    piece and is cut by words, a word above it by characters; the piece with its end goes on with
    the next sentences. "" gives no span.
    """
    rules = language if language in LANGUAGES else "english"
    sentences = [end for _, end in sentence_spans(text, language=rules)] or [len(text)]
    words = [*word_starts(text), len(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        stop = _furthest(text, start, sentences, budget, counter) or _furthest(
            text, start, words, budget, counter
        )
        if not stop:
            word_end = words[bisect_left(words, start + 1)]
            window = min(word_end, start + max(4096, 64 * budget))
            characters = [*safe_cuts(text, start, window), window]
            stop = _furthest(text, start, characters, budget, counter)
            if not stop:  # not even one character as readers see it fits
                points = range(start + 1, characters[0])
                stop = _furthest(text, start, points, budget, counter) or start + 1
        spans.append((start, stop))
        start = stop
    return spans


def _furthest(
    text: str, start: int, stops: Sequence[int], budget: int, counter: TokenCounter
) -> int:
    """The last stop such that `text[start:stop]` fits; 0: there is none. Gallops, then halves, so
    that what is counted is a small multiple of the piece."""
    first = high = bisect_left(stops, start + 1)
    low, step = first - 1, 1
    while high < len(stops) and counter(text[start : stops[high]]) <= budget:
        low, high, step = high, high + step, step * 2
    high = min(high, len(stops))
    while high - low > 1:
        middle = (low + high) // 2
        if counter(text[start : stops[middle]]) <= budget:
            low = middle
        else:
            high = middle
    return stops[low] if low >= first else 0
