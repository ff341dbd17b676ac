"""Kept vectors: few bytes keep their products nearly, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.evidence.quantised import (
    Quantiser,
    fit_quantiser,
    products,
    quantise,
)

RANDOM = np.random.default_rng(0)
TURN, _ = np.linalg.qr(RANDOM.normal(size=(64, 64)))


@examples
def test_of_many_vectors_some_at_even_distances_are_looked_at(
    count: int, axes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second vector lies on the second axis: it is not seen where one of two is."""
    monkeypatch.setattr("structrag.retrieval.evidence.quantised._FITTED_ON", 2000)
    vectors = np.eye(3, dtype=np.float32)[np.arange(count) % 2]
    assert fit_quantiser(vectors).axes.shape == (3, axes)


def halves(axes: int, bits: int, apart: float) -> Quantiser:
    """Axes along the numbers of a vector, whose codes stand so far apart."""
    return Quantiser(
        np.eye(axes, dtype=np.float32) * np.float32(apart),
        np.full(axes, bits, dtype=np.uint8),
    )


@given(
    bands=st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 3)),
    seed=st.integers(0, 999),
)
def test_every_code_comes_back(bands: tuple[int, int, int], seed: int) -> None:
    """With orthogonal axes a vector that is made of codes is kept exactly."""
    bits = np.repeat([8, 4, 2], np.array(bands) * [1, 2, 4]).astype(np.uint8)
    if not len(bits):
        return
    halves = 2 ** (bits.astype(int) - 1)
    codes = (
        np.random.default_rng(seed).integers(-halves, halves, size=(5, len(bits))) + 0.5
    )
    axes = np.eye(len(bits), dtype=np.float32)
    vectors = codes.astype(np.float32)
    # At length 1 the codes are closer: the axes are as short.
    for vector in vectors:
        length = np.float32(np.linalg.norm(vector) * (1 + 1e-6))
        quantiser = Quantiser(axes / length, bits)
        kept = quantise(vector[None], quantiser)
        back = products(kept, axes @ quantiser.axes, bits)
        assert np.allclose(back, vector / length, atol=1e-5)
