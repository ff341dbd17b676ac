"""Which sentences are relevant."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder, Similarities
from samples import numbered

from structrag.chunks.pic.splitter import PICSplitter
from structrag.reading.files import read_text
from structrag.records import Chunk

SEVEN = [0.62, 0.58, 0.31, 0.44, 0.71, 0.40, 0.39]


def split_numbers(values: list[float], **changes: Any) -> list[Chunk]:
    splitter = PICSplitter.paper(instructions="What?", **changes)
    return splitter.split(numbered(len(values)), embedder=Similarities(values))


@pytest.mark.parametrize("value", [0.1, 0.3, 0.7, 0.55, 1 / 3])
@pytest.mark.parametrize("n", [1, 2, 7, 59])
def test_equal_similarities_make_one_relevant_chunk(value: float, n: int) -> None:
    chunks = split_numbers([value] * n)
    assert len(chunks) == 1 and chunks[0].extras["relevant"] is True


@pytest.mark.parametrize(
    ("threshold", "relevant"), [(-math.inf, True), (math.inf, False)]
)
def test_infinite_thresholds_make_one_chunk(threshold: float, relevant: bool) -> None:
    (chunk,) = split_numbers(SEVEN, threshold=threshold)
    assert chunk.extras["relevant"] is relevant
    assert (
        json.loads(json.dumps(dict(chunk.extras), allow_nan=False))["threshold"] is None
    )


def test_repeated_sentences_and_zero_vectors_make_one_relevant_chunk() -> None:
    repeated = read_text("The same again. " * 12)
    zero = lambda sentences: np.zeros((len(sentences), 4))  # noqa: E731
    for embedder in (HashEmbedder(), zero, None):
        (chunk,) = PICSplitter.paper().split(repeated, embedder=embedder)
        assert chunk.extras["relevant"] is True
    assert len(PICSplitter.paper().split(numbered(9), embedder=zero)) == 1
