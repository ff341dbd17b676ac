"""Words among a text's tokens."""

from __future__ import annotations

import numpy as np

from structrag.retrieval.evidence.words import is_word


def spans(*pairs: tuple[int, int]) -> np.ndarray:
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def test_punctuation_is_no_word_unless_there_is_nothing_else() -> None:
    assert is_word("a-b?", spans((0, 1), (1, 2), (2, 3), (3, 4))).tolist() == [
        1,
        0,
        1,
        0,
    ]
    assert is_word("?!", spans((0, 1), (1, 2))).tolist() == [1, 1]
    assert is_word("", spans()).tolist() == []
