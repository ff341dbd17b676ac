"""Ids in answers: what is read in each form, what is not, and that nothing makes it fail."""

from __future__ import annotations

import json
import time

import pytest
from doubles import REFUSAL
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.model_calls.answers import parse_ids, usable_ids

NINE = range(1, 10)


@examples
def test_lists_and_prose(answer: str, ids: list[int]) -> None:
    assert parse_ids(answer, NINE) == (ids, 0)


@examples
def test_ranges(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([3, 4, 5], 0)


@examples
def test_json(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([2, 4], 0)


@examples
def test_nothing_is_named(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([], 0)


@examples
def test_the_surest_form_wins(answer: str, ids: list[int]) -> None:
    assert parse_ids(answer, NINE) == (ids, 0)


def test_what_was_not_shown_is_dropped_and_counted() -> None:
    assert parse_ids("2, 99, 100, 99", NINE) == ([2], 2)
    assert parse_ids("[0] [2] [77]", NINE) == ([2], 2)
    assert parse_ids('{"ids": [2, 3.5, 12]}', NINE) == ([2], 2)
    assert parse_ids("7-12", NINE) == ([7, 8, 9], 1)
    assert parse_ids("2", []) == ([], 1)
    assert parse_ids("2-4", {2, 4}) == ([2, 4], 1)  # of the range, 3 was not shown
    assert parse_ids("9" * 5000, NINE) == ([], 1)


@examples
def test_enumerations_and_numbers_of_prose_are_no_ids(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([], 0)
    assert not usable_ids(NINE, answer)


@examples
def test_ids_nearly_in_the_form_asked_for(answer: str, ids: list[int]) -> None:
    assert parse_ids(answer, NINE) == (ids, 0)
    assert usable_ids(NINE, answer)


@examples
def test_long_answers_take_time_in_proportion(part: str) -> None:
    started = time.process_time()
    parse_ids(part * 15_000 + "x", range(1, 5001))
    assert time.process_time() - started < 5  # a quadratic search would take minutes


PARTS = st.sampled_from(
    [
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        ";",
        "-",
        "–",
        "to",
        "and",
        "none",
        "3",
        "[2]",
        "7-9",
        "12",
        "-1",
        "3.5",
        "45%",
        "paragraph",
        "Section",
        "ids",
        "IDs:",
        "answer:",
        "not",
        "relevant",
        "true",
        "false",
        "null",
        '"',
        "\n",
        "```",
        ".",
        "99",
        "第",
        "٣",
        "sorry",
        "but",
        "I",
        "<think>",
        "</think>",
        "²",
        "½",
        "𝟛",
    ]
)


@given(answer=st.text(max_size=60) | st.lists(PARTS, max_size=25).map(" ".join) | st.lists(PARTS,
max_size=25).map("".join),
       allowed=st.sets(st.integers(-3, 40), max_size=12))  # fmt: skip
def test_whatever_is_answered_gives_a_valid_subset(
    answer: str, allowed: set[int]
) -> None:
    ids, dropped = parse_ids(answer, allowed)
    assert ids == sorted(set(ids))
    assert set(ids) <= allowed
    assert dropped >= 0


@given(
    ids=st.sets(st.integers(1, 60), min_size=1),
    shape=st.sampled_from(
        ["{}", "[{}]", '{{"ids": [{}]}}', "IDs: {}", "Paragraphs {}."]
    ),
)
def test_every_shown_id_in_a_list_is_found(ids: set[int], shape: str) -> None:
    answer = shape.format(", ".join(map(str, sorted(ids, reverse=True))))
    assert parse_ids(answer, range(1, 61)) == (sorted(ids), 0)


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(max_size=8), inner, max_size=4)
        ),
    )
)
def test_any_json_gives_a_valid_subset(value: object) -> None:
    assert set(parse_ids(json.dumps(value), NINE)[0]) <= set(NINE)


def test_prose_that_denies_something_names_no_ids() -> None:
    for answer in ("[1] is not relevant, [2] is", "None, except paragraph 3"):
        assert parse_ids(answer, NINE) == ([], 0)
    assert parse_ids("Not relevant: 1, 3\nAnswer: 2", NINE) == ([2], 0)


@pytest.mark.parametrize(
    ("answer", "good"),
    [
        ("[1, 2]", True), ("2", True), ("none", True), ("[]", True), ("No section is relevant.",
        True), ("Keine.", True),
        ("[1, 99]", True), ("[99]", True), (REFUSAL, False), ("", False), ("As an AI I do not "
        "know.", False), ("Hello!", False),
        ('{"summary": "Parts of steel.", "keywords": ["steel"]}', False),
        ('["steel"]', False), ('{"foo": 1}', False), ('{"reason": "none fits", "ids": []}', True),
        ('[{"id": 7, "relevant": false}]', True), ("{}", True), ("[]", True),
    ],
)  # fmt: skip
def test_ids(answer: str, good: bool) -> None:
    assert usable_ids({1, 2, 3}, answer) is good
