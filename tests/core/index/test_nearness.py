"""Phrases that are in a text, or close to it."""

from __future__ import annotations

from fixture_cases import examples

from structrag.index.views import NearWords
from structrag.text.terms import Tokenizer

TEXT = "The valves of Nova-7 are cleaned once a year. In 1968 Ada Holm built C++ tools for Bergen."


@examples
def test_phrases_of_the_text_or_close_to_it(phrase: str) -> None:
    assert phrase in NearWords(TEXT, Tokenizer())


@examples
def test_phrases_of_other_texts(phrase: str) -> None:
    assert phrase not in NearWords(TEXT, Tokenizer())


@examples
def test_words_are_close_by_their_letters(
    text: str, phrase: str, expected: bool
) -> None:
    assert (phrase in NearWords(text, Tokenizer())) is expected
