"""BM25 as a product of sparse vectors: the same scores, and counts that add up."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st
from store_making import entry

from structrag.index.engine_rows import (
    NO_TERM,
    RowCounts,
    counts_of,
    number_of,
    numbered,
    summed,
    weights_of,
)
from structrag.index.lexical import Bm25, idf
from structrag.index.store import Store

WORDS = ["apple", "banana", "cherry", "plum"]
TEXTS = st.lists(
    st.lists(st.sampled_from(WORDS), max_size=30).map(" ".join), min_size=1
)


@given(TEXTS, st.lists(st.sampled_from(WORDS), min_size=1, max_size=3))
def test_products_are_the_scores_of_the_embedded_store(
    texts: list[str], words: list[str]
) -> None:
    own = Store(("raw", "keywords"))
    own.put_all([entry(str(row), [text]) for row, text in enumerate(texts)])
    expected = dict(own.reader().search_lexical("raw", " ".join(words), 99))
    rows = [numbered(text.split()) for text in texts]
    average = sum(sum(row.values()) for row in rows) / len(rows)
    counts = RowCounts.of(rows)
    scores = {}
    for row, numbers in enumerate(rows):
        weights = weights_of(numbers, Bm25(), average)
        scores[row] = sum(
            times
            * idf(len(rows), counts.frequency(number_of(word)))
            * weights.get(number_of(word), 0)
            for word, times in Counter(words).items()
        )
    scores = {row: score for row, score in scores.items() if score}
    assert scores == pytest.approx(expected, abs=1e-5)


@given(TEXTS)
def test_counts_of_terms_are_those_of_their_rows(texts: list[str]) -> None:
    held = [set(text.split()) for text in texts]
    of_terms = RowCounts.of_terms(Counter(t for row in held for t in row), {7: 3})
    of_rows = RowCounts.of(map(number_of, row) for row in held)
    assert of_terms.frequency(7) == 3 and of_terms.frequency(8) == 0
    for word in WORDS:
        assert of_terms.frequency(number_of(word)) == of_rows.frequency(number_of(word))


@given(st.dictionaries(st.integers(1, 2**32 - 2), st.integers(1, 300), max_size=9))
def test_counts_come_back_from_single_precision(counts: dict[int, int]) -> None:
    length, bm25 = sum(counts.values()), Bm25()
    weights = weights_of(counts, bm25, 17.5)
    stored = {number: float(np.float32(weight)) for number, weight in weights.items()}
    assert stored and all(0 < weight <= 1 for weight in stored.values())
    assert counts_of(stored, length, bm25, 17.5) == counts


NUMBERS = st.lists(st.sets(st.integers(0, 2**32 - 1), max_size=5), max_size=6)


@given(NUMBERS, NUMBERS, st.integers(1, 50))
def test_row_counts_add_up_and_come_back(
    rows: list[set[int]], others: list[set[int]], size: int
) -> None:
    counts, more = RowCounts.of(rows), RowCounts.of(others)
    parts = counts.to_parts(size)
    assert parts and all(0 < len(part) <= size for part in parts)
    again = RowCounts.from_parts(parts)
    right = Counter(
        number for row in rows + others for number in row if number != NO_TERM
    )
    both = summed([again, more])
    assert {n: both.frequency(n) for n in right} == dict(right) and len(both) == len(
        right
    )
    assert both.frequency(NO_TERM) == 0
    left = summed([both, -more])
    assert left.numbers.tolist() == counts.numbers.tolist()
    assert left.frequencies.tolist() == counts.frequencies.tolist()


@examples
def test_the_norm_grows_with_the_length(
    length: int, average: float, expected: float
) -> None:
    assert Bm25(k1=2.0, b=0.75).norm(length, average) == expected
