"""Which of a text's tokens are words, and which are content words."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from structrag.text.terms import stop_words

_WORD = re.compile(r"[^\W_]+")


def is_word(text: str, spans: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which tokens are no punctuation; all of them where all are.

    Example:
        >>> is_word("Pumps?", np.array([[0, 5], [5, 6]])).tolist()
        [True, False]
    """
    words = _hold(
        np.fromiter(map(str.isalnum, text), dtype=bool, count=len(text)), spans
    )
    return words if words.any() else np.ones(len(words), dtype=bool)


def is_content(
    text: str, spans: NDArray[np.int32], language: str = "english"
) -> NDArray[np.bool_]:
    """Which tokens are of words that are no stop words.

    Those of `is_word` where none is.

    Example:
        >>> is_content("The pumps?", np.array([[0, 3], [4, 9], [9, 10]])).tolist()
        [False, True, False]
    """
    stop = stop_words(language)
    counts = np.zeros(len(text), dtype=bool)
    for word in _WORD.finditer(text):
        if word.group().casefold() not in stop:
            counts[word.start() : word.end()] = True
    content = _hold(counts, spans)
    return content if content.any() else is_word(text, spans)


def _hold(counts: NDArray[np.bool_], spans: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which spans hold a character that counts."""
    before = np.concatenate([[0], np.cumsum(counts)])
    held: NDArray[np.bool_] = before[spans[:, 1]] > before[spans[:, 0]]
    return held
