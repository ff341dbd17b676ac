"""Summaries and keywords that need no model."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.text.extractive import (
    entities,
    keywords,
    section_frequencies,
    sentences_of,
    summarise,
)
from structrag.text.tokens import count_tokens

LONG = " ".join(
    f"Sentence {i} speaks of topic {i % 7} and of detail number {i * i}."
    for i in range(60)
)


def test_a_short_text_is_its_own_summary() -> None:
    assert (
        summarise("  One sentence. And another one.\n")
        == "One sentence. And another one."
    )
    assert summarise("") == summarise(" \n ") == ""


def test_a_summary_keeps_the_limits_the_order_and_the_words() -> None:
    summary = summarise(LONG)
    sentences = summary.split(". ")
    assert len(sentences) <= 10 and len(summary.split()) <= 200
    places = [LONG.index(sentence.rstrip(".")) for sentence in sentences]
    assert places == sorted(places)
    assert summarise(LONG, max_sentences=2).count("Sentence") == 2
    assert len(summarise(LONG, max_words=25).split()) <= 25


def test_the_first_sentence_has_a_head_start_and_repeats_are_avoided() -> None:
    pumps, gears = "Pumps move water.", "Gears drive wheels."
    for first, second in ((pumps, gears), (gears, pumps)):
        text = f"{first} {first} {second} {second}"
        assert summarise(text, max_sentences=1) == first
        assert summarise(text, max_sentences=2) == f"{first} {second}"


def test_one_endless_sentence_is_cut_at_the_words() -> None:
    words = [f"word{i}" for i in range(1000)]
    assert summarise(" ".join(words)) == " ".join(words[:200])


@pytest.mark.parametrize(
    "text",
    [
        "今天天气很好。" * 60,
        "🙂 " * 500,
        "\n\n".join("|a|b|" for _ in range(50)),
        "the of and. " * 100,
        "x" * 5000,
        ". " * 400,
        "\x00" * 300,
    ],
)
def test_odd_texts_have_a_summary_no_longer_than_they_are(text: str) -> None:
    summary = summarise(text)
    assert len(summary) <= len(text) and count_tokens(summary) <= count_tokens(text)
    keywords(text, text[:20])


@given(st.text(max_size=400))
def test_any_text_is_survived(text: str) -> None:
    assert summarise(text, max_sentences=2, max_words=20) == summarise(
        text, max_sentences=2, max_words=20
    )
    found = keywords(text, "a heading")
    assert len({word.casefold() for word in found}) == len(found) <= 25
    assert all(word.strip() for word in found)


def test_keywords_tell_a_section_from_the_others() -> None:
    sections = [
        f"The device manual says that the {part} of the device is checked."
        for part in ("gearbox", "inlet filter", "housing")
    ]
    frequency = section_frequencies(sections)
    assert frequency["device"] == 3 and frequency["gearbox"] == 1
    for section, part in zip(
        sections, ("gearbox", "inlet filter", "housing"), strict=True
    ):
        best = keywords(section, document_frequency=frequency, n_sections=3)[:2]
        assert part in [word.casefold() for word in best]


def test_a_word_of_the_heading_counts_half_as_much_again() -> None:
    text = "alpha runs. beta runs. gamma runs."
    assert keywords(text, "Gamma rays")[0].casefold().startswith("gamma")


@examples
def test_the_number_of_keywords_grows_with_the_text(length: int, most: int) -> None:
    text = ". ".join(f"unique{i} thing{i}" for i in range(length * 20))
    found = keywords(text)
    assert len(found) == min(25, 5 + count_tokens(text) // 40) <= most


def test_stop_words_and_numbers_are_no_keywords() -> None:
    assert keywords("the of and 42 1999") == [] == keywords("")
    assert "und" not in keywords("Die Pumpe und das Ventil", language="german")


@examples
def test_entities(text: str, expected: list[str]) -> None:
    found = entities(text)
    assert all(name in found for name in expected)


@pytest.mark.slow
def test_equal_in_every_process() -> None:
    code = (
        "from structrag.text.extractive import *; import sys; t = sys.stdin.read(); "
        "print(summarise(t)); print(keywords(t, 'Topic'))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code],
            input=LONG,
            capture_output=True,
            text=True,
            check=True,
            cwd=Path(__file__).parent,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        ).stdout
        for seed in ("1", "2")
    }
    assert outputs == {f"{summarise(LONG)}\n{keywords(LONG, 'Topic')}\n"}


def test_the_blank_between_two_quotations_is_no_name() -> None:
    text = 'Success of the programs."   "We are delighted to start.'
    assert all(name.strip() for name in entities(text))
    assert all(phrase.strip() for phrase in keywords("A", text))


def test_a_quoted_name_has_at_most_six_words() -> None:
    assert entities('He wrote "one two three four five six" there.') == [
        "one two three four five six"
    ]
    assert entities('He wrote "one two three four five six seven" there.') == []


def test_a_phrase_has_at_most_four_words() -> None:
    words = keywords("centrifugal impeller housing gasket bolts")
    assert "centrifugal impeller housing gasket" in words
    assert max(len(word.split()) for word in words) == 4


def test_keywords_of_equal_worth_come_in_their_order_and_as_they_are_first_written() -> (
    None
):
    text = "Pumps leak. The seal; the Rotor. The pumps, the ROTOR."
    assert keywords(text)[:2] == ["Rotor", "Pumps leak"]
    assert keywords("", "Seals") == ["Seals"]
    assert keywords("") == []


def test_words_of_few_sections_are_worth_more() -> None:
    text = "A pump, a valve."
    for frequency, first in (
        ({"pump": 9, "valve": 1}, "valve"),
        ({"pump": 1, "valve": 9}, "pump"),
    ):
        assert keywords(text, document_frequency=frequency, n_sections=9)[0] == first


def test_sections_are_counted_by_their_words() -> None:
    counted = section_frequencies(["A pump and a pump.", "The PUMP leaks."])
    assert counted["pump"] == 2 and counted["leaks"] == 1 and "leaks." not in counted
    assert not section_frequencies([])


def test_signs_behind_a_word_are_no_part_of_it() -> None:
    text = "It leaks. Seals leak"
    # Half as much again, with both written.
    assert keywords(text, "Leaks.")[0] == "Leaks"
    rare = {"seals": 9, "leak": 9, "leaks": 1}
    assert keywords(text, document_frequency=rare, n_sections=9)[0] == "leaks"
    # A stop word ends a run also where a sentence ends with it; the fifth word begins a new one.
    assert keywords("pumps are.\nred seals") == ["pumps", "red seals"]
    assert keywords("one two three four leaks-") == ["one two three four", "leaks"]


@examples
def test_the_most_keywords_of_a_text(tokens: int, most: int) -> None:
    text = " of ".join(f"W{i}" for i in range(min(30, tokens // 4)))
    while count_tokens(text) < tokens:
        text += " of"
    assert len(keywords(text)) == most


def test_sentences_of_an_unknown_language_follow_english_rules() -> None:
    assert sentences_of(" One here.  Two here. ", "klingon") == [
        "One here.",
        "Two here.",
    ]


def test_a_text_of_exactly_the_limits_is_its_own_summary() -> None:
    text = " One two three. Four five. "
    assert summarise(text, max_sentences=2, max_words=5) == text.strip()
    assert summarise(text, max_sentences=1, max_words=5) == "One two three."
    assert summarise(text, max_sentences=2, max_words=4) == "One two three."
    assert summarise(text, max_sentences=2, max_words=3) == "One two three."
    assert summarise(text, max_sentences=2, max_words=2) == "One two"
    ten = " ".join(f"Pump {i} runs." for i in range(10))
    assert summarise(ten) == ten
    assert len(sentences_of(summarise(f"{ten} Pump 10 runs."))) == 10
    words = "word " * 199 + "end."
    assert summarise(words) == words
    assert summarise(f"word {words}").split() == ["word"] * 200


def test_a_word_alone_has_three_letters_to_be_a_keyword() -> None:
    assert keywords("ab. abc. ab cd.") == ["abc", "ab cd"]


@examples
def test_of_two_words_the_rarer_is_first(frequency: dict[str, int], first: str) -> None:
    text = "A pump, a valve."
    assert keywords(text, document_frequency=frequency, n_sections=9)[0] == first


def test_a_heading_is_worth_half_as_much_again() -> None:
    # Of four and of three mentions, one of them in the heading.
    text = "pump. pump. pump. pump. valve. valve."
    assert keywords(text, "Valve")[0] == "Valve"  # 3 * 1.5 is more than 4
    assert keywords(f"pump. {text}", "Valve")[0] == "pump"  # and less than 5
