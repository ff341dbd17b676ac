"""Titles that a reply names."""

from __future__ import annotations

from fixture_cases import examples

from structrag.retrieval.d3.routing import parse_names

PATHS = [
    ("D",),
    ("Intro",),
    ("Methods, data and code",),
    ("Methods, data and code", "Data"),
    ("Methods, data and code", "Code"),
    ("Results",),
    ("Results", "Data"),
]


@examples
def test_names(answer: str, positions: list[int], dropped: int) -> None:
    assert parse_names(answer, PATHS) == (positions, dropped)
