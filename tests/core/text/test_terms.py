"""How texts and queries are cut into terms."""

from __future__ import annotations

import unicodedata

import pytest
import regex
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.text.terms import (
    _ANY_RUN,
    _EUROPEAN,
    _EUROPEAN_RUN,
    _HAS_SPACELESS,
    STOPWORD_LANGUAGES,
    Tokenizer,
    terms,
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


def test_the_fast_path_for_european_text_is_exact() -> None:
    kept = regex.compile(f"[{_EUROPEAN}]")
    for code in range(0x3000):
        char = chr(code)
        if kept.match(char):
            assert not _HAS_SPACELESS.match(char)
            assert not unicodedata.category(char).startswith("M")
            assert bool(_EUROPEAN_RUN.fullmatch(char)) == bool(
                _ANY_RUN.fullmatch(char)
            ), hex(code)


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


def test_every_list_is_that_of_bm25s() -> None:
    oracle = pytest.importorskip("bm25s.stopwords")
    names = {
        language: f"STOPWORDS_{language.upper()}" for language in STOPWORD_LANGUAGES
    }
    names["english"] = "STOPWORDS_EN_PLUS"
    for language, name in names.items():
        expected = Tokenizer(language, tuple(getattr(oracle, name)))
        assert Tokenizer(language).to_json() == expected.to_json()
