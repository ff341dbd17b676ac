"""Vectors of units, and of runs of them."""

from __future__ import annotations

import numpy as np
import pytest

from structrag.chunks.run_vectors import pooled, run_vectors, windows_of


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
    assert pooled(np.zeros((0, 0)), [0, 0]).shape == (2, 1)
    assert pooled(np.zeros((0, 3)), []).shape[0] == 0


def test_a_runs_vector_is_the_weighted_mean() -> None:
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
    found = run_vectors(rows, [3, 4, 7], [(0, 2), (2, 3)])
    assert found == pytest.approx(np.array([[0.6, 0.8], [0.0, 1.0]]))
    assert run_vectors(rows, [1, 1, 1], []).shape == (0, 2)
