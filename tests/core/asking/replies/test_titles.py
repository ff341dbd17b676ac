"""Titles that a reply names."""

from __future__ import annotations

import pytest
from doubles import REFUSAL

from structrag.asking.replies.titles import parse_names, usable_names

PATHS = [
    ("D",),
    ("Intro",),
    ("Methods, data and code",),
    ("Methods, data and code", "Data"),
    ("Methods, data and code", "Code"),
    ("Results",),
    ("Results", "Data"),
]


@pytest.mark.parametrize(
    ("answer", "positions", "dropped"),
    [
        ("Intro, Results", [1, 5], 0),
        ("Methods, data and code, Intro", [1, 2], 0),
        ("Data", [3, 6], 0),
        ("Results > Data; intro.", [1, 6], 0),
        ('["Methods, data and code > Code", "RESULTS"]', [4, 5], 0),
        ('{"sections": ["Intro"]}', [1], 0),
        ("- Intro\n- Reslts\n- Conclusion", [1, 5], 1),
        ("- Intro\n- Methods, data and cods", [1, 2], 0),
        ("1. Intro\n2. Results", [1, 5], 0),
        ("The section Intro may help here", [1], 1),
        ("none", [], 0),
        ("N/A", [], 0),
        ("", [], 0),
        ("Conclusion", [], 1),
    ],
)
def test_names(answer: str, positions: list[int], dropped: int) -> None:
    assert parse_names(answer, PATHS) == (positions, dropped)


@pytest.mark.parametrize(
    ("answer", "good"),
    [
        ("Engines", True),
        ("none", True),
        ("[]", True),
        ('["Ships"]', False),
        ('["", []]', True),
        ("[1, 2]", False),
        ('{"ids": [1]}', False),
        ("[[[", False),
        ("", False),
        (REFUSAL, False),
    ],
)
def test_which_answers_name_something(answer: str, good: bool) -> None:
    assert usable_names([("Guide", "Engines"), ("Guide", "Bridges")], answer) is good
    by_prompt = usable_names([("Guide", "Engines")], answer, empty=True)
    assert by_prompt is (good or not answer)


@pytest.mark.parametrize(("words", "positions", "dropped"), [(40, [0], 0), (41, [], 1)])
def test_a_run_of_more_than_forty_words_is_compared_with_no_name(
    words: int, positions: list[int], dropped: int
) -> None:
    title = " ".join(f"section{i}" for i in range(words))
    assert parse_names(title, [(title,)]) == ([0], 0)
    assert parse_names(title.replace("section7", "sektion7"), [(title,)]) == (
        positions,
        dropped,
    )
