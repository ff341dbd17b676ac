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


@examples
def test_a_run_of_more_than_forty_words_is_compared_with_no_name(
    words: int, positions: list[int], dropped: int
) -> None:
    title = " ".join(f"section{i}" for i in range(words))
    assert parse_names(title, [(title,)]) == ([0], 0)
    assert parse_names(title.replace("section7", "sektion7"), [(title,)]) == (
        positions,
        dropped,
    )
