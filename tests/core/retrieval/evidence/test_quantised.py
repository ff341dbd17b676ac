"""Kept vectors: few bytes keep their products nearly, whatever they are."""

from __future__ import annotations

import numpy as np
import pytest
from fixture_cases import examples
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


def test_bytes_are_full() -> None:
    quantiser = fit_quantiser(VECTORS)
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


@pytest.mark.parametrize(
    ("count", "bits"), [(2, [4] * 2), (4, [4] * 4), (5, [8] + [4] * 4), (8, [4] * 8)]
)
def test_axes_of_equal_energy_have_four_bits_and_those_of_none_are_left_out(
    count: int, bits: list[int]
) -> None:
    """At four bits about 1.2 % is lost, at two 12 %. Of an odd number one has a whole byte."""
    vectors = np.zeros((3000, 9), dtype=np.float32)
    vectors[:, :count] = RANDOM.normal(size=(3000, count))
    quantiser = fit_quantiser(vectors)
    assert quantiser.bits.tolist() == bits
    assert quantiser.axes.shape == (9, count) and not quantiser.axes[count:].any()


@pytest.mark.parametrize(("share", "bits"), [(0.001, [4] * 4), (0.1, [4] * 8)])
def test_axes_are_kept_once_they_hold_more_energy_than_may_be_lost(
    share: float, bits: list[int]
) -> None:
    vectors = RANDOM.normal(size=(3000, 8)).astype(np.float32)
    vectors[:, 4:] *= np.sqrt(share / (1 - share))
    assert fit_quantiser(vectors).bits.tolist() == bits


@examples
def test_of_many_vectors_some_at_even_distances_are_looked_at(
    count: int, axes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every second vector lies on the second axis: it is not seen where one of two is."""
    monkeypatch.setattr("structrag.retrieval.evidence.quantised._FITTED_ON", 2000)
    vectors = np.eye(3, dtype=np.float32)[np.arange(count) % 2]
    assert fit_quantiser(vectors).axes.shape == (3, axes)


def test_the_largest_number_of_an_axis_is_positive() -> None:
    for axes in (FITTED.axes, fit_quantiser(VECTORS[:70]).axes):
        strongest = np.abs(axes).argmax(axis=0)
        assert (axes[strongest, np.arange(axes.shape[1])] > 0).all()


def test_the_axes_of_one_vector_are_its_own_and_those_across() -> None:
    quantiser = fit_quantiser(np.array([[3.0, 4.0]], dtype=np.float32))
    assert quantiser.bits.tolist() == [8, 8]
    expected = np.array([[0.6, 0.8], [0.8, -0.6]]) / 127
    assert np.allclose(quantiser.axes, expected, atol=1e-7)


def test_two_thousand_vectors_say_what_an_axis_needs() -> None:
    assert fit_quantiser(VECTORS[:1999]).bits.tolist() == [8] * 64
    assert fit_quantiser(VECTORS[:2000]).bits.sum() < 200


def halves(axes: int, bits: int, apart: float) -> Quantiser:
    """Axes along the numbers of a vector, whose codes stand so far apart."""
    return Quantiser(
        np.eye(axes, dtype=np.float32) * np.float32(apart),
        np.full(axes, bits, dtype=np.uint8),
    )


@pytest.mark.parametrize(
    ("quantiser", "vector", "codes", "row"),
    [
        # 0.6 x 127 lies in code 76, 0.8 x 127 in 101; both are counted from -128
        (halves(2, 8, 1 / 127), [0.6, 0.8], [76, 101], [204, 229]),
        (halves(2, 8, 1 / 127), [-1.2, 1.6], [-77, 101], [51, 229]),
        (halves(2, 4, 1 / 8), [0.6, 0.8], [4, 6], [12 + 14 * 16]),
        (halves(2, 4, 1 / 8), [1.0, 0.0], [7, 0], [15 + 8 * 16]),  # at most 7
        (halves(4, 2, 1 / 2), [0.5, -0.5, 0.5, -0.5], [1, -1, 1, -1],
         [3 + 1 * 4 + 3 * 16 + 1 * 64]),
        (halves(4, 2, 1 / 4), [-1.0, 0, 0, 0], [-2, 0, 0, 0],
         [0 + 2 * 4 + 2 * 16 + 2 * 64]),
        (halves(4, 4, 1 / 8), [0.5, -0.5, 0.5, -0.5], [4, -4, 4, -4],
         [12 + 12 * 16, 4 + 4 * 16]),  # the third stands above the first
    ],
)  # fmt: skip
def test_codes_are_packed_into_bytes(
    quantiser: Quantiser, vector: list[float], codes: list[int], row: list[int]
) -> None:
    kept = quantise(np.array([vector], dtype=np.float32), quantiser)
    assert kept.rows.tolist() == [row]
    # What comes back has the direction of the middles of the codes.
    middles = np.array(codes) + 0.5
    back = products([kept], quantiser.axes, quantiser.bits)[0]
    assert np.allclose(back, middles / np.linalg.norm(middles), atol=1e-6)


def test_axes_of_all_bits_stand_one_behind_the_other() -> None:
    bits = np.array([8, 4, 4, 2, 2, 2, 2], dtype=np.uint8)
    quantiser = Quantiser(np.eye(7, dtype=np.float32) / 2, bits)
    vector = np.array([[0.5, 0.5, 0.5, 0.5, 0, 0, 0]], dtype=np.float32)
    kept = quantise(vector, quantiser)
    assert kept.rows.tolist() == [[129, 9 + 9 * 16, 3 + 2 * 4 + 2 * 16 + 2 * 64]]
    middles = np.array([1.5] * 4 + [0.5] * 3)
    back = products([kept], quantiser.axes, bits)[0]
    assert np.allclose(back, middles / np.linalg.norm(middles), atol=1e-6)


def test_rows_have_length_1_and_zeros_stay() -> None:
    vectors = np.array([[3.0, 4.0], [0.0, 0.0], [0.0, -0.5]])
    assert unit_rows(vectors).tolist() == [[0.6, 0.8], [0, 0], [0, -1]]
    assert unit_rows(vectors[:0]).shape == (0, 2)


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
