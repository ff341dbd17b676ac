"""The benchmark of lists: reading all lists finds all, reading few finds less."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import pytest

from benchmarks.vector_lists import (
    DEPTHS,
    DIMENSIONS,
    filled,
    found_shares,
    kept_vectors,
)


def test_vectors_of_a_cache_are_read_once_each(tmp_path: Path) -> None:
    vectors = np.random.default_rng(1).random((3, DIMENSIONS), dtype=np.float32)
    with sqlite3.connect(tmp_path / "cache") as connection:
        connection.execute("CREATE TABLE answers (key TEXT, value BLOB)")
        values = [*vectors, vectors[0], np.zeros(7, np.float32)]
        rows = [(str(i), value.tobytes()) for i, value in enumerate(values)]
        connection.executemany("INSERT INTO answers VALUES (?, ?)", rows)
    kept = kept_vectors(tmp_path / "cache")
    assert sorted(map(tuple, kept.tolist())) == sorted(map(tuple, vectors.tolist()))


@pytest.mark.slow
def test_all_lists_find_all_and_few_find_less(tmp_path: Path) -> None:
    pytest.importorskip("lancedb")
    random = np.random.default_rng(2)
    vectors = random.standard_normal((3_000, DIMENSIONS)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    asked = vectors[:5] + np.float32(0.01)
    nearest = np.argsort(-(asked @ vectors.T), axis=1)[:, : max(DEPTHS)]
    table = filled(str(tmp_path), vectors, n_lists=30)
    whole, _ = found_shares(table, asked, nearest, n_read=30)
    assert all(np.mean(whole[depth]) > 0.999 for depth in DEPTHS)
    few, milliseconds = found_shares(table, asked, nearest, n_read=3)
    assert np.mean(few[1000]) < 0.5 < np.mean(whole[1000])
    assert milliseconds > 0
