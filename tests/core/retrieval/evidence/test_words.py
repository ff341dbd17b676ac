"""Words among a text's tokens."""

from __future__ import annotations

import numpy as np
import pytest

from structrag.retrieval.evidence.words import is_content, is_word


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


def test_a_piece_of_a_word_stands_for_the_word() -> None:
    # "theology" begins with a stop word, cut off as a token of its own
    assert is_content("theology The", spans((0, 3), (3, 8), (9, 12))).tolist() == [
        1,
        1,
        0,
    ]


@pytest.mark.parametrize(
    ("language", "kept"), [("english", [1, 0]), ("finnish", [1, 1])]
)
def test_stop_words_are_those_of_the_language(language: str, kept: list[int]) -> None:
    assert is_content("pump and", spans((0, 4), (5, 8)), language).tolist() == kept


def test_of_stop_words_alone_all_words_count() -> None:
    assert is_content("to be?", spans((0, 2), (3, 5), (5, 6))).tolist() == [1, 1, 0]
