"""BM25 searches that leave out rows early find what scoring every row finds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.index.lexical import ABSENT, Bm25, LexicalIndex
from structrag.index.lexical_sums import FEW, Term, add_terms
from structrag.text.terms import Tokenizer

PLAIN = Tokenizer(stopwords=())
NAMES = [f"w{i}" for i in range(60)]


def made_texts(seed: int, n: int) -> list[str | None]:
    """Texts of one to twelve words by Zipf's law, a tenth of them twice, and a few absent rows."""
    random = np.random.default_rng(seed)
    share = 1 / np.arange(1, len(NAMES) + 1)
    texts: list[str | None] = []
    for length in random.integers(1, 13, n).tolist():
        texts.append(" ".join(random.choice(NAMES, length, p=share / share.sum())))
        if random.random() < 0.1:
            texts[-1] = texts[int(random.integers(len(texts)))]
        if random.random() < 0.05:
            texts[-1] = None
    return texts


def expected(
    texts: Sequence[str | None], query: str, n: int, rows: Sequence[int]
) -> list[tuple[int, float]]:
    """Lucene's BM25 by its formula, row by row."""
    counts = [Counter(text.split()) if text is not None else None for text in texts]
    known = [count for count in counts if count is not None]
    average = sum(map(Counter.total, known)) / len(known) if known else 0
    found = []
    for row in rows:
        score = 0.0
        for word in query.split():
            df = sum(word in count for count in known)
            f = (counts[row] or Counter())[word]
            k = 1.2 * (0.25 + 0.75 * (counts[row] or Counter()).total() / average) if f else 1.0
            score += log(1 + (len(known) - df + 0.5) / (df + 0.5)) * f / (f + k)
        if score > 0:
            found.append((row, score))
    return sorted(found, key=lambda pair: (-round(pair[1], 9), pair[0]))[:n]


LARGE = [
    LexicalIndex.from_texts(made_texts(1, 2000), bm25=Bm25(form), tokenizer=PLAIN)
    for form in ("lucene", "okapi")
]


def check_equal(found: list[tuple[int, float]], wanted: list[tuple[int, float]]) -> None:
    assert [row for row, _ in found] == [row for row, _ in wanted]
    assert [score for _, score in found] == pytest.approx([score for _, score in wanted], abs=1e-9)


@settings(max_examples=150, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(0, 150),
    st.lists(st.sampled_from([*NAMES, "unknown"]), min_size=1, max_size=7).map(" ".join),
    st.sampled_from([1, 2, 5, 20, 400]),
    st.sampled_from([0.02, 0.3, 0.9, 1.0]),
    st.tuples(st.integers(0, 150), st.integers(0, 150)),
)
def test_a_search_equals_scoring_every_row(
    seed: int, size: int, query: str, n: int, share: float, bounds: tuple[int, int]
) -> None:
    texts = made_texts(seed, size)
    index = LexicalIndex.from_texts(texts, tokenizer=PLAIN)
    check_equal(index.search(query, n), expected(texts, query, n, range(size)))
    mask = np.random.default_rng(seed).random(size) < share
    check_equal(
        index.search(query, n, mask), expected(texts, query, n, np.flatnonzero(mask).tolist())
    )
    run = slice(min(bounds), max(bounds))
    check_equal(index.search(query, n, run), expected(texts, query, n, range(size)[run]))


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(LARGE),
    st.lists(st.sampled_from(NAMES), min_size=1, max_size=6).map(" ".join),
    st.integers(1, 30),
    st.sampled_from([0.5, 1.0]),
)
def test_the_first_of_a_large_index_are_those_of_the_scores_of_all_rows_to_the_last_bit(
    index: LexicalIndex, query: str, n: int, share: float
) -> None:
    scores = index.scores(query)
    mask = np.random.default_rng(n).random(len(index)) < share
    kept = (
        mask & (index.postings.lengths != ABSENT)
        if index.bm25.method == "okapi"
        else mask & (scores > 0)
    )
    rows = np.flatnonzero(kept)
    best = rows[np.argsort(-np.round(scores[rows], 9), kind="stable")[:n]]
    assert index.search(query, n, mask) == list(
        zip(best.tolist(), scores[best].tolist(), strict=True)
    )


def term(rows: Sequence[int], weight: float) -> Term:
    return Term(np.array(rows, dtype=np.int32), np.ones(len(rows), dtype=np.int32), weight)


def test_a_frequent_term_that_cannot_change_who_is_best_is_looked_up_in_few_rows() -> None:
    size = 10 * FEW
    terms = [term([3, 40], 5.0), term(range(size), 0.1)]
    rows, scores = add_terms(terms, np.ones(size), np.arange(size), np.zeros(size), 2)
    assert rows.tolist() == [3, 40] and scores.tolist() == [2.55, 2.55]
    rows, scores = add_terms(terms, np.ones(size), np.arange(size), np.zeros(size), 3)
    assert len(rows) == size and scores[[3, 40, 41]].tolist() == [2.55, 2.55, 0.05]


def test_a_row_that_can_still_catch_up_stays() -> None:
    size = 10 * FEW
    terms = [term([3, 40], 2.0), term([60], 1.8), term([7], 0.1), Term(*frequent(size, 60), 0.9)]
    rows, scores = add_terms(terms, np.ones(size), np.arange(size), np.zeros(size), 2)
    assert rows.tolist() == [3, 40, 60]
    assert scores.tolist() == pytest.approx([1.45, 1.45, 0.9 + 0.9 * 99 / 100])


def frequent(size: int, often: int) -> tuple[np.ndarray, np.ndarray]:
    """Every row, once each but 99 times in one."""
    counts = np.ones(size, dtype=np.int32)
    counts[often] = 99
    return np.arange(size, dtype=np.int32), counts
