"""The tokens of a static model and their weights."""

from __future__ import annotations

import pytest
from doubles import HashEmbedder
from static_making import words

from structrag.models.distilling import (  # noqa: E402
    counting_tokens,
    sif_weights,
    word_tokenizer,
)
from structrag.models.static import StaticEmbedder  # noqa: E402


def test_a_given_tokenizers_tokens_are_embedded_as_they_are_written() -> None:
    encoder = HashEmbedder()
    tokenizer = words(["[UNK]", "[unused1]", "cat", "##s", "\u2581dog", "\u0120eat", "<s>"])
    tokenizer.add_special_tokens(["<s>"])
    told: list[tuple[str, int, int]] = []
    static = StaticEmbedder.distil(
        encoder, tokenizer, cache=False, progress=lambda *done: told.append(done)
    )
    assert encoder.texts == ["cat", "s", "dog", "eat"] and told == [
        ("distilling the encoder", 4, 4)
    ]
    assert (
        counting_tokens(tokenizer) == [2, 3, 4, 5] and not static.model.embedding[[0, 1, 6]].any()
    )


def test_weights_rise_with_the_rank_and_single_characters_are_ranked_apart() -> None:
    weights = sif_weights(["a", "b", "the", "of", "##s", "cat"])
    first = 1e-4 / (1e-4 + (1 / 2) / (1 / 2 + 1 / 3 + 1 / 4))
    assert weights[0] == weights[2] == pytest.approx(first)
    assert weights[0] < weights[1] < weights[4] and weights[2] < weights[3] < weights[5]
    assert sif_weights([]).shape == (0,)


def test_words_are_by_frequency_then_alphabet_and_scripts_without_spaces_by_character() -> None:
    tokenizer = word_tokenizer(["b a B c", "\u732b\u732b \u72d7"])
    assert tokenizer.get_vocab() == {"[UNK]": 0, "b": 1, "\u732b": 2, "a": 3, "c": 4, "\u72d7": 5}
    assert tokenizer.encode("A \u732b\u72d7 z").ids == [3, 2, 5, 0]
