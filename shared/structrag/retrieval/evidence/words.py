"""Which of a text's tokens are words."""

from __future__ import annotations

import re

import numpy as np

from structrag.text.arrays import BoolArray, Int32Array, running_totals

_MARKED_LETTER = re.compile(r"(?<![\w+#.])[^\W\d_](\+\+?|#)(?![\w+#])")


def is_word(text: str, spans: Int32Array) -> BoolArray:
    """Which tokens are no punctuation; all of them where all are.

    Of "C++" and "C#" it is the signs that count, since the letter alone is another word.

    Example:
        >>> is_word("Pumps?", np.array([[0, 5], [5, 6]])).tolist()
        [True, False]
    """
    counts = np.fromiter(map(str.isalnum, text), dtype=bool, count=len(text))
    for match in _MARKED_LETTER.finditer(text):
        counts[match.start()] = False
        counts[slice(*match.span(1))] = True
    before = running_totals(counts)
    words: BoolArray = before[spans[:, 1]] > before[spans[:, 0]]
    return words if words.any() else np.ones(len(words), dtype=bool)
