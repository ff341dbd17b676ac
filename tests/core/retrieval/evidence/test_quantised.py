"""Kept vectors: few bytes keep their products nearly, whatever they are."""

from __future__ import annotations

import numpy as np

from structrag.retrieval.evidence.quantised import (
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
