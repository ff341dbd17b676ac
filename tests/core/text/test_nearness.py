"""Phrases that are in a text, or close to it."""

from __future__ import annotations

import time

import pytest

from structrag.text.nearness import NearWords
from structrag.text.terms import Tokenizer, tokenizer_for

TEXT = "The valves of Nova-7 are cleaned once a year. In 1968 Ada Holm built C++ tools for Bergen."


@pytest.mark.parametrize(
    "phrase",
    ["valve", "VALVES", "cleaning", "yearly", "Ada Holm", "1968", "C++", "Nova-7", "the", "build",
     "valve cleaning in Bergen", "annual valve cleaning", "Holm"],
)  # fmt: skip
def test_phrases_of_the_text_or_close_to_it(phrase: str) -> None:
    assert phrase in NearWords(TEXT, Tokenizer())


@pytest.mark.parametrize(
    "phrase",
    [
        "pump",
        "Oslo",
        "1969",
        "19",
        "pump valve",
        "you",
        "valid",
        "new york",
        "novelty",
        "💧",
        "水泵",
    ],
)
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


@pytest.mark.parametrize(
    ("text", "phrase", "expected"),
    [
        # More than half of the words.
        ("pump valve", "pump oslo", False),
        ("pump valve", "pump valve oslo", True),
        ("pump valve", "pump oslo bergen", False),
        # A part of another word has four letters or more.
        ("protein", "rote", True),
        ("protein", "rot", False),
        ("ab1000", "b100", False),
        # A common beginning has 70 % of the shorter word.
        ("abcdefgxyz", "abcdefgqrs", True),
        ("abcdefgxyz", "abcdefpqrs", False),
        ("abcdefgxyz", "abcdefgqrsmnoklt", True),
        ("abcdxy", "abcdpq", False),
        ("abcdx", "abcdp", True),
        ("abcx", "abcp", False),
        ("clean", "cleaned", True),
        # Only stop words: as they stand.
        ("To be or not", "or not", True),
        ("To be or not", "not or", False),
    ],
)
def test_words_are_close_by_their_letters(
    text: str, phrase: str, expected: bool
) -> None:
    assert (phrase in NearWords(text, Tokenizer())) is expected
