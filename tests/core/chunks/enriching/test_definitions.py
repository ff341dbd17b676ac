"""Definitions found by their form, and texts shortened without losing a name."""

from __future__ import annotations

import numpy as np
from fixture_cases import examples
from samples import DEFINING

from structrag.chunks.enriching.definitions import (
    _long_form,
    definition_in,
    definitions,
    is_code,
    shortened,
)
from structrag.text.tokens import count_tokens


def test_definitions_are_found_by_form() -> None:
    assert definition_in(DEFINING) == [("LSTM", "Long Short-Term Memory (LSTM)")]
    assert definition_in("We train hidden Markov models (HMMs) here.") == [
        ("HMM", "hidden Markov models (HMMs)")
    ]
    assert definition_in("The CA-IS3722HS is a chip.") == [
        ("CA-IS3722HS", "The CA-IS3722HS is a chip.")
    ]
    for nothing in (
        "This is a test.",
        "It works (OK) here.",
        "See the table (TABLE) there.",
        "",
        "(ABC)",
    ):
        assert definition_in(nothing) == []
    assert definitions(["x", "LSTM is a net.", "LSTM is more."]) == {
        "LSTM": (1, "LSTM is a net.")
    }


def test_shortening_keeps_every_name_or_gives_none() -> None:
    sentences = ["A b c d e.", "NASA flew.", "ESA flew too.", "More of it."]
    vectors = np.eye(4)
    assert (
        shortened(sentences, vectors, ["NASA", "ESA"], 9, count_tokens)
        == "NASA flew. ESA flew too."
    )
    assert shortened(sentences, vectors, ["NASA", "ESA"], 6, count_tokens) is None
    assert shortened(sentences, vectors, ["NASA", "JAXA"], 99, count_tokens) is None
    assert shortened([], np.zeros((0, 1)), [], 9, count_tokens) is None


@examples
def test_the_words_that_an_acronym_stands_for(
    short: str, before: str, long: str
) -> None:
    assert _long_form(short, before) == long


@examples
def test_acronyms_and_codes(name: str, expected: bool) -> None:
    assert is_code(name) is expected


def count_words(text: str) -> int:
    return len(text.split())


THREE = ["NASA flew far.", "It was cold.", "ESA stayed."]


@examples
def test_sentences_nearest_the_mean_fill_the_room(
    most: int, names: list[str], text: str | None
) -> None:
    vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]])
    assert shortened(THREE, vectors, names, most, count_words) == text


@examples
def test_of_sentences_as_near_the_first_comes_first(closer: float, second: str) -> None:
    vectors = np.array([[1.5], [0.75], [0.75 + closer]])
    text = shortened(["a.", "b.", "c."], vectors, [], 2, count_words)
    assert text == f"a. {second}"


def test_a_sentence_with_more_of_the_names_comes_first() -> None:
    sentences = ["A1 is.", "B2 is.", "A1 and B2.", "B2 and C3.", "B2 or C3."]
    vectors = np.zeros((5, 1))
    names = ["A1", "B2", "C3"]
    # The third has two, then the fourth has the one that is left.
    assert shortened(sentences, vectors, names, 6, count_words) == (
        "A1 and B2. B2 and C3."
    )
    assert shortened(sentences, vectors, names, 5, count_words) is None


def test_names_without_sentences_have_no_shorter_text() -> None:
    assert shortened([], np.zeros((0, 1)), ["NASA"], 9, count_words) is None


def test_a_text_that_counts_more_than_its_sentences_is_none() -> None:
    def joined(text: str) -> int:
        """Two sentences together count one more."""
        return count_words(text) + ("far. It" in text)

    vectors = np.ones((2, 1))
    assert shortened(THREE[:2], vectors, [], 7, joined) == "NASA flew far. It was cold."
    assert shortened(THREE[:2], vectors, [], 6, joined) is None


def test_white_space_of_a_shorter_text_is_collapsed() -> None:
    vectors = np.ones((1, 1))
    assert shortened(["A  b\nc."], vectors, [], 3, count_words) == "A b c."
