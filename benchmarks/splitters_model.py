"""One encoder for all splitters: what it is given is watched, or its answers are looked up instead
of computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Encode = Callable[..., Any]


@dataclass
class Seen:
    """The texts that an encoder was given, in order."""

    texts: list[str] = field(default_factory=list)

    def tokens(self, model: Any) -> int:
        """Tokens that the encoder read: special tokens included, what is behind its limit not."""
        return sum(
            min(size, model.max_seq_length) for size in token_counts(model, self.texts)
        )


@dataclass
class Given:
    """Vectors by text, made at random when a text is first seen, and looked up afterwards.

    Attributes:
        dimension: Of the vectors.
        vectors: Text -> vector, float32.
        generator: Seeded, so that equal runs make equal vectors.
    """

    dimension: int = 384
    vectors: dict[str, Any] = field(default_factory=dict)
    generator: np.random.Generator = field(
        default_factory=lambda: np.random.default_rng(0)
    )

    def encode(self, texts: Sequence[str] | str, **_: Any) -> Any:
        """A vector for one text, or an array of shape (len(texts), dimension)."""
        if isinstance(texts, str):
            return self._vector(texts)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Any:
        vector = self.vectors.get(text)
        if vector is None:
            vector = self.vectors[text] = self.generator.standard_normal(
                self.dimension, dtype=np.float32
            )
        return vector


@contextmanager
def encoding_by(model: Any, encode: Encode) -> Iterator[None]:
    """While it lasts, the sentence-transformers model answers with this function."""
    model.encode = encode
    try:
        yield
    finally:
        del model.encode


@contextmanager
def watching(model: Any) -> Iterator[Seen]:
    """While it lasts, the texts that the model is given are kept; it answers as ever."""
    seen = Seen()
    own = model.encode

    def encode(texts: Sequence[str] | str, **options: Any) -> Any:
        seen.texts += [texts] if isinstance(texts, str) else texts
        return own(texts, **options)

    with encoding_by(model, encode):
        yield seen


def token_counts(model: Any, texts: Sequence[str]) -> list[int]:
    """Tokens of each text as the model's tokenizer counts them, special tokens included, nothing
    cut off."""
    if not texts:
        return []
    return [
        len(ids)
        for ids in model.tokenizer(list(texts), truncation=False, verbose=False)[
            "input_ids"
        ]
    ]
