"""Similarity of vectors, and the central ones among many."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from structrag.text.arrays import similarity
from structrag.text.extractive import central

matrices = arrays(
    np.float64,
    st.tuples(st.integers(1, 12), st.just(4)),
    elements=st.floats(-5, 5, width=32),
)


@given(matrices, matrices, st.floats(0.5, 20))
def test_similarity_is_the_highest_cosine_and_ignores_lengths(
    sentences: np.ndarray, instructions: np.ndarray, factor: float
) -> None:
    found = similarity(sentences, instructions)
    for i, sentence in enumerate(sentences):
        cosines = [
            float(sentence @ other / (np.linalg.norm(sentence) * np.linalg.norm(other)))
            if np.linalg.norm(sentence) > 0 and np.linalg.norm(other) > 0
            else 0.0
            for other in instructions
        ]
        assert found[i] == pytest.approx(max(cosines), abs=1e-6)
    assert similarity(sentences * factor, instructions) == pytest.approx(
        found, abs=1e-6
    )


def test_central_sentences_are_near_the_centre_and_unlike_each_other() -> None:
    vectors = np.array([[1.0, 0.0], [1.0, 0.01], [0.6, 0.8], [-1.0, 0.0]])
    assert central(vectors, [5] * 4, max_sentences=2) == [0, 2]
    assert central(vectors, [5, 5, 5, 5], max_words=9) == [0]
    assert central(vectors, [500] * 4) == [0]
    assert central(np.zeros((0, 2)), []) == []


@given(matrices, st.integers(1, 12), st.integers(1, 60))
def test_central_keeps_both_limits(
    sentences: np.ndarray, most: int, words: int
) -> None:
    lengths = [3 + i for i in range(len(sentences))]
    picked = central(sentences, lengths, max_sentences=most, max_words=words)
    assert picked == sorted(set(picked)) and 1 <= len(picked) <= most
    assert len(picked) == 1 or sum(lengths[i] for i in picked) <= words
    assert picked == central(sentences, lengths, max_sentences=most, max_words=words)
