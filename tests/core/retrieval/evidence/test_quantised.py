"""Kept vectors: few bytes keep their products nearly, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
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


def cone(n: int, share: float, d: int = 64) -> np.ndarray:
    """Unit vectors of whose energy such a share is their mean."""
    energies = 0.9 ** np.arange(d)
    around = np.random.default_rng(1).normal(size=(n, d)) * np.sqrt(
        energies / energies.sum()
    )
    vectors = around * np.sqrt(1 - share)
    vectors[:, -1] += np.sqrt(share)
    return (vectors / np.linalg.norm(vectors, axis=1)[:, None]).astype(np.float32)


def test_what_tells_vectors_apart_is_kept_as_well_in_a_narrow_cone() -> None:
    """Vectors of E5 are all near each other; rounding must not drown what differs."""
    sizes, likeness = [], []
    for share in (0.0, 0.7, 0.95):
        vectors = cone(4000, share)
        quantiser = fit_quantiser(vectors)
        found = products(quantise(vectors, quantiser), vectors[:9], quantiser)
        exact = vectors @ vectors[:9].T
        sizes.append(int(quantiser.bits.sum()))
        likeness.append(min(np.corrcoef(found.T, exact.T)[range(9), range(9, 18)]))
        assert np.abs(found - exact).mean() < 0.05 * np.sqrt(1 - share)
    assert max(sizes) <= 1.25 * min(sizes)
    assert min(likeness) > 0.98


@pytest.mark.parametrize("n", [1, 2, 50, 1999, 2000])
def test_products_are_those_of_unit_vectors_however_few_the_axes_are_fitted_to(
    n: int,
) -> None:
    vectors = 3 * cone(2000, 0.7)
    quantiser = fit_quantiser(vectors[:n])
    queries = np.stack([*np.eye(64)[:3], vectors[0] / 3]).astype(np.float32)
    found = products(quantise(vectors, quantiser), queries, quantiser)
    assert np.abs(found - vectors @ queries.T / 3).max() < (0.1 if n < 2000 else 0.3)


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
        quantiser = Quantiser(axes / length, bits, np.zeros_like(vector))
        kept = quantise(vector[None], quantiser)
        back = products(kept, axes, quantiser)
        assert np.allclose(back, vector / length, atol=1e-5)
