"""Windows, sums and maxima against plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.evidence.atom_arrays import (
    middles_of,
    weighted_maxima,
    window_sums,
    windows,
)

SIZES = st.lists(st.integers(1, 40), min_size=1, max_size=60)


@given(SIZES, st.sampled_from([1, 60, 240]), st.randoms())
def test_runs_sums_and_maxima_are_those_of_loops(
    sizes: list[int], width: int, random: object
) -> None:
    middles = middles_of(np.array(sizes))
    of = windows(middles, width)
    draw = np.random.default_rng(len(sizes))
    matches = draw.normal(size=(len(sizes), 70)).astype(np.float32)
    weights = draw.random(70)
    found = weighted_maxima(matches, weights, [of])[0]
    (sums,) = window_sums(matches.astype(np.float64), [of])
    for i, middle in enumerate(middles):
        near = np.abs(middles - middle) <= width / 2
        near = near if width > 1 else np.arange(len(sizes)) == i
        assert np.flatnonzero(near).tolist() == list(range(of.firsts[i], of.stops[i]))
        assert np.isclose(found[i], matches[near].max(axis=0) @ weights, atol=1e-4)
        assert np.allclose(sums[i], matches[near].sum(axis=0), atol=1e-4)
