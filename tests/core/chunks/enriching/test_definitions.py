"""Definitions found by their form, and texts shortened without losing a name."""

from __future__ import annotations

import pytest
from samples import DEFINING

from structrag.chunks.enriching.definitions import (
    _long_form,
    definition_in,
    definitions,
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
    import numpy as np

    sentences = ["A b c d e.", "NASA flew.", "ESA flew too.", "More of it."]
    vectors = np.eye(4)
    assert (
        shortened(sentences, vectors, ["NASA", "ESA"], 9, count_tokens)
        == "NASA flew. ESA flew too."
    )
    assert shortened(sentences, vectors, ["NASA", "ESA"], 6, count_tokens) is None
    assert shortened(sentences, vectors, ["NASA", "JAXA"], 99, count_tokens) is None
    assert shortened([], np.zeros((0, 1)), [], 9, count_tokens) is None


@pytest.mark.parametrize(
    ("short", "before", "long"),
    [
        (
            "NASA",
            "the National Aeronautics and Space Administration",
            "National Aeronautics and Space Administration",
        ),
        ("HR", "heart rate", "heart rate"),  # the first letter of the text
        ("HR", "the rate", ""),
        ("TR", "heart rate", ""),  # T begins no word
        ("HT", "heat", ""),  # one word is no long form
        ("A-B", "alpha beta", "alpha beta"),
        # No farther back than twice as many words, nor than five more.
        ("HR", "heart a b rate", "heart a b rate"),
        ("HR", "heart a b c rate", ""),
        ("ABCDEFG", "alpha beta gamma", ""),
    ],
)
def test_the_words_that_an_acronym_stands_for(
    short: str, before: str, long: str
) -> None:
    assert _long_form(short, before) == long
