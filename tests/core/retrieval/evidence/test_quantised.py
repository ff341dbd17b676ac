"""Kept vectors: a rotation keeps products, bytes keep them nearly."""

from __future__ import annotations

import numpy as np
import pytest

from structrag.retrieval.evidence.quantised import (
    Quantised,
    fit_rotation,
    products,
    quantise,
    unit_rows,
)

VECTORS = np.random.default_rng(0).normal(size=(200, 24)).astype(np.float32) * np.arange(1, 25)
VECTORS = VECTORS.astype(np.float32)


def test_a_rotation_keeps_lengths_and_puts_the_strongest_axis_first() -> None:
    rotation = fit_rotation(VECTORS)
    assert np.allclose(rotation.T @ rotation, np.eye(24), atol=1e-5)
    energy = ((unit_rows(VECTORS) @ rotation) ** 2).sum(axis=0)
    assert (np.diff(energy) <= 1e-3).all()
    assert fit_rotation(VECTORS, 5).shape == (24, 5)
    assert np.allclose(fit_rotation(VECTORS, 5), rotation[:, :5])


def test_a_rotation_of_few_vectors_is_whole() -> None:
    rotation = fit_rotation(VECTORS[:2])
    assert np.allclose(rotation.T @ rotation, np.eye(24), atol=1e-5)


@pytest.mark.parametrize("tile", [1, 7, 100, 1024])
def test_products_are_nearly_cosines(tile: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("structrag.retrieval.evidence.quantised._TILE", tile)
    rotation = fit_rotation(VECTORS)
    kept = quantise(VECTORS, rotation)
    assert kept.rows.dtype == np.int8 and np.abs(kept.rows).max() == 127
    queries = unit_rows(VECTORS[:7])
    expected = unit_rows(VECTORS) @ queries.T
    halves = [Quantised(kept.rows[i : i + 100], kept.scales[i : i + 100]) for i in (0, 100)]
    assert np.abs(products(halves, queries @ rotation) - expected).max() < 0.01


def test_zero_vectors_stay() -> None:
    kept = quantise(np.zeros((2, 3), dtype=np.float32), np.eye(3, dtype=np.float32))
    assert not kept.rows.any() and not kept.scales.any()
