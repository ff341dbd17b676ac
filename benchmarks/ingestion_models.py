"""Retrievers as the processes of `benchmarks/ingestion.py` make them."""

from __future__ import annotations

import time
from collections.abc import Sequence
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from structrag import FunctionEmbedder, Index, minilm

DIMENSIONS = 384


class StandIn:
    """Vectors that cost next to nothing, so that all else shows."""

    name = "benchmarks stand-in 384"
    max_tokens = None

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), DIMENSIONS), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = np.random.default_rng(crc32(text.encode())).random(
                DIMENSIONS
            )
        return vectors


class Accelerator(StandIn):
    """The same at the speed of an accelerator, and how long it was busy. It waits without the
    processor, as one does that waits for a device."""

    name = "benchmarks accelerator 384"

    def __init__(self, texts_per_second: float) -> None:
        self.texts_per_second = texts_per_second
        self.busy = 0.0  # seconds

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        took = len(texts) / self.texts_per_second
        time.sleep(took)
        self.busy += took
        return np.ones((len(texts), DIMENSIONS), dtype=np.float32)


def on_accelerator(embedder: Accelerator) -> Index:
    """An index that asks for many texts at once."""
    return Index(embedder=embedder, views=("raw",), batch_size=1024)


def stand_in() -> Index:
    """Chunks in the view of their text."""
    return Index(embedder=StandIn(), views=("raw",))


def with_minilm() -> Index:
    """The same with all-MiniLM-L6-v2."""
    return Index(embedder=minilm(), views=("raw",))


def with_words() -> Index:
    """Chunks whose vectors are the sums of their words' vectors."""
    from benchmarks.stores import embedded  # which imports this module

    return Index(embedder=FunctionEmbedder(embedded, name="words"), views=("raw",))
