"""The n-th best score by sampling against sorting."""

from __future__ import annotations

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.index.ranking import (
    RowMap,
    as_ranking,
    best_positions,
    nth_best,
)


@examples
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


@given(st.lists(st.integers(0, 60), max_size=60), st.integers(-1, 70))
def test_best_positions_round_to_nine_decimals(steps: list[int], n: int) -> None:
    scores = np.array([0.5 + step * 1e-10 for step in steps])
    expected = sorted(range(len(scores)), key=lambda i: (-np.round(scores[i], 9), i))[
        : max(0, n)
    ]
    assert best_positions(scores, n).tolist() == expected


@st.composite
def row_maps(draw: st.DrawFn) -> tuple[RowMap, list[int], int]:
    """A segment, the positions of its rows (-1: deleted), and how many positions there are."""
    n_rows, offset = draw(st.integers(0, 8)), draw(st.integers(0, 5))
    total = n_rows + offset + draw(st.integers(0, 5))
    if draw(st.booleans()):
        return RowMap(n_rows, offset), list(range(offset, offset + n_rows)), total
    places = sorted(draw(st.permutations(range(total)))[:n_rows])
    places = [-1 if draw(st.booleans()) else place for place in places]
    return RowMap(n_rows, 0, np.array(places, dtype=np.int64)), places, total


@given(row_maps(), st.data())
def test_selections_of_positions_are_those_of_the_segments_rows(
    made: tuple[RowMap, list[int], int], data: st.DataObject
) -> None:
    rows, places, total = made
    alive = [row for row, place in enumerate(places) if place >= 0]
    assert rows.live_rows().tolist() == alive and rows.n_live == len(alive)
    assert rows.live is None or np.flatnonzero(rows.live).tolist() == alive
    assert rows.positions_of(np.array(alive, dtype=np.int64)).tolist() == [
        places[i] for i in alive
    ]
    start = data.draw(st.integers(0, total))
    stop = data.draw(st.integers(start, total))
    mask = np.array(
        data.draw(st.lists(st.booleans(), min_size=total, max_size=total)), dtype=bool
    )
    for where, chosen in (
        (slice(start, stop), set(range(start, stop))),
        (mask, set(np.flatnonzero(mask).tolist())),
        (None, set(range(total))),
    ):
        local = rows.local(where)
        selected = np.zeros(rows.n_rows, dtype=bool)
        selected[slice(None) if local is None else local] = True
        expected = [row for row in alive if places[row] in chosen]
        assert np.flatnonzero(selected).tolist() == expected


@examples
def test_one_score_above_many_equal_ones_is_the_best(n: int, expected: float) -> None:
    scores = np.full(1000, 2.0)
    scores[:500] = 5.0
    scores[7] = 6.0
    assert nth_best(scores, n) == expected
