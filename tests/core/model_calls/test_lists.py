"""Lists, summaries and merged answers out of what models reply."""

from __future__ import annotations

import json

import pytest
from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.model_calls.answers import (
    parse_answer,
    parse_keywords,
)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ('["a", "b"]', ["a", "b"]),
        ("['a', 'b']", ["a", "b"]),
        ("- a\n- b", ["a", "b"]),
        ("a, b", ["a", "b"]),
        ('["a", "A"]', ["a"]),
        ("* a\n* b", ["a", "b"]),
        ("1. a\n2) b", ["a", "b"]),
        ("• a • b", ["a", "b"]),
        ("a; b\nc", ["a", "b", "c"]),
        ('```json\n["a", "b"]\n```', ["a", "b"]),
        ("```\na\nb\n```", ["a", "b"]),
        ("Here are the keywords:\n- a\n- b", ["a", "b"]),
        ("Keywords: a, b", ["a", "b"]),
        ('Sure! ["a", "b"] Hope this helps.', ["a", "b"]),
        ('{"keywords": ["a", "b"]}', ["a", "b"]),
        ('["a", "b", "c', ["a", "b", "c"]),
        ('"a, b"', ["a", "b"]),
        ("('a', 'b')", ["a", "b"]),
        ("{'b', 'a'}", ["a", "b"]),
        ('["  two \\n words ", "", "  "]', ["two words"]),
        ('["a", ["b"], {"c": 1}, null, 4, 1968]', ["a", "1968"]),
        ("4", []),
        ("1.\n2.\n3.", []),
        ('{"subtitle": "In truth', []),
        ('pump, "subtitle": "In truth, valve', ["pump", "valve"]),
        ("valve, <b>pump</b>", ["valve"]),
        (f"valve, pump, https://example.org/{'x' * 500}", ["valve", "pump"]),
        ("valve, http://a.b", ["valve"]),
        (json.dumps(["valve", "x" * 100_000]), ["valve"]),
        (json.dumps(["x" * 60, "y" * 61]), ["x" * 60]),
        ("水" * 100, []),
        ("C, F-104, 4x4", ["C", "F-104", "4x4"]),
        ("气泵，阀门、水", ["气泵", "阀门", "水"]),
        (
            '["one two three four five six", "one two three four five six seven"]',
            ["one two three four five six"],
        ),
        ("This is an apology of more than six words.", []),
        ("pump; an apology that is of more than six words", []),
        ("pump; valve; an apology that is of more than six words", ["pump", "valve"]),
        ("I'm sorry, but I can't help with that.", []),
        ("I cannot help, sorry", []),
        ("As an AI, I have no opinion", []),
        ("", []),
        (" \n ", []),
        ("[]", []),
        ("{}", []),
        ("null", []),
        ("None", []),
        ("...", []),
        ('{"keywords": ["a", "b', ["a", "b"]),
    ],
)
def test_keyword_parser(answer: str, expected: list[str]) -> None:
    assert parse_keywords(answer) == expected


@given(
    st.text(max_size=200)
    | st.text(alphabet="[]{}()\"',:\\0123456789abc \n-*`", max_size=60)
)
def test_any_answer_is_read_without_an_error(answer: str) -> None:
    found = parse_keywords(answer)
    assert len(found) == len({word.casefold() for word in found}) <= 40
    assert all(word.strip() == word and 1 <= len(word.split()) <= 6 for word in found)
    assert all(len(word) <= 60 for word in found)
    for kind in ("merged", "summary", "keywords"):
        summary, keywords = parse_answer(kind, answer)
        assert isinstance(summary, str) and isinstance(keywords, list)


@pytest.mark.parametrize(
    "answer",
    [
        "{'summary': 3, 'keywords': {'a': 1}}",
        "{'summary': None, 'keywords': [b'a', ...]}",
        "[1]",
        "7",
    ],
)
def test_a_merged_answer_of_wrong_types_is_nothing(answer: str) -> None:
    assert parse_answer("merged", answer) == ("", [])


@examples
def test_a_refusal_is_no_summary(refusal: str) -> None:
    assert parse_answer("summary", refusal) == ("", [])
    assert parse_answer("keywords", refusal) == ("", [])
    assert parse_answer(
        "merged", json.dumps({"summary": refusal, "keywords": refusal})
    ) == ("", [])


MERGED = json.dumps({"summary": "A short summary.", "keywords": ["pump", "valve"]})


@pytest.mark.parametrize(
    "answer",
    [
        "{[]: 1}",
        "[" * 100_000,
        "{" * 5_000 + "}" * 5_000,
        "[" + "9" * 5_000 + "]",
        "[\x00]",
        "(" * 300,
    ],
)
def test_hostile_answers_are_survived(answer: str) -> None:
    for kind in ("merged", "summary", "keywords"):
        parse_answer(kind, answer)


@pytest.mark.parametrize(
    "answer",
    [
        MERGED,
        f"```json\n{MERGED}\n```",
        f"Of course, here it is:\n{MERGED}\nAnything else?",
        "{'summary': 'A short summary.', 'keywords': ['pump', 'valve']}",
        "{'summary': 'A short summary.', 'keywords': ('pump', 'valve')}",
        '{"Summary": "A short summary. ", "KEYWORDS": "pump, valve"}',
        '{"summary": "A short summary.", "keywords": ["pump", "valve", null, ["x"]], "more": {}}',
    ],
)
def test_a_merged_answer_in_many_dresses(answer: str) -> None:
    assert parse_answer("merged", answer) == ("A short summary.", ["pump", "valve"])
