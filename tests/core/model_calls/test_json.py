"""JSON in answers: whole, in fences, between other words, and broken."""

from __future__ import annotations

from typing import Any

from fixture_cases import examples

from structrag.model_calls.answers import (
    loaded,
)


@examples
def test_python_literals_are_read_where_they_may_stand(text: str, value: Any) -> None:
    assert loaded(text, literals=True) == value
