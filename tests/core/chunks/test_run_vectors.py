"""Vectors of units, and of runs of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from structrag.chunks.asking_splitter import runner_for
from structrag.chunks.divisions import divide
from structrag.chunks.run_vectors import (
    mean_vectors_steps,
    pooled,
    run_vectors,
    unit_text,
    windows_of,
)
from structrag.chunks.units import Unit
from structrag.reading.files import read_text
from structrag.reading.sections import parse
from structrag.records import Chunk

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


def test_a_units_vector_is_the_mean_of_its_windows() -> None:
    rows = np.array([[3.0, 0.0], [1.0, 0.0], [0.0, 5.0], [0.0, 0.0]])
    found = pooled(rows, [1, 2, 0, 1])
    assert found == pytest.approx(
        np.array([[1, 0], [0.5**0.5, 0.5**0.5], [0, 0], [0, 0]])
    )
    assert pooled(rows[:2], [2]) == pytest.approx(np.array([[1, 0]]))
    assert pooled(np.zeros((0, 0)), [0, 0]).shape == (2, 1)
    assert pooled(np.zeros((0, 3)), []).shape[0] == 0


def test_a_runs_vector_is_the_weighted_mean() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = run_vectors(rows, [3, 4, 7], [(0, 2), (2, 3)])
    assert found == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))
    assert run_vectors(rows, [1, 1, 1], []).shape == (0, 2)


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


def test_a_weight_below_1_counts_as_1() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0]])
    (vector,) = run_vectors(rows, [0, 1], [(0, 2)])
    assert vector == pytest.approx([0.5**0.5, 0.5**0.5])
    (vector,) = run_vectors(rows, [4, 3], [(0, 2)])
    assert vector == pytest.approx([0.8, 0.6])


def test_a_chunk_has_the_mean_of_the_units_it_has_a_part_of() -> None:
    text = "aabbbbcc"
    units = [
        unit(start, end, start, tokens)
        for start, end, tokens in ((0, 2, 3), (2, 6, 4), (6, 8, 5))
    ]
    places = ((0, 2), (0, 4), (4, 6), (4, 8), (6, 8))  # the second unit is cut at 4
    chunks = [
        Chunk("c", "d", "s", start, end, text[start:end]) for start, end in places
    ]

    def letters(texts: Sequence[str]) -> np.ndarray:
        return np.array([[word.count(letter) for letter in "abc"] for word in texts])

    vectors = runner_for(letters).run(mean_vectors_steps(text, units, chunks))
    assert vectors == pytest.approx(
        np.array(
            [
                [1, 0, 0],
                [0.6, 0.8, 0],
                [0, 1, 0],
                [0, 4 / 41**0.5, 5 / 41**0.5],
                [0, 0, 1],
            ]
        )
    )
