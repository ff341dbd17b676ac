"""Static models of few words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from structrag.models.static import StaticEmbedder

model2vec = pytest.importorskip(
    "model2vec", reason="the extra 'static' is not installed"
)
tokenizers = pytest.importorskip(
    "tokenizers", reason="the extra 'static' is not installed"
)


WORDS = ["[UNK]", "cats", "dogs", "eat"]


ROWS = np.array([[0, 0], [3, 0], [0, 4], [2, 2]], dtype=np.float32)


def words(vocabulary: list[str] = WORDS, unknown: str = "[UNK]") -> Any:
    made = tokenizers.Tokenizer(
        tokenizers.models.WordLevel(
            {word: i for i, word in enumerate(vocabulary)}, unk_token=unknown
        )
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    return made


def static_of_rows(
    rows: Any = ROWS,
    tokenizer: Any = None,
    name: str = "tiny",
    *,
    normalise: bool = True,
) -> StaticEmbedder:
    tokenizer = words() if tokenizer is None else tokenizer
    return StaticEmbedder(
        model2vec.StaticModel(rows, tokenizer, normalize=normalise), name
    )
