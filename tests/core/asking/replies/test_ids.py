"""Ids in answers: what is read in each form, what is not, and that nothing makes it fail."""

from __future__ import annotations

import json
import time

import pytest
from doubles import REFUSAL
from hypothesis import given
from hypothesis import strategies as st

from structrag.asking.replies.ids import parse_ids, usable_ids

NINE = range(1, 10)


@pytest.mark.parametrize(
    ("answer", "ids"),
    [
        ("2, 4", [2, 4]),
        ("4 2 4", [2, 4]),
        ("2,4", [2, 4]),
        ("2;4.", [2, 4]),
        ("- 2\n- 4", [2, 4]),
        ("**2**, **4**", [2, 4]),
        ("(2) and (4)", [2, 4]),
        ("[2] and [4]", [2, 4]),
        ("#2, #4", [2, 4]),
        ("No. 2 and No. 4", [2, 4]),
        ("IDs: 2, 4", [2, 4]),
        ("The relevant ones are 2 and 4.", [2, 4]),
        ("There are 3 relevant paragraphs: 2, 5, 9.", [2, 5, 9]),
        ("Paragraphs 2, 4 and 7 answer it.", [2, 4, 7]),
        ("2: it names the pump\n4: it has 7 valves", [2, 4]),
        ("1. Paragraph 3 names it\n2. Paragraph 7 too", [3, 7]),
    ],
)
def test_lists_and_prose(answer: str, ids: list[int]) -> None:
    assert parse_ids(answer, NINE) == (ids, 0)


@pytest.mark.parametrize(
    "answer",
    [
        "3-5",
        "3–5",
        "3 - 5",
        "3 to 5",
        "[3]-[5]",
        "[3] to [5]",
        "[3-5]",
        "3..5",
        "5-3",
        "3, 4-5",
    ],
)
def test_ranges(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([3, 4, 5], 0)


@pytest.mark.parametrize(
    "answer",
    [
        "[2, 4]",
        '["2", "4"]',
        '["[2]", "[4]"]',
        '{"ids": [2, 4]}',
        '{"ids": "2, 4"}',
        '```json\n{"ids": [2, 4]}\n```',
        'Here it is: {"relevant_ids": [2, 4], "confidence": 0.9, "reason": "1 and 3 do not help"}',
        '{"2": true, "3": false, "4": true}',
        '{"2": "names the pump", "3": "not relevant", "4": "as well"}',
        '[{"id": 2, "score": 9}, {"id": 4, "score": 3}, {"id": 5, "relevant": false}]',
        '{"relevant": [2, 4], "irrelevant": [1, 3]}',
    ],
)
def test_json(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([2, 4], 0)


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n",
        "none",
        "None.",
        "N/A",
        "[]",
        '{"ids": []}',
        "-1",
        "None of the 9 paragraphs answers it.",
        "None of [1]-[9] is relevant.",
        "There are no relevant paragraphs among 1-9.",
        "I'm sorry, but I cannot find anything in the 3 sections.",
        "Unfortunately, I can't tell from these 4 paragraphs.",
        "Keine der 9 Angaben hilft.",
        "Aucun des 9 paragraphes.",
        "没有相关段落 1",
        "GPT-4 and H2O and 45% and 3.2 and $5",
    ],
)
def test_nothing_is_named(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([], 0)


@pytest.mark.parametrize(
    ("answer", "ids"),
    [
        ("Section 3.2 reports 45%, so paragraph 4 it is", [4]),
        ("As [Smith 2019] shows in 3 ways, [2] holds.", [2]),
        ("Let me look at [1] and [5].\n\nFinal answer: [3]", [3]),
        ("<think>[1] or [2]?</think>[5]", [5]),
    ],
)
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


def test_thousands_are_ids_in_a_list_and_a_number_in_prose() -> None:
    assert parse_ids("12,104,237", range(1, 300)) == ([12, 104, 237], 0)
    assert parse_ids("They sold 1,000 pumps, see section 2", range(1, 3000)) == ([2], 0)


@pytest.mark.parametrize(
    "answer",
    [
        "1.\n2.\n3.\n4.",
        "1)\n2)\n3)",
        "1. Dogs bark.\n2. Cats purr.\n3. Pumps leak.",
        "  1. The 4 pumps\n  2. The 7 valves",
        "(1) Dogs bark.\n(2) Cats purr.",
        "2. Dogs bark.",
        "They sold 1,000 pumps of type 2",
        "There are 3 pumps in the hall and 4 in the yard.",
        "It was built in 7 years",
        "only 3 pumps leak",
    ],
)
def test_enumerations_and_numbers_of_prose_are_no_ids(answer: str) -> None:
    assert parse_ids(answer, NINE) == ([], 0)
    assert not usable_ids(NINE, answer)


@pytest.mark.parametrize(
    ("answer", "ids"),
    [
        ("1. 3\n2. 7", [3, 7]),
        ("1. [3]\n2. [7]", [3, 7]),
        ("1. Section 3\n2. Section 7", [3, 7]),
        ("2.\n4.", [2, 4]),
        ("1.", [1]),
        ("(2) because it names the pump", [2]),
        ("The answer is 2.", [2]),
        ("'2'", [2]),
        ('"2", "4"', [2, 4]),
    ],
)
def test_ids_nearly_in_the_form_asked_for(answer: str, ids: list[int]) -> None:
    assert parse_ids(answer, NINE) == (ids, 0)
    assert usable_ids(NINE, answer)


def test_a_range_without_end_costs_nothing() -> None:
    started = time.process_time()
    assert parse_ids("1-999999999", NINE) == (list(NINE), 1)
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize(
    "part",
    [
        "[ ",
        "1-",
        "section 3 ",
        "1, ",
        "{",
        "[",
        "a.b ",
        "answer: ",
        "answer:\n",
        "none of ",
        "\n \n",
        "1 ",
        "- ",
        '{"a":',
        "1,111",
        "1",
    ],
)
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


@pytest.mark.parametrize(
    ("answer", "good"),
    [
        ("[1, 2]", True), ("2", True), ("none", True), ("[]", True), ("No section is relevant.",
        True), ("Keine.", True),
        ("[1, 99]", True), ("[99]", True), (REFUSAL, False), ("", False), ("As an AI I do not "
        "know.", False), ("Hello!", False),
    ],
)  # fmt: skip
def test_ids(answer: str, good: bool) -> None:
    assert usable_ids({1, 2, 3}, answer) is good


def test_an_empty_answer_is_one_where_the_prompt_asks_for_it() -> None:
    assert usable_ids(NINE, " \n", empty=True) and not usable_ids(NINE, " \n")
    assert not usable_ids(NINE, "Hello!", empty=True)


def test_prose_that_denies_something_names_no_ids() -> None:
    for answer in ("[1] is not relevant, [2] is", "None, except paragraph 3"):
        assert parse_ids(answer, NINE) == ([], 0)
    assert parse_ids("Not relevant: 1, 3\nAnswer: 2", NINE) == ([2], 0)
