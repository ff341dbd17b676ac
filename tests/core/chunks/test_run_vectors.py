"""Vectors of units, and of runs of them."""

from __future__ import annotations

import pytest

from structrag.chunks.divisions import divide
from structrag.chunks.run_vectors import (
    unit_text,
    windows_of,
)
from structrag.chunks.units import Unit
from structrag.reading.files import read_text
from structrag.reading.sections import parse

(DIVISION,) = divide(parse(read_text("x")))


def unit(
    start: int, end: int, text_start: int, tokens: int, header: tuple[int, int] = (0, 0)
) -> Unit:
    return Unit(start, end, text_start, tokens, "table", DIVISION, header)


def test_long_texts_are_windows_of_even_size() -> None:
    assert windows_of("short text") == ["short text"]
    assert windows_of("") == windows_of(" \n") == []
    parts = windows_of("word " * 301)
    assert [len(part.split()) for part in parts] == [101, 101, 99]
    assert "".join(windows_of("天" * 4000)) == "天" * 4000
    assert max(len(part) for part in windows_of("天" * 4000)) <= 1500


@pytest.mark.parametrize(
    ("text", "lengths"),
    [
        ("w " * 150, [300]),
        ("w " * 151, [151, 149]),  # 76 words and 75
        ("x" * 1500, [1500]),
        ("x" * 1501, [751, 750]),
        ("x" * 800 + " " + "y" * 800, [800, 800]),  # as many words as windows
        ("x" * 1000 + " " + "y" * 2200, [1067, 1067, 1067]),  # fewer words
        ("x" + " " * 4500, [1126]),  # white space alone is no window
    ],
)
def test_a_text_has_as_many_windows_as_its_words_or_characters_need(
    text: str, lengths: list[int]
) -> None:
    windows = windows_of(text)
    assert [len(window) for window in windows] == lengths


def test_a_units_words_are_behind_its_heading_and_below_its_header() -> None:
    text = "# A\n\n| n |\n|---|\n| 1 |\n| 2 |\n\n# B\n"
    row, end = text.index("| 2 |"), text.index("# B")
    header = (text.index("| n |"), text.index("| 1 |"))
    assert unit_text(text, unit(0, row, 5, 9)) == "| n |\n|---|\n| 1 |"
    assert unit_text(text, unit(row, end, row, 3, header)) == "| n |\n|---|\n| 2 |"
    # Without words of its own it is known by its heading.
    assert unit_text(text, unit(end, len(text), len(text), 2)) == "# B"
