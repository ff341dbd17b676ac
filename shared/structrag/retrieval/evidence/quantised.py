"""Token vectors as they are kept, in few bits. What they have besides their mean is turned to its
principal axes, and each axis has as many bits as it needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidAnswer
from structrag.text.arrays import Array

Number = TypeVar("Number", np.float32, np.float64)
Codes = NDArray[np.uint8]
# Bits of a code, and how far its values are apart, in standard deviations of its axis: at 2 and 4
# bits what is best for normal numbers (Max 1960), at 8 so much that hardly any is outside.
_APART = {8: 0.05, 4: 0.335, 2: 0.996}
# Share of the energy around the mean that rounding may lose, in the fitted vectors.
_LOST = 0.025
_FITTED_ON = 50_000  # token vectors at most
_ENOUGH = 2_000  # fewer vectors do not say what an axis needs
_FEW = 100  # zeros that count into the mean, since that of few vectors is chance
_TILE = 1024  # vectors multiplied at once


@dataclass(frozen=True, slots=True)
class Quantiser:
    """The mean and the axes of kept vectors, and how each axis is rounded.

    Vectors of many encoders lie in a narrow cone: seven tenths of the energy of E5's are their
        mean, one tenth of MiniLM's. They differ in the rest.

    Example:
        >>> quantiser = fit_quantiser(np.eye(4, dtype=np.float32))
        >>> kept = quantise(np.array([[3.0, 4.0, 0.0, 0.0]], dtype=np.float32), quantiser)
        >>> products(kept, np.eye(4, dtype=np.float32), quantiser)[0, :2].astype(float).round(2)
        array([0.6, 0.8])
    """

    axes: Array  # (d, n); each column is as long as the values of its codes are apart
    bits: Codes  # (n,), falling: 8, 4 or 2
    mean: Array  # (d,), of vectors at length 1

    def rests(self, vectors: Array) -> Array:
        """Return vectors at length 1, less the mean."""
        units: Array = unit_rows(vectors.astype(np.float32, copy=False)) - self.mean
        return units


@dataclass(frozen=True, slots=True)
class Quantised:
    """Unit vectors less their mean, as rows of packed codes. The scales restore the length of an
    unpacked row."""

    rows: Codes  # (n, bytes)
    scales: Array  # (n,)


def fit_quantiser(vectors: Array) -> Quantiser:
    """The mean and the principal axes of vectors, and the bits of each.

    Each axis has 8, 4, 2 or no bits: as few in all as keep 97.5 % of the energy that the vectors
    have around their mean (reverse water-filling). Fewer than 2,000 vectors do not say what an axis
    needs. All axes then have 8 bits, which cover every unit vector. At most 50,000 vectors are
    looked at, at even distances.
    """
    step = max(1, -(-len(vectors) // _FITTED_ON))
    sample = unit_rows(vectors[::step].astype(np.float32, copy=False))
    mean: Array = (sample.sum(axis=0) / (len(sample) + _FEW)).astype(np.float32)
    sample -= mean
    _, columns = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    # the sign of an axis is of no matter; that of its largest number is made positive
    strongest = np.abs(columns).argmax(axis=0, keepdims=True)
    columns *= np.sign(np.take_along_axis(columns, strongest, axis=0))
    axes = columns[:, ::-1].astype(np.float32)
    if len(vectors) < _ENOUGH:
        furthest = np.float32(1 + np.linalg.norm(mean))
        bits = np.full(axes.shape[1], 8, dtype=np.uint8)
        return Quantiser(axes * (furthest / np.float32(127)), bits, mean)
    turned = sample @ axes
    deviations = np.sqrt((turned**2).mean(axis=0))
    # Vectors of questions lie in the same cone, and see what is lost along the mean.
    seen = 1 + len(mean) * (mean @ axes) ** 2 / (turned**2).sum(axis=1).mean()
    bits = _bits(turned, deviations, seen)
    order = np.argsort(-bits.astype(int), kind="stable")
    order = order[: np.count_nonzero(bits)]
    apart = (
        np.array([_APART[int(of_axis)] for of_axis in bits[order]]) * deviations[order]
    )
    return Quantiser((axes[:, order] * apart).astype(np.float32), bits[order], mean)


def _bits(turned: Array, deviations: Array, seen: Array) -> Codes:
    """Choose the bits of each axis by how much its loss is seen. Axes of 4 and of 2 bits fill whole
    bytes."""
    costs, losses = np.array([0, *_APART]), [(turned**2).mean(axis=0)]
    for bits, apart in _APART.items():
        widths = np.maximum(apart * deviations, np.finfo(np.float32).tiny)
        rounded = (_codes(turned / widths, bits) + 0.5) * widths
        losses.append(((turned - rounded) ** 2).mean(axis=0))
    lost = seen * np.stack(losses)
    allowed = _LOST * losses[0].sum()
    low, high = 0.0, float(lost[0].max())  # energy that a bit is worth
    for _ in range(60):
        price = (low + high) / 2
        best = (lost + price * costs[:, None]).argmin(axis=0)
        if np.take_along_axis(lost, best[None], axis=0).sum() > allowed:
            high = price
        else:
            low = price
    chosen = costs[(lost + low * costs[:, None]).argmin(axis=0)]
    # Axes that would leave a byte half empty have more bits, the strongest first.
    for bits in (2, 4):
        axes = np.flatnonzero(chosen == bits)
        chosen[axes[: len(axes) % (8 // bits)]] = 2 * bits
    whole: Codes = chosen.astype(np.uint8)
    return whole


def _codes(values: Array, bits: Any) -> Array:
    """Round values down to whole numbers within the range of `bits`."""
    half = 2.0 ** (np.asarray(bits, dtype=np.float32) - 1)
    return np.clip(np.floor(values), -half, half - 1)


def check_width(what: str, width: int, expected: int) -> None:
    """Raise InvalidAnswer for vectors of another length than the index has, which is 0 for one
    without vectors."""
    if expected and width != expected:
        raise InvalidAnswer(
            f"The {what} must have {expected} dimensions like those of the index; got {width}. Use "
            "the model that the index was built with, or build it again."
        )


def quantise(vectors: Array, quantiser: Quantiser) -> Quantised:
    """Subtract the mean of vectors at length 1, turn the rest to the axes, round and pack it."""
    bits = quantiser.bits
    widths = np.sqrt(np.einsum("ij,ij->j", quantiser.axes, quantiser.axes))
    turning = quantiser.axes / widths**2
    rows = np.empty((len(vectors), int(bits.sum()) // 8), dtype=np.uint8)
    scales = np.zeros(len(vectors), dtype=np.float32)
    for start in range(0, len(vectors), _TILE):
        tile = slice(start, start + _TILE)
        rests = quantiser.rests(vectors[tile])
        codes = _codes(rests @ turning, bits)
        rounded = (codes + np.float32(0.5)) * widths
        np.divide(
            np.linalg.norm(rests, axis=1),
            np.linalg.norm(rounded, axis=1),
            out=scales[tile],
            where=rests.any(axis=1),
        )
        _pack(codes, bits, out=rows[tile])
    return Quantised(rows, scales)


def products(kept: Quantised, queries: Array, quantiser: Quantiser) -> Array:
    """Products of kept unit vectors with queries (k, d). Gives (vectors, k), float32."""
    bits = quantiser.bits
    columns = np.ascontiguousarray((queries @ quantiser.axes).T, dtype=np.float32)
    result: Array = np.empty((len(kept.rows), len(queries)), dtype=np.float32)
    # So many rows, unpacked, stay in the processor's cache until they are multiplied.
    unpacked = np.empty((_TILE, len(bits)), dtype=np.float32)
    for start in range(0, len(result), _TILE):
        rows = kept.rows[start : start + _TILE]
        _unpack(rows, bits, out=unpacked[: len(rows)])
        np.matmul(unpacked[: len(rows)], columns, out=result[start : start + _TILE])
    # Packed codes begin at 0 and mean the middle between two codes.
    result += (np.float32(0.5) - np.float32(2) ** (bits - np.float32(1))) @ columns
    result *= kept.scales[:, None]
    result += queries @ quantiser.mean
    return result


def _pack(codes: Array, bits: Codes, *, out: Codes) -> None:
    """Write codes into bytes, counted from 0."""
    shifted = (codes + np.float32(2) ** (bits - np.float32(1))).astype(np.uint8)
    out[:] = 0
    for axes, places, shift, _ in _parts(bits):
        out[:, places] |= shifted[:, axes] << shift


def _unpack(rows: Codes, bits: Codes, *, out: Array) -> None:
    """The codes of packed rows, each from 0."""
    for axes, places, shift, width in _parts(bits):
        codes = rows[:, places] >> shift if shift else rows[:, places]
        if shift + width < 8:  # codes of other axes are above
            codes = codes & np.uint8(2**width - 1)
        out[:, axes] = codes


def _parts(bits: Codes) -> list[tuple[slice, slice, np.uint8, int]]:
    """Return groups of axes whose codes have the same place in adjacent bytes.

    Gives which, in which bytes, from which bit there, and of how many bits. The first n / 2 of n
    axes of 4 bits are the lower halves of n / 2 bytes.
    """
    parts = []
    axis = byte = 0
    for width in (8, 4, 2):
        count = int(np.count_nonzero(bits == width)) * width // 8  # bytes
        for shift in range(0, 8, width):
            axes, places = slice(axis, axis + count), slice(byte, byte + count)
            parts.append((axes, places, np.uint8(shift), width))
            axis += count
        byte += count
    return parts


def byte_rows(vectors: NDArray[Number]) -> NDArray[np.int8]:
    """Directions, a byte a number. Zeros stay. The largest number of a row is 127 or -127."""
    largest = np.abs(vectors).max(axis=1, initial=0, keepdims=True)
    rows = np.divide(
        127 * vectors, largest, out=np.zeros_like(vectors), where=largest > 0
    )
    whole: NDArray[np.int8] = np.rint(rows).astype(np.int8)
    return whole


def unit_rows(vectors: NDArray[Number]) -> NDArray[Number]:
    """The rows at length 1; rows of zeros stay."""
    lengths = np.sqrt(np.einsum("ij,ij->i", vectors, vectors))[:, None]
    units: NDArray[Number] = np.divide(
        vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0
    )
    return units
