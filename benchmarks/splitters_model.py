"""One encoder for all splitters: what it is given is counted, or its answers are looked up instead of computed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Encode = Callable[..., Any]


@dataclass
class Counted:
    """What an encoder was given."""

    texts: int = 0
    tokens: int = 0  # that it reads: special tokens included, what is behind its limit not


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
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(0))

    def encode(self, texts: Sequence[str] | str, **_: Any) -> Any:
        """A vector for one text, or an array of shape (len(texts), dimension)."""
        if isinstance(texts, str):
            return self._vector(texts)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Any:
        vector = self.vectors.get(text)
        if vector is None:
            vector = self.vectors[text] = self.generator.standard_normal(self.dimension, dtype=np.float32)
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
def counting(model: Any) -> Iterator[Counted]:
    """While it lasts, what the model is given is counted."""
    counted = Counted()
    own = model.encode

    def encode(texts: Sequence[str] | str, **options: Any) -> Any:
        several = [texts] if isinstance(texts, str) else list(texts)
        counted.texts += len(several)
        counted.tokens += sum(min(size, model.max_seq_length) for size in token_counts(model, several))
        return own(texts, **options)

    with encoding_by(model, encode):
        yield counted


def token_counts(model: Any, texts: Sequence[str]) -> list[int]:
    """Tokens of each text as the model's tokenizer counts them, special tokens included, nothing cut off."""
    if not texts:
        return []
    return [len(ids) for ids in model.tokenizer(list(texts), truncation=False, verbose=False)["input_ids"]]
