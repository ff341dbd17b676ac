"""Retrievers as the processes of `benchmarks/ingestion.py` make them."""

from __future__ import annotations

from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from structrag import Index, minilm

DIMENSIONS = 384


class StandIn:
    """Vectors that cost next to nothing, so that all else shows."""

    name = "benchmarks stand-in 384"
    max_tokens = None

    def embed(self, texts: Sequence[str], *, query: bool = False) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = np.random.default_rng(crc32(text.encode())).random(DIMENSIONS)
        return vectors


def stand_in() -> Index:
    """Chunks in the view of their text."""
    return Index(embedder=StandIn(), views=("raw",))


def with_minilm() -> Index:
    """The same with all-MiniLM-L6-v2."""
    return Index(embedder=minilm(), views=("raw",))
