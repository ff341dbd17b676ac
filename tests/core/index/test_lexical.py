"""BM25 terms and scores: foundation.md section 5, with bm25s and rank_bm25 as oracles."""

from __future__ import annotations

import math
import subprocess
import sys
import unicodedata

import numpy as np
import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.index.lexical import Bm25, LexicalIndex, count_terms, join_rows, to_postings, to_rows
from structrag.text.terms import (
    _ANY_RUN,
    _EUROPEAN,
    _EUROPEAN_RUN,
    _HAS_SPACELESS,
    Tokenizer,
    terms,
)

PLAIN = Tokenizer(stopwords=())
WORKED = ["a b b", "a c", "a b d d"]
WORDS = st.sampled_from(["alpha", "beta", "gamma", "delta", "x1", "the"])
TEXTS = st.lists(st.lists(WORDS, max_size=8).map(" ".join), max_size=12)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("CA-IS3722HS", ["ca-is3722hs", "ca", "is3722hs"]),
        ("$3.50", ["3.50"]),
        ("1,000 and 2.5.", ["1,000", "2.5"]),
        ("天气很好", ["天气", "气很", "很好"]),
        ("好", ["好"]),
        ("iPhone手机 ok", ["iphone", "手机", "ok"]),
        ("手机-ok", ["手机", "ok"]),
        ("हिन्दी", ["हिन्दी"]),
        ("re\u0301sume\u0301 RÉSUMÉ", ["résumé", "résumé"]),
        ("Straße STRASSE", ["strasse", "strasse"]),
        ("\uff21\uff22\uff23", ["abc"]),
        ("snake_case a/b", ["snake_case", "snake", "case", "a/b"]),
        ("state-of-the-art", ["state-of-the-art", "state", "art"]),
        ("naïve-Bayes", ["naïve-bayes", "naïve", "bayes"]),
        ("a--b _emphasis_ end.", ["b", "emphasis", "end"]),
        ("コンピューター", ["コン", "ンピ", "ピュ", "ュー", "ータ", "ター"]),
        ("ราคา", ["รา", "าค", "คา"]),
        ("fire bill system side top empty", ["fire", "bill", "system", "side", "top", "empty"]),
        ("Don't stop the music", ["stop", "music"]),
        ("lone \ud800 surrogate", ["lone", "surrogate"]),
        ("", []),
        (" \n— …", []),
    ],
)
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_stop_words_belong_to_the_language() -> None:
    assert terms("der Hund und the dog", language="german") == ["hund", "the", "dog"]
    assert terms("The Dog", stopwords=()) == ["the", "dog"]
    assert terms("The Dog", stopwords=("Dog",)) == ["the"]
    assert len(Tokenizer().to_json()["stopwords"]) == 179


def test_a_language_without_stop_words_is_refused_with_a_way_out() -> None:
    with pytest.raises(
        InvalidParameter, match=r"language must be one of .*got 'klingon'.*stopwords=\(\)"
    ):
        Tokenizer("klingon")
    assert Tokenizer("klingon", ())("nuqneH") == ["nuqneh"]


@pytest.mark.parametrize(
    "tokenizer", [Tokenizer(), Tokenizer("french"), PLAIN, Tokenizer(stopwords=("x",))]
)
def test_a_saved_tokenizer_cuts_alike(tokenizer: Tokenizer) -> None:
    text = "The x of le chat and 3.50 CA-IS"
    assert Tokenizer.from_json(tokenizer.to_json())(text) == tokenizer(text)


def test_the_fast_path_for_european_text_is_exact() -> None:
    kept = regex.compile(f"[{_EUROPEAN}]")
    for code in range(0x3000):
        char = chr(code)
        if kept.match(char):
            assert not _HAS_SPACELESS.match(char)
            assert not unicodedata.category(char).startswith("M")
            assert bool(_EUROPEAN_RUN.fullmatch(char)) == bool(_ANY_RUN.fullmatch(char)), hex(code)


@given(st.text(alphabet=st.sampled_from("aB1.,-_/ \u00e9\u03b1\u0434")))
def test_both_ways_to_cut_agree(text: str) -> None:
    folded = unicodedata.normalize("NFKC", text).casefold()
    assert _EUROPEAN_RUN.findall(folded) == _ANY_RUN.findall(folded)
    assert terms(text, stopwords=()) == [
        term for term in terms(text + " \u0915", stopwords=()) if term != "\u0915"
    ]  # a Hindi letter sends the text down the general path


@given(st.text())
def test_every_letter_and_digit_is_in_a_term(text: str) -> None:
    found = "".join(terms(text, stopwords=()))
    folded = unicodedata.normalize("NFKC", text).casefold()
    assert {char for char in folded if char.isalpha()} <= set(found)
    assert all(term == term.strip() and term for term in terms(text))


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


LAZY = """
import sys
from structrag.index import LexicalIndex, Tokenizer
LexicalIndex.from_texts(["a"], tokenizer=Tokenizer(stopwords=())).search("a", 1)
print("bm25s" in sys.modules)
"""


def test_bm25s_is_imported_only_for_its_stop_words() -> None:
    done = subprocess.run([sys.executable, "-c", LAZY], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
