"""BM25 terms and scores: foundation.md section 5, with bm25s and rank_bm25 as oracles."""

from __future__ import annotations

import gzip
import json
import math
from collections import Counter
from collections.abc import Sequence
from math import log

import numpy as np
import pytest
import regex
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from structrag import Document, Index
from structrag.errors import InvalidParameter
from structrag.index.lexical import (
    ABSENT,
    FEW,
    Bm25,
    LengthNorm,
    LexicalIndex,
    LexicalPart,
    Term,
    add_terms,
    count_terms,
    join_rows,
    to_postings,
    to_rows,
)
from structrag.index.ranking import RowMap
from structrag.text.terms import (
    Tokenizer,
)

PLAIN = Tokenizer(stopwords=())
WORKED = ["a b b", "a c", "a b d d"]
WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "x1", "the"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=12)


def test_lucene_worked_example() -> None:
    index = LexicalIndex.from_texts(WORKED, tokenizer=PLAIN)
    assert index.scores("b").tolist() == pytest.approx(
        [0.293752, 0, 0.188001], abs=1e-6
    )
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
def test_okapi_equals_rank_bm25_with_its_negative_idf(
    texts: list[str], query: list[str]
) -> None:
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


def test_the_papers_preset_scores_real_papers_as_rank_bm25_does() -> None:
    rank_bm25 = pytest.importorskip("rank_bm25")
    if not (DATA / "qasper").is_dir():
        pytest.skip(f"no evaluation data at {DATA}; set STRUCTRAG_DATA to its folder")
    papers, asked = (
        list(
            map(
                json.loads,
                gzip.decompress((DATA / "qasper" / file).read_bytes()).splitlines(),
            )
        )
        for file in ("documents.jsonl.gz", "questions.jsonl.gz")
    )
    index = Index(preset="paper")
    index.add(
        [
            Document(row["text"], id=row["id"], format=row["format"])
            for row in papers[:3]
        ]
    )
    reader, tokenizer = index.reader(), index.store.settings.tokenizer
    for view in index.views:
        texts = [reader.view_text(row, view) for row in range(len(reader))]
        oracle = rank_bm25.BM25Okapi([tokenizer(text) for text in texts if text])
        found = 0
        for question in [row["question"] for row in asked[:20]]:
            scores = reader.lexical(view).scores(question)[
                [bool(text) for text in texts]
            ]
            expected = oracle.get_scores(tokenizer(question))
            assert scores.tolist() == pytest.approx(expected.tolist(), abs=1e-9)
            found += abs(expected).max() > 1
        assert found > 10


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
    with_gaps = LexicalIndex.from_texts(
        [None, *WORKED, None], bm25=Bm25(method), tokenizer=PLAIN
    )
    without = LexicalIndex.from_texts(WORKED, bm25=Bm25(method), tokenizer=PLAIN)
    assert with_gaps.scores("b").tolist() == [0.0, *without.scores("b").tolist(), 0.0]
    assert with_gaps.search("b", 9) == [
        (row + 1, score) for row, score in without.search("b", 9)
    ]


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
            data.draw(
                st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))
            ),
            dtype=bool,
        )
        assert index.search(query, 99, slice(start, stop)) == [
            hit for hit in everything if start <= hit[0] < stop
        ]
        assert index.search(query, 99, mask) == [
            hit for hit in everything if mask[hit[0]]
        ]


@given(st.lists(TEXTS, max_size=4))
def test_joined_and_turned_rows_equal_rows_counted_at_once(
    parts: list[list[str]],
) -> None:
    vocabulary: dict[str, int] = {}
    joined = join_rows([count_terms(part, PLAIN, vocabulary) for part in parts])
    texts = [text for part in parts for text in part]
    postings = to_postings(joined, len(vocabulary))
    part = LexicalPart(postings, vocabulary, RowMap(len(texts)))
    index = LexicalIndex([part], tokenizer=PLAIN)
    fresh = LexicalIndex.from_texts(texts, tokenizer=PLAIN)
    assert (
        index.scores("alpha beta the").tolist()
        == fresh.scores("alpha beta the").tolist()
    )
    back = to_rows(postings)
    again = to_postings(back, len(vocabulary))
    assert again.rows.all().tolist() == postings.rows.all().tolist()
    assert back.lengths.tolist() == joined.lengths.tolist()


@given(
    st.lists(TEXTS, min_size=1, max_size=4),
    st.lists(WORDS, max_size=3).map(" ".join),
    st.sampled_from(["lucene", "okapi"]),
    st.data(),
)
def test_parts_with_deleted_rows_score_as_one_index_of_the_rest(
    parts: list[list[str]], query: str, method: str, data: st.DataObject
) -> None:
    total = sum(map(len, parts))
    alive = np.array(
        data.draw(st.lists(st.booleans(), min_size=total, max_size=total)), dtype=bool
    )
    indexed, rest, first = [], [], 0
    for texts in parts:
        live = alive[first : first + len(texts)]
        first += len(texts)
        positions = np.where(live, len(rest) + np.cumsum(live) - 1, -1)
        rest += [text for text, is_alive in zip(texts, live, strict=True) if is_alive]
        vocabulary: dict[str, int] = {}
        postings = to_postings(count_terms(texts, PLAIN, vocabulary), len(vocabulary))
        indexed.append(
            LexicalPart(postings, vocabulary, RowMap(len(texts), 0, positions))
        )
    index = LexicalIndex(indexed, bm25=Bm25(method), tokenizer=PLAIN)
    fresh = LexicalIndex.from_texts(rest, bm25=Bm25(method), tokenizer=PLAIN)
    assert len(index) == len(rest)
    for n in (1, 3, 99):
        assert index.search(query, n) == fresh.search(query, n)
    assert index.scores(query).tolist() == fresh.scores(query).tolist()
    mask = np.arange(len(rest)) % 2 == 0
    assert index.search(query, 99, mask) == fresh.search(query, 99, mask)
    run = slice(1, max(1, len(rest) - 1))
    assert index.search(query, 99, run) == fresh.search(query, 99, run)


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
        ({"k1": math.inf}, "k1 must be finite"),
        ({"b": math.nan}, "b must be a number"),
    ],
)
def test_bad_parameters(arguments: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=regex.escape(sentence)):
        Bm25(**arguments)  # type: ignore[arg-type]


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
    LexicalIndex.from_texts(made_texts(1, 2000), bm25=Bm25(form), tokenizer=PLAIN)
    for form in ("lucene", "okapi")
]


def check_equal(
    found: list[tuple[int, float]], wanted: list[tuple[int, float]]
) -> None:
    assert [row for row, _ in found] == [row for row, _ in wanted]
    assert [score for _, score in found] == pytest.approx(
        [score for _, score in wanted], abs=1e-9
    )


@settings(max_examples=150, deadline=None)
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
        if index.bm25.method == "okapi"
        else mask & (scores > 0)
    )
    rows = np.flatnonzero(kept)
    best = rows[np.argsort(-np.round(scores[rows], 9), kind="stable")[:n]]
    assert index.search(query, n, mask) == list(
        zip(best.tolist(), scores[best].tolist(), strict=True)
    )


def plain_norm(size: int) -> LengthNorm:
    """A K of 1 for every row."""
    return LengthNorm(np.zeros(size, dtype=np.int32), 1.0, 0.0)


def term(rows: Sequence[int], weight: float) -> Term:
    return Term(
        np.array(rows, dtype=np.int32), np.ones(len(rows), dtype=np.int32), weight
    )


def test_a_frequent_term_that_cannot_change_who_is_best_is_looked_up_in_few_rows() -> (
    None
):
    size = 10 * FEW
    terms = [term([3, 40], 5.0), term(range(size), 0.1)]
    rows, scores = add_terms(
        terms, plain_norm(size), np.arange(size), np.zeros(size), 2
    )
    assert rows.tolist() == [3, 40] and scores.tolist() == [2.55, 2.55]
    rows, scores = add_terms(
        terms, plain_norm(size), np.arange(size), np.zeros(size), 3
    )
    assert len(rows) == size and scores[[3, 40, 41]].tolist() == [2.55, 2.55, 0.05]


def test_a_row_that_can_still_catch_up_stays() -> None:
    size = 10 * FEW
    terms = [
        term([3, 40], 2.0),
        term([60], 1.8),
        term([7], 0.1),
        Term(*frequent(size, 60), 0.9),
    ]
    rows, scores = add_terms(
        terms, plain_norm(size), np.arange(size), np.zeros(size), 2
    )
    assert rows.tolist() == [3, 40, 60]
    assert scores.tolist() == pytest.approx([1.45, 1.45, 0.9 + 0.9 * 99 / 100])


def frequent(size: int, often: int) -> tuple[np.ndarray, np.ndarray]:
    """Every row, once each but 99 times in one."""
    counts = np.ones(size, dtype=np.int32)
    counts[often] = 99
    return np.arange(size, dtype=np.int32), counts


@pytest.mark.parametrize(
    ("k1", "b", "parts"),
    [
        (0, 0.75, [1, 1]),
        (1, 0, [2 / 3, 1 / 2]),
        # Rows of 2 and 4 terms, of 7 / 3 on average.
        (1, 1, [2 / (2 + 6 / 7), 1 / (1 + 12 / 7)]),
    ],
)
def test_the_ends_of_the_parameters_ranges(
    k1: float, b: float, parts: list[float]
) -> None:
    texts, bm25 = ["a a", "a b c d", "e"], Bm25(k1=k1, b=b)
    index = LexicalIndex.from_texts(texts, bm25=bm25, tokenizer=PLAIN)
    idf = log(1 + 1.5 / 2.5)
    scores = [idf * part for part in parts]
    assert index.scores("a").tolist() == pytest.approx([*scores, 0])


def test_okapi_leaves_an_idf_of_zero_as_it_is() -> None:
    texts = ["a", "a", "b", "c"]
    index = LexicalIndex.from_texts(texts, bm25=Bm25("okapi"), tokenizer=PLAIN)
    assert index.scores("a").tolist() == [0, 0, 0, 0]
    # Every row has one term, so that K is k1.
    assert index.scores("b")[2] == pytest.approx(log(3.5 / 1.5))


def test_rows_are_cut_out_with_their_terms() -> None:
    vocabulary: dict[str, int] = {}
    rows = count_terms(["a b b", None, "", "b c c c", "a"], PLAIN, vocabulary)
    assert vocabulary == {"a": 0, "b": 1, "c": 2}
    assert rows.lengths.tolist() == [3, ABSENT, 0, 4, 1]
    assert rows.indptr.tolist() == [0, 2, 2, 2, 4, 5]
    middle = rows.slice(1, 4)
    assert middle.lengths.tolist() == [ABSENT, 0, 4]
    assert middle.indptr.tolist() == [0, 0, 0, 2]
    assert middle.terms.tolist() == [1, 2] and middle.counts.tolist() == [1, 3]
    both = join_rows([middle, rows.slice(4, 5)])
    assert both.lengths.tolist() == [ABSENT, 0, 4, 1]
    assert both.indptr.tolist() == [0, 0, 0, 2, 3]
    assert both.terms.tolist() == [1, 2, 0] and both.counts.tolist() == [1, 3, 1]


def test_no_rows_are_joined_to_none() -> None:
    none = join_rows([])
    assert none.indptr.tolist() == [0] and len(none.lengths) == 0
    assert to_postings(none, 3).indptr.all().tolist() == [0, 0, 0, 0]


def test_postings_of_chosen_terms_alone() -> None:
    rows = count_terms(["a b b", "b c", "c c c a"], PLAIN, {})
    chosen = to_postings(rows, 3).select(np.array([2, 0]))
    assert chosen.n_terms == 2 and chosen.indptr.all().tolist() == [0, 2, 4]
    assert chosen.rows.all().tolist() == [1, 2, 0, 2]
    assert chosen.counts.all().tolist() == [1, 3, 1, 1]
    assert chosen.lengths.all().tolist() == [3, 2, 4]
    assert chosen.size == (3, 9)


def test_counts_by_row_come_back_from_counts_by_term() -> None:
    rows = count_terms(["a b b", None, "c"], PLAIN, {})
    back = to_rows(to_postings(rows, 4))
    assert back.lengths.tolist() == [3, ABSENT, 1]
    assert back.indptr.tolist() == [0, 2, 2, 3]
    assert back.terms.tolist() == [0, 1, 2] and back.counts.tolist() == [1, 2, 1]


@pytest.mark.parametrize("method", ["lucene", "okapi"])
def test_terms_that_came_after_the_postings_were_made_are_unknown(method: str) -> None:
    vocabulary: dict[str, int] = {}
    rows = count_terms(["a b", "b", "c"], PLAIN, vocabulary)
    postings = to_postings(rows, len(vocabulary))
    before = LexicalIndex(
        [LexicalPart(postings, dict(vocabulary), RowMap(3))],
        bm25=Bm25(method),
        tokenizer=PLAIN,
    )
    count_terms(["late later"], PLAIN, vocabulary)
    index = LexicalIndex(
        [LexicalPart(postings, vocabulary, RowMap(3))],
        bm25=Bm25(method),
        tokenizer=PLAIN,
    )
    assert index.scores("late").tolist() == index.scores("later").tolist() == [0, 0, 0]
    assert index.search("a b late", 9) == before.search("a b", 9)


def test_an_index_without_parts_finds_nothing() -> None:
    nothing = LexicalIndex([])
    assert len(nothing) == 0
    assert nothing.search("word", 3) == [] and nothing.scores("word").tolist() == []


def test_terms_add_nothing_where_there_are_no_rows() -> None:
    none = np.empty(0, dtype=np.int32)
    rows, scores = add_terms([term([3], 5.0)], plain_norm(9), none, np.zeros(0), 1)
    assert len(rows) == len(scores) == 0


def test_a_query_of_several_parts_takes_each_term_where_it_is() -> None:
    parts, first = [], 0
    for texts in (["a", "b"], ["c"], ["b b", "a c"]):
        vocabulary: dict[str, int] = {}
        postings = to_postings(count_terms(texts, PLAIN, vocabulary), len(vocabulary))
        parts.append(LexicalPart(postings, vocabulary, RowMap(len(texts), first)))
        first += len(texts)
    index = LexicalIndex(parts, tokenizer=PLAIN)
    whole = LexicalIndex.from_texts(["a", "b", "c", "b b", "a c"], tokenizer=PLAIN)
    assert len(index) == 5
    for query in ("a", "b", "c", "a b c"):
        assert index.search(query, 9) == whole.search(query, 9)
    assert index.search("b c", 9, slice(2, 4)) == whole.search("b c", 9, slice(2, 4))
    only = np.array([False, True, True, False, True])
    assert index.search("b c", 9, only) == whole.search("b c", 9, only)


@examples
def test_a_term_adds_to_the_rows_that_hold_it(
    rows: list[int], held: list[int], scores: list[float]
) -> None:
    searched = np.array(rows, dtype=np.int32)
    of_term = [term(held, 5.0)]  # a K of 1: half the weight
    left, added = add_terms(
        of_term, plain_norm(10), searched, np.zeros(len(rows)), len(rows)
    )
    assert left.tolist() == rows and added.tolist() == scores


def test_deleted_and_absent_rows_count_in_no_statistic() -> None:
    vocabulary: dict[str, int] = {}
    rows = count_terms(["a b b", "c", None, "b c c c"], PLAIN, vocabulary)
    postings = to_postings(rows, len(vocabulary))
    place = RowMap(4, positions=np.array([2, -1, 1, 0]))
    part = LexicalPart(postings, vocabulary, place)
    assert part.size == (2, 7) and postings.size == (3, 8)
    index = LexicalIndex([part], tokenizer=PLAIN)
    fresh = LexicalIndex.from_texts(["b c c c", None, "a b b"], tokenizer=PLAIN)
    assert index.search("b c", 9) == fresh.search("b c", 9)
    assert index.scores("b c").tolist() == fresh.scores("b c").tolist()
