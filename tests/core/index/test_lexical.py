"""BM25 terms and scores: foundation.md section 5, with bm25s and rank_bm25 as oracles."""

from __future__ import annotations

import math

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.index.lexical import Bm25, LexicalIndex, count_terms, join_rows, to_postings, to_rows
from structrag.text.terms import (
    Tokenizer,
)

PLAIN = Tokenizer(stopwords=())
WORKED = ["a b b", "a c", "a b d d"]
WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "x1", "the"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=12)


def test_lucene_worked_example() -> None:
    index = LexicalIndex.from_texts(WORKED, tokenizer=PLAIN)
    assert index.scores("b").tolist() == pytest.approx([0.293752, 0, 0.188001], abs=1e-6)
    assert [row for row, _ in index.search("b", 5)] == [0, 2]


def test_okapi_worked_example_ranks_the_document_without_the_word_first() -> None:
    index = LexicalIndex.from_texts(WORKED, bm25=Bm25("okapi"), tokenizer=PLAIN)
    assert index.scores("b").tolist() == pytest.approx([-0.1281, 0, -0.0780], abs=5e-5)
    assert [row for row, _ in index.search("b", 5)] == [1, 2, 0]


def test_okapi_idf_is_zero_for_one_of_two_documents() -> None:
    index = LexicalIndex.from_texts(["a b", "c d"], bm25=Bm25("okapi"), tokenizer=PLAIN)
    assert index.scores("a").tolist() == [0.0, 0.0]
    assert [row for row, _ in index.search("a", 5)] == [0, 1]


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
def test_okapi_equals_rank_bm25_with_its_negative_idf(texts: list[str], query: list[str]) -> None:
    rank_bm25 = pytest.importorskip("rank_bm25")
    tokens = [PLAIN(text) for text in texts]
    scores = LexicalIndex.from_texts(texts, bm25=Bm25("okapi"), tokenizer=PLAIN).scores(
        " ".join(query)
    )
    if not any(tokens):
        assert scores.tolist() == [0.0] * len(texts)
        return
    oracle = rank_bm25.BM25Okapi(tokens)
    assert scores.tolist() == pytest.approx(oracle.get_scores(query).tolist(), abs=1e-9)


@pytest.mark.parametrize("method", ["lucene", "okapi"])
def test_empty_cases(method: str) -> None:
    bm25 = Bm25(method)
    nothing = LexicalIndex.from_texts([], bm25=bm25)
    assert nothing.scores("word").tolist() == []
    assert nothing.search("word", 3) == []
    blank = LexicalIndex.from_texts(["", " . "], bm25=bm25)
    assert blank.scores("word").tolist() == [0.0, 0.0]
    full = LexicalIndex.from_texts(["alpha", "beta", "gamma"], bm25=bm25)
    assert full.scores("").tolist() == [0.0, 0.0, 0.0]
    assert full.search("", 3) == full.search("the of", 3) == []
    assert full.scores("unknown").tolist() == [0.0, 0.0, 0.0]
    assert full.search("alpha", 0) == []


def test_no_more_hits_than_rows_and_none_without_a_score() -> None:
    index = LexicalIndex.from_texts(["alpha", "beta", "alpha beta"])
    assert [row for row, _ in index.search("alpha", 99)] == [0, 2]
    assert index.search("unknown", 99) == []


def test_a_query_term_given_twice_counts_twice() -> None:
    index = LexicalIndex.from_texts(["alpha beta", "beta"])
    assert index.scores("alpha alpha") == pytest.approx(2 * index.scores("alpha"))


def test_ties_follow_the_rows() -> None:
    index = LexicalIndex.from_texts(["beta", "alpha", "gamma alpha", "alpha", "alpha"])
    assert [row for row, _ in index.search("alpha", 2)] == [1, 3]
    assert [row for row, _ in index.search("alpha", 9)] == [1, 3, 4, 2]


@pytest.mark.parametrize("method", ["lucene", "okapi"])
def test_absent_rows_count_nowhere(method: str) -> None:
    with_gaps = LexicalIndex.from_texts([None, *WORKED, None], bm25=Bm25(method), tokenizer=PLAIN)
    without = LexicalIndex.from_texts(WORKED, bm25=Bm25(method), tokenizer=PLAIN)
    assert with_gaps.scores("b").tolist() == [0.0, *without.scores("b").tolist(), 0.0]
    assert with_gaps.search("b", 9) == [(row + 1, score) for row, score in without.search("b", 9)]


@given(TEXTS, st.lists(WORDS, max_size=3).map(" ".join), st.data())
def test_a_search_within_rows_filters_the_full_one(
    texts: list[str], query: str, data: st.DataObject
) -> None:
    for method in ("lucene", "okapi"):
        index = LexicalIndex.from_texts(texts, bm25=Bm25(method), tokenizer=PLAIN)
        everything = index.search(query, len(texts))
        start = data.draw(st.integers(0, len(texts)))
        stop = data.draw(st.integers(start, len(texts)))
        mask = np.array(
            data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool
        )
        assert index.search(query, 99, slice(start, stop)) == [
            hit for hit in everything if start <= hit[0] < stop
        ]
        assert index.search(query, 99, mask) == [hit for hit in everything if mask[hit[0]]]


@given(st.lists(TEXTS, max_size=4))
def test_joined_and_turned_rows_equal_rows_counted_at_once(parts: list[list[str]]) -> None:
    vocabulary: dict[str, int] = {}
    joined = join_rows([count_terms(part, PLAIN, vocabulary) for part in parts])
    texts = [text for part in parts for text in part]
    index = LexicalIndex(to_postings(joined, len(vocabulary)), vocabulary, tokenizer=PLAIN)
    fresh = LexicalIndex.from_texts(texts, tokenizer=PLAIN)
    assert index.scores("alpha beta the").tolist() == fresh.scores("alpha beta the").tolist()
    back = to_rows(index.postings)
    assert to_postings(back, len(vocabulary)).rows.tolist() == index.postings.rows.tolist()
    assert back.lengths.tolist() == joined.lengths.tolist()


def test_large_counts_are_exact() -> None:
    index = LexicalIndex.from_texts(["word " * 70_000, "thing"])
    k = 1.2 * (1 - 0.75 + 0.75 * 70_000 / 35_000.5)
    assert index.scores("word")[0] == pytest.approx(
        math.log(1 + 1.5 / 1.5) * 70_000 / (70_000 + k), abs=1e-12
    )


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"method": "bm25+"}, "lexical must be one of 'lucene', 'okapi'; got 'bm25+'"),
        ({"k1": -1}, "k1 must be a number of at least 0; got -1"),
        ({"b": 2}, "b at most 1"),
        ({"b": math.nan}, "b must be a number"),
    ],
)
def test_bad_parameters(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=regex.escape(sentence)):
        Bm25(**arguments)  # type: ignore[arg-type]
