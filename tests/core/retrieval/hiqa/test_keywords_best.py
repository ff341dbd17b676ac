"""The rows that hold most keywords, against counting row by row."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from structrag.retrieval.hiqa.keyword_names import Names
from structrag.retrieval.hiqa.keywords import KeywordTable

SIZE = 12
HOLDERS = st.dictionaries(st.sampled_from("abcd"), st.sets(st.integers(0, SIZE - 1)), max_size=4)
WHERE = st.one_of(
    st.none(),
    st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(
        lambda ends: slice(min(ends), max(ends))
    ),
    st.lists(st.booleans(), min_size=SIZE, max_size=SIZE).map(np.array),
)


@given(HOLDERS, st.integers(-1, SIZE + 1), WHERE)
def test_best_equals_counting_row_by_row(
    holders: dict[str, set[int]], n: int, where: slice | np.ndarray | None
) -> None:
    rows = {key: np.array(sorted(found), dtype=np.int64) for key, found in holders.items()}
    written = {key: key for key in holders}
    table = KeywordTable(
        0, Names(holders), written, dict.fromkeys(holders, 1), rows, SIZE, 1, 0.0, 1.0
    )
    allowed = np.arange(SIZE) if where is None else np.arange(SIZE)[where]
    counts = {row: sum(row in found for found in holders.values()) for row in allowed.tolist()}
    ranked = sorted((row for row in counts if counts[row]), key=lambda row: (-counts[row], row))
    assert table.best([*holders], n, where).tolist() == ranked[: max(0, n)]
