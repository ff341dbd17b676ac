"""Windows around atoms, and sums and maxima over them.

A window w(i, W) contains the atoms of the same document whose middle is within W / 2 reader tokens
of atom i's. It is a run of atoms, given by its first atom and the one after its last.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from structrag.text.arrays import Array, FloatArray, IntArray

# Reader tokens. The narrowest window is the atom alone.
SUM_WIDTHS = (1, 60, 120, 240, 480)  # over which vectors and terms are summed
MAX_WIDTHS = (*SUM_WIDTHS, 960)  # over which matches of tokens are maximised
_COLUMNS = 64  # of a table of maxima that is made at once


class Windows(NamedTuple):
    """The window of each atom: the atoms `firsts[i]` to `stops[i] - 1`."""

    firsts: IntArray
    stops: IntArray

    def of(self, units: IntArray) -> Windows:
        """The windows of some atoms."""
        return Windows(self.firsts[units], self.stops[units])


def windows(middles: NDArray[Any], width: int) -> Windows:
    """The windows of all atoms, whose middles ascend, in reader tokens.

    Middles of different documents are to be further apart than `width`.

    Example:
        >>> windows(np.array([5.0, 15.0, 45.0]), 60)
        Windows(firsts=array([0, 0, 1]), stops=array([2, 3, 3]))
    """
    if width == 1:
        units = np.arange(len(middles))
        return Windows(units, units + 1)
    firsts = np.searchsorted(middles, middles - width / 2, "left")
    stops = np.searchsorted(middles, middles + width / 2, "right")
    return Windows(firsts, stops)


def middles_of(tokens: NDArray[Any]) -> FloatArray:
    """The middle of each atom in its document, in reader tokens."""
    sizes = np.asarray(tokens, dtype=np.float64)
    return np.cumsum(sizes) - sizes / 2


def window_sums(values: NDArray[Any], of: Iterable[Windows]) -> list[NDArray[Any]]:
    """The sum of the values, rows of atoms, over each window, for each kind."""
    sums = np.zeros(
        (len(values) + 1, *values.shape[1:]), dtype=np.result_type(values, np.float64)
    )
    np.cumsum(values, axis=0, out=sums[1:])
    return [sums[one.stops] - sums[one.firsts] for one in of]


def weighted_maxima(
    matches: Array, weights: FloatArray, of: Sequence[Windows]
) -> list[FloatArray]:
    """Each window's weighted sum of its columns' maxima, for each kind.

    The maxima are those over the window's rows. `matches` (atoms, k), `weights` (k,) or (k, v). No
    window is empty. Gives arrays of shape (windows,) or (windows, v).

    Example:
        >>> matches = np.array([[0.1, 0.9], [0.5, 0.2]], dtype=np.float32)
        >>> both = Windows(np.array([0]), np.array([2]))
        >>> weighted_maxima(matches, np.array([1.0, 2.0]), [both])[0].round(3).tolist()
        [2.3]
    """
    totals = [np.zeros((len(one.firsts), *weights.shape[1:])) for one in of]
    lengths = [one.stops - one.firsts for one in of]
    longest = max((int(of_kind.max(initial=1)) for of_kind in lengths), default=1)
    for start in range(0, matches.shape[1], _COLUMNS):
        columns = slice(start, start + _COLUMNS)
        # level l has the maxima over runs of 2^l atoms; two of them, overlapping, fill any window
        level = np.ascontiguousarray(matches[:, columns])
        run = 1
        while True:
            for total, one, length in zip(totals, of, lengths, strict=True):
                at = np.flatnonzero((length >= run) & (length < 2 * run))
                if len(at):
                    left, right = level[one.firsts[at]], level[one.stops[at] - run]
                    total[at] += np.maximum(left, right) @ weights[columns]
            if 2 * run > longest:
                break
            level = np.maximum(level[:-run], level[run:])
            run *= 2
    return totals
