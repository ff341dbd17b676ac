"""The array form of z-score fusion against its definition by mappings."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.fusion import ranked, sum_of_zscores, weighted_sum, zscore

SCORES = st.integers(-40, 40).map(lambda value: value / 4)
ROUTES = st.lists(
    st.tuples(st.dictionaries(st.integers(0, 20), SCORES, max_size=12), st.sampled_from([0.0, 0.5, 1.0, 2.0])),
    max_size=4,
)


def shifted(route: dict[int, float]) -> dict[int, float]:
    values = zscore(list(route.values())).tolist()
    return {row: value - min([0.0, *values]) for row, value in zip(route, values, strict=True)}


@given(ROUTES, st.integers(1, 25))
def test_equals_the_sum_of_shifted_standard_scores(weighted: list[tuple[dict[int, float], float]], k: int) -> None:
    routes, weights = [route for route, _ in weighted], [weight for _, weight in weighted]
    expected = ranked(weighted_sum([shifted(route) for route in routes], weights=weights))[:k]
    assert sum_of_zscores(routes, k, weights=weights) == expected


def test_worked() -> None:
    assert sum_of_zscores([{7: 3.0, 4: 1.0}, {2: 5.0}], 3) == [(7, 2.0), (2, 0.0), (4, 0.0)]
