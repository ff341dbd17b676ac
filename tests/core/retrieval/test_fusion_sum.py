"""The array form of score fusion against its definition by mappings."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag import FunctionEmbedder, Index, MultiViewRetriever, read_text
from structrag.retrieval.fusion import maxnorm, minmax, ranked, sum_of_normalised, weighted_sum

SCORES = st.integers(-40, 40).map(lambda value: value / 4)
ROUTES = st.lists(
    st.tuples(
        st.dictionaries(st.integers(0, 20), SCORES, max_size=12),
        st.sampled_from([minmax, maxnorm]),
        st.sampled_from([0.0, 0.5, 1.0, 2.0]),
    ),
    max_size=4,
)


@given(ROUTES, st.integers(1, 25))
def test_equals_the_weighted_sum_of_normalised_routes(weighted, k: int) -> None:  # type: ignore[no-untyped-def]
    routes, normalise, weights = ([part[i] for part in weighted] for i in range(3))
    scaled = [
        dict(zip(route, function(list(route.values())).tolist(), strict=True))
        for route, function in zip(routes, normalise, strict=True)
    ]
    expected = ranked(weighted_sum(scaled, weights=weights))[:k]
    found = sum_of_normalised(routes, normalise, k, weights=weights)
    assert [row for row, _ in found] == [row for row, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected])


def test_worked() -> None:
    found = sum_of_normalised([{7: 0.9, 4: 0.1, 5: 0.5}, {2: 4.0, 5: 1.0}], [minmax, maxnorm], 4)
    assert found == [(2, 1.0), (7, 1.0), (5, pytest.approx(0.5 + 0.25)), (4, 0.0)]


def test_the_only_chunk_that_has_the_word_comes_first() -> None:
    """BM25 finds one chunk, all cosines are equal: the one that was found must not be lost."""
    index = Index(
        embedder=FunctionEmbedder(lambda texts: [[1.0, 0.0]] * len(texts), name="constant")
    )
    index.add([read_text(text, id=text) for text in ("alpha", "beta", "zebra only")])
    hits = MultiViewRetriever(index, k=2).search("zebra")
    assert hits[0].chunk.text == "zebra only"
