"""Titles that a reply names."""

from __future__ import annotations

from fixture_cases import examples

from structrag.retrieval.d3.routing import parse_names, usable_names

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
def test_which_answers_name_something(answer: str, good: bool) -> None:
    assert usable_names([("Guide", "Engines"), ("Guide", "Bridges")], answer) is good
    by_prompt = usable_names([("Guide", "Engines")], answer, empty=True)
    assert by_prompt is (good or not answer)


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
