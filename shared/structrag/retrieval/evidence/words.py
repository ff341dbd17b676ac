"""Which of a text's tokens are words."""

from __future__ import annotations

import numpy as np

from structrag.text.arrays import BoolArray, Int32Array, running_totals


def is_word(text: str, spans: Int32Array) -> BoolArray:
    """Which tokens are no punctuation; all of them where all are.

    Example:
        >>> is_word("Pumps?", np.array([[0, 5], [5, 6]])).tolist()
        [True, False]
    """
    counts = np.fromiter(map(str.isalnum, text), dtype=bool, count=len(text))
    before = running_totals(counts)
    words: BoolArray = before[spans[:, 1]] > before[spans[:, 0]]
    return words if words.any() else np.ones(len(words), dtype=bool)
