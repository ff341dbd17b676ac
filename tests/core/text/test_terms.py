"""How texts and queries are cut into terms."""

from __future__ import annotations

import unicodedata

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.text.folding import fold
from structrag.text.terms import (
    STOPWORD_LANGUAGES,
    Tokenizer,
    terms,
    word_spans,
)

PLAIN = Tokenizer(stopwords=())


@examples
def test_terms(text: str, expected: list[str]) -> None:
    assert terms(text) == expected


def test_a_language_without_stop_words_is_refused_with_a_way_out() -> None:
    with pytest.raises(
        InvalidParameter,
        match=r"language must be one of .*got 'klingon'.*stopwords=\(\)",
    ):
        Tokenizer("klingon")
    assert Tokenizer("klingon", ())("nuqneH") == ["nuqneh"]


@pytest.mark.parametrize(
    "tokenizer", [Tokenizer(), Tokenizer("french"), PLAIN, Tokenizer(stopwords=("x",))]
)
def test_a_saved_tokenizer_cuts_alike(tokenizer: Tokenizer) -> None:
    text = "The x of le chat and 3.50 CA-IS"
    assert Tokenizer.from_json(tokenizer.to_json())(text) == tokenizer(text)


ALPHABET = "aB1.,-_/+# \u00e9\u03b1\u0434\u2011\u2019\u00ad\u0301"


@given(st.text(alphabet=st.sampled_from(ALPHABET)))
@pytest.mark.parametrize(
    "others", ["\u0915", "\u0915 \u597d"], ids=["hindi", "chinese"]
)
def test_every_script_is_cut_alike(others: str, text: str) -> None:
    # Letters of other scripts send the text down other paths.
    assert terms(f"{text} {others}", stopwords=()) == [
        *terms(text, stopwords=()),
        *others.split(),
    ]


@given(st.text())
def test_every_letter_and_digit_is_in_a_term(text: str) -> None:
    found = "".join(terms(text, stopwords=()))
    assert {char for char in fold(text) if char.isalpha()} <= set(found)
    assert all(term == term.strip() and term for term in terms(text))


@given(st.text())
def test_a_text_decomposed_has_the_same_terms(text: str) -> None:
    assert terms(unicodedata.normalize("NFD", text)) == terms(
        unicodedata.normalize("NFC", text)
    )


@examples
def test_words_stand_where_they_were_written(text: str, words: list[str]) -> None:
    spans = word_spans(text, parts=True)
    assert [text[start:end] for start, end in spans] == words
    whole = word_spans(text)
    assert set(whole) <= set(spans)


@given(st.text(alphabet=st.sampled_from(ALPHABET + "\u597d\u5929")))
def test_the_words_of_a_text_have_its_terms(text: str) -> None:
    spans = word_spans(text, parts=True)
    found = {term for start, end in spans for term in PLAIN(text[start:end])}
    assert set(PLAIN(text)) <= found | {"+", "#"}


def test_every_list_is_that_of_bm25s() -> None:
    oracle = pytest.importorskip("bm25s.stopwords")
    names = {
        language: f"STOPWORDS_{language.upper()}" for language in STOPWORD_LANGUAGES
    }
    names["english"] = "STOPWORDS_EN_PLUS"
    for language, name in names.items():
        expected = Tokenizer(language, tuple(getattr(oracle, name)))
        assert Tokenizer(language).to_json() == expected.to_json()
