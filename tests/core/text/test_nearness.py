"""Phrases that are in a text, or close to it."""

from __future__ import annotations

import time

from fixture_cases import examples

from structrag.text.nearness import NearWords
from structrag.text.terms import Tokenizer, tokenizer_for

TEXT = "The valves of Nova-7 are cleaned once a year. In 1968 Ada Holm built C++ tools for Bergen."


@examples
def test_phrases_of_the_text_or_close_to_it(phrase: str) -> None:
    assert phrase in NearWords(TEXT, Tokenizer())


@examples
def test_phrases_of_other_texts(phrase: str) -> None:
    assert phrase not in NearWords(TEXT, Tokenizer())


def test_other_scripts_and_compounds() -> None:
    assert "水泵" in NearWords("每年清洗水泵和阀门。", tokenizer_for("chinese"))
    assert "油箱" not in NearWords("每年清洗水泵和阀门。", tokenizer_for("chinese"))
    german = NearWords("Die Wasserpumpen werden gereinigt.", tokenizer_for("german"))
    assert "Pumpe" in german and "gereinigte" in german and "Ventil" not in german
    assert "насосы" in NearWords("Насос качает воду.", tokenizer_for("russian"))


def test_an_empty_text_has_no_phrases() -> None:
    assert "pump" not in NearWords("", Tokenizer())
    assert "pump" not in NearWords(" \n", Tokenizer())


def test_long_texts_and_phrases_take_time_in_proportion() -> None:
    near = NearWords(
        "abcd" + " ".join(f"word{i} abcd{i}x" for i in range(50_000)), Tokenizer()
    )
    started = time.process_time()
    for i in range(40):
        assert f"zebra{i}" not in near and "zebraic" not in near
    assert time.process_time() - started < 5


@examples
def test_words_are_close_by_their_letters(
    text: str, phrase: str, expected: bool
) -> None:
    assert (phrase in NearWords(text, Tokenizer())) is expected
