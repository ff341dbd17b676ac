"""JSON in answers: whole, in fences, between other words, and broken."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples

from structrag.asking.replies.json import (
    bracketed,
    first_value,
    loaded,
    without_fences,
    without_thoughts,
)


@pytest.mark.parametrize(
    ("answer", "value"),
    [
        ('{"a": [1]}', {"a": [1]}),
        (' ["a"]\n', ["a"]),
        ('```json\n{"a": 1}\n```', {"a": 1}),
        ('Here it is: ["a", "b"]. Is it good?', ["a", "b"]),
        ('List ["a"] and {"b": 2}', {"b": 2}),  # braces first
        ("3", 3),
        ("null", None),
        ("no JSON", None),
        ("", None),
        ("[1, 2", None),
        ("] [", None),
        ("['a']", None),
        ("[" * 100_000 + "]" * 100_000, None),
    ],
)
def test_the_first_value_of_an_answer(answer: str, value: Any) -> None:
    assert first_value(answer) == value


@examples
def test_python_literals_are_read_where_they_may_stand(text: str, value: Any) -> None:
    assert loaded(text, literals=True) == value


def test_what_stands_in_brackets() -> None:
    assert list(bracketed("x [1] {a} [2] {b}")) == ["{a} [2] {b}", "[1] {a} [2]"]
    assert list(bracketed("} {")) == []


def test_fences_and_thoughts_are_taken_away() -> None:
    assert without_fences("a\n```json\n[1]\n  ```\n`b`").split() == ["a", "[1]", "`b`"]
    assert without_thoughts("<think>Is it 3?</think>4") == "4"
    assert without_thoughts("4") == "4"
