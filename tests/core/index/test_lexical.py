"""BM25 terms and scores: foundation.md section 5, with bm25s and rank_bm25 as oracles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.index.lexical import (
    ABSENT,
    LexicalIndex,
)
from structrag.text.terms import (
    Tokenizer,
)

PLAIN = Tokenizer(stopwords=())
WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "x1", "the"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=12)


@settings(deadline=None)
@given(TEXTS, st.lists(WORDS, min_size=1, max_size=4))
def test_lucene_equals_bm25s(texts: list[str], query: list[str]) -> None:
    bm25s = pytest.importorskip("bm25s")
    tokens = [PLAIN(text) for text in texts]
    scores = LexicalIndex.from_texts(texts, tokenizer=PLAIN).scores(" ".join(query))
    if not any(tokens):
        assert scores.tolist() == [0.0] * len(texts)
        return
    oracle = bm25s.BM25(k1=1.2, b=0.75, method="lucene", dtype="float64")
    oracle.index(tokens, show_progress=False)
    assert scores.tolist() == pytest.approx(oracle.get_scores(query).tolist(), abs=1e-6)


@given(TEXTS, st.lists(WORDS, min_size=1, max_size=4))
def test_okapi_equals_rank_bm25_with_its_negative_idf(
    texts: list[str], query: list[str]
) -> None:
    rank_bm25 = pytest.importorskip("rank_bm25")
    tokens = [PLAIN(text) for text in texts]
    scores = LexicalIndex.from_texts(texts, method="okapi", tokenizer=PLAIN).scores(
        " ".join(query)
    )
    if not any(tokens):
        assert scores.tolist() == [0.0] * len(texts)
        return
    oracle = rank_bm25.BM25Okapi(tokens)
    assert scores.tolist() == pytest.approx(oracle.get_scores(query).tolist(), abs=1e-9)


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
            k = (
                1.2 * (0.25 + 0.75 * (counts[row] or Counter()).total() / average)
                if f
                else 1.0
            )
            score += log(1 + (len(known) - df + 0.5) / (df + 0.5)) * f / (f + k)
        if score > 0:
            found.append((row, score))
    return sorted(found, key=lambda pair: (-round(pair[1], 9), pair[0]))[:n]


LARGE = [
    LexicalIndex.from_texts(made_texts(1, 2000), method=form, tokenizer=PLAIN)
    for form in ("lucene", "okapi")
]


def check_equal(
    found: list[tuple[int, float]], wanted: list[tuple[int, float]]
) -> None:
    assert [row for row, _ in found] == [row for row, _ in wanted]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in wanted], abs=1e-9
    )


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 10_000),
    st.integers(0, 150),
    st.lists(st.sampled_from([*NAMES, "unknown"]), min_size=1, max_size=7).map(
        " ".join
    ),
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
        index.search(query, n, mask),
        expected(texts, query, n, np.flatnonzero(mask).tolist()),
    )
    run = slice(min(bounds), max(bounds))
    check_equal(
        index.search(query, n, run), expected(texts, query, n, range(size)[run])
    )


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
        mask & (index.parts[0].postings.lengths.all() != ABSENT)
        if index.method == "okapi"
        else mask & (scores > 0)
    )
    rows = np.flatnonzero(kept)
    best = rows[np.argsort(-np.round(scores[rows], 9), kind="stable")[:n]]
    assert index.search(query, n, mask) == list(
        zip(best.tolist(), scores[best].tolist(), strict=True)
    )
