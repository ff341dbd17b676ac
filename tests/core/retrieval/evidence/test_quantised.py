"""Kept vectors: few bytes keep their products nearly, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.evidence.quantised import (
    Quantised,
    Quantiser,
    byte_rows,
    fit_quantiser,
    products,
    quantise,
    unit_rows,
)

RANDOM = np.random.default_rng(0)
# The strongest axis is 64 times as long as the weakest, as an encoder's are.
LENGTHS = np.geomspace(64, 1, 64)
TURN, _ = np.linalg.qr(RANDOM.normal(size=(64, 64)))
VECTORS = ((RANDOM.normal(size=(5000, 64)) * LENGTHS) @ TURN).astype(np.float32)
FITTED = fit_quantiser(VECTORS)


def error(vectors: np.ndarray, quantiser: Quantiser) -> float:
    """How far products of kept vectors with others are from theirs, root of the mean square."""
    queries = unit_rows(VECTORS[:50])
    found = products(
        [quantise(vectors, quantiser)], queries @ quantiser.axes, quantiser.bits
    )
    return float(np.sqrt(((found - unit_rows(vectors) @ queries.T) ** 2).mean()))


def test_strong_axes_have_more_bits_and_weak_ones_none() -> None:
    bits = FITTED.bits.astype(int)
    assert set(bits.tolist()) == {8, 4, 2} and (np.diff(bits) <= 0).all()
    assert len(bits) < 64 == len(FITTED.axes) == FITTED.axes.shape[0]
    directions = unit_rows(FITTED.axes.T.copy())
    assert np.allclose(directions @ directions.T, np.eye(len(bits)), atol=1e-5)
    energy = ((unit_rows(VECTORS) @ directions.T) ** 2).mean(axis=0)
    assert energy[bits == 8].min() > energy[bits == 4].max() > energy[bits == 2].max()


def test_two_and_a_half_percent_of_the_energy_is_lost() -> None:
    kept = quantise(VECTORS, FITTED)
    back = products([kept], np.eye(64, dtype=np.float32) @ FITTED.axes, FITTED.bits)
    cosines = np.einsum("ij,ij->i", back, unit_rows(VECTORS))
    lost = 1 - (cosines**2).mean()
    assert 0.02 < lost < 0.03


@pytest.mark.parametrize("dimensions", [None, 30, 7, 1])
def test_bytes_are_full(dimensions: int | None) -> None:
    quantiser = fit_quantiser(VECTORS, dimensions)
    for bits in (2, 4):
        assert np.count_nonzero(quantiser.bits == bits) * bits % 8 == 0
    kept = quantise(VECTORS[:9], quantiser)
    assert (
        kept.rows.shape == (9, quantiser.bits.sum() // 8)
        and kept.rows.dtype == np.uint8
    )
    assert (
        quantiser.axes.shape == (64, len(quantiser.bits)) and len(quantiser.bits) <= 64
    )


def test_fewer_dimensions_are_the_strongest_axes() -> None:
    fewer = fit_quantiser(VECTORS, 20)
    directions, all_directions = (unit_rows(of.axes.T.copy()) for of in (fewer, FITTED))
    energy = ((unit_rows(VECTORS) @ all_directions.T) ** 2).mean(axis=0)
    strongest = all_directions[np.argsort(-energy)[: len(directions)]]
    cosines = np.abs(directions @ strongest.T)
    assert np.allclose(cosines.max(axis=1), 1, atol=1e-4)


def test_bits_are_spent_where_they_count() -> None:
    kept = quantise(VECTORS, FITTED)
    width = kept.rows.shape[1]
    whole = Quantiser(*_axes_of_bytes(width))
    assert error(VECTORS, FITTED) < 0.6 * error(VECTORS, whole)


def _axes_of_bytes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """So many of the strongest axes, each in a byte: as many bytes, but other axes lost."""
    _, columns = np.linalg.eigh(unit_rows(VECTORS).T @ unit_rows(VECTORS))
    return columns[:, ::-1][:, :count] / np.float32(127), np.full(
        count, 8, dtype=np.uint8
    )


def test_few_vectors_do_not_say_which_axes_count() -> None:
    quantiser = fit_quantiser(VECTORS[:1])
    assert quantiser.bits.tolist() == [8] * 64
    assert error(VECTORS, quantiser) < 0.005


@pytest.mark.parametrize("tile", [1, 7, 100, 1024])
def test_parts_and_tiles_do_not_matter(
    tile: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = quantise(VECTORS[:200], FITTED)
    queries = unit_rows(VECTORS[:7]) @ FITTED.axes
    whole = products([kept], queries, FITTED.bits)
    monkeypatch.setattr("structrag.retrieval.evidence.quantised._TILE", tile)
    again = quantise(VECTORS[:200], FITTED)
    # The order of sums moves what lies on an edge.
    assert (again.rows == kept.rows).mean() > 0.999
    parts = [
        Quantised(kept.rows[i : i + 50], kept.scales[i : i + 50])
        for i in range(0, 200, 50)
    ]
    assert np.allclose(products(parts, queries, FITTED.bits), whole, atol=1e-5)


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
        back = products([kept], axes @ quantiser.axes, bits)
        assert np.allclose(back, vector / length, atol=1e-5)


def test_zero_vectors_match_nothing() -> None:
    kept = quantise(np.zeros((2, 64), dtype=np.float32), FITTED)
    queries = unit_rows(VECTORS[:3]) @ FITTED.axes
    assert not kept.scales.any() and not products([kept], queries, FITTED.bits).any()


def test_vectors_of_nothing_but_zeros_are_fitted() -> None:
    quantiser = fit_quantiser(np.zeros((3000, 8), dtype=np.float32))
    assert np.isfinite(quantiser.axes).all()
    assert not quantise(np.zeros((2, 8), dtype=np.float32), quantiser).scales.any()


def test_the_largest_number_of_a_direction_is_127() -> None:
    vectors = np.array([[2.0, -1.0, 0.5], [-8.0, 4.0, 1.0], [0.0, 0.0, 0.0]])
    expected = [[127, -64, 32], [-127, 64, 16], [0, 0, 0]]
    assert (
        byte_rows(vectors).tolist() == expected and byte_rows(vectors).dtype == np.int8
    )
    assert byte_rows(vectors[:0]).shape == (0, 3)
    assert byte_rows(np.zeros((2, 0))).shape == (2, 0)
