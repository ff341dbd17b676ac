"""Margins by words alone."""

from __future__ import annotations

import numpy as np

from structrag.models.margins import (
    similarity_margins,
    word_margins,
)


def test_word_margins_equal_those_of_dense_tfidf_vectors() -> None:
    from sklearn.feature_extraction.text import TfidfVectorizer

    from structrag.text.terms import Tokenizer

    animals = ["cats", "dogs", "eels", "gnus", "hens"]
    texts = [
        f"{animals[i % 5]} eat {animals[i * i % 5]} near river {i % 3}"
        for i in range(17)
    ] + ["the of and"]
    dense = TfidfVectorizer(
        sublinear_tf=True,
        tokenizer=Tokenizer("english"),
        token_pattern=None,
        lowercase=False,
    )
    vectors = dense.fit_transform(texts).toarray()
    for window, scopes in ((1, None), (4, [(0, 5), (5, 6), (6, 18)])):
        expected = similarity_margins(vectors, window, scopes)
        np.testing.assert_allclose(
            word_margins(texts, window, scopes), expected, atol=1e-9
        )
    assert word_margins(["the", "of", "and"]).tolist() == [0.0, 0.0]
    assert word_margins(["one"]).size == word_margins([]).size == 0
    assert word_margins(
        ["猫吃鱼。", "猫睡觉。", "狗叫。"], 1, language="chinese"
    ).shape == (2,)


def test_two_texts_have_one_gap_which_is_an_average_one() -> None:
    assert word_margins(["cats eat fish", "cats sleep"]).tolist() == [0.0]
    assert word_margins(["the", "of"]).tolist() == [0.0]
