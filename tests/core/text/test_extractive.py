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
    summarise,
)
from structrag.text.tokens import count_tokens

LONG = " ".join(
    f"Sentence {i} speaks of topic {i % 7} and of detail number {i * i}."
    for i in range(60)
)


def test_one_endless_sentence_is_cut_at_the_words() -> None:
    words = [f"word{i}" for i in range(1000)]
    assert summarise(" ".join(words)) == " ".join(words[:200])


@given(st.text(max_size=400))
def test_any_text_is_survived(text: str) -> None:
    assert summarise(text, max_sentences=2, max_words=20) == summarise(
        text, max_sentences=2, max_words=20
    )
    found = keywords(text, "a heading")
    assert len({word.casefold() for word in found}) == len(found) <= 25
    assert all(word.strip() for word in found)


@examples
def test_the_number_of_keywords_grows_with_the_text(length: int, most: int) -> None:
    text = ". ".join(f"unique{i} thing{i}" for i in range(length * 20))
    found = keywords(text)
    assert len(found) == min(25, 5 + count_tokens(text) // 40) <= most


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


def test_sections_are_counted_by_their_words() -> None:
    counted = section_frequencies(["A pump and a pump.", "The PUMP leaks."])
    assert counted["pump"] == 2 and counted["leaks"] == 1 and "leaks." not in counted
    assert not section_frequencies([])


@examples
def test_of_two_words_the_rarer_is_first(frequency: dict[str, int], first: str) -> None:
    text = "A pump, a valve."
    assert keywords(text, document_frequency=frequency, n_sections=9)[0] == first


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
