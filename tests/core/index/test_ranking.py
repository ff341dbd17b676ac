"""The n-th best score by sampling against sorting."""

from __future__ import annotations

import numpy as np
import pytest

from structrag.index.ranking import as_ranking, nth_best


@pytest.mark.parametrize(
    "order", ["random", "ascending", "descending", "equal", "best in the sample", "best outside it"]
)
@pytest.mark.parametrize("n", [1, 7, 100, 999, 5000])
def test_equals_sorting(order: str, n: int) -> None:
    scores = np.random.default_rng(n).standard_normal(5000)
    if order in {"ascending", "descending"}:
        scores.sort()
    if order == "descending":
        scores = scores[::-1].copy()
    if order == "equal":
        scores[:] = 0.5
    if order == "best in the sample":
        scores[::16] += 100
    if order == "best outside it":
        scores[::16] -= 100
    assert nth_best(scores, n) == np.sort(scores)[len(scores) - n]
    rows = np.arange(len(scores))
    expected = sorted(
        zip(rows.tolist(), scores.tolist(), strict=True),
        key=lambda pair: (-round(pair[1], 9), pair[0]),
    )
    assert as_ranking(rows, scores, n) == expected[:n]
