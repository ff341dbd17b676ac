"""The cache of answers: what it keeps, across objects, threads and damage."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.model_calls.cache import Cache, cache_key

parts = st.lists(st.text(alphabet=st.characters(), max_size=4), max_size=4)


@given(parts, parts)
def test_different_sequences_have_different_keys(a: list[str], b: list[str]) -> None:
    assert (cache_key(*a) == cache_key(*b)) == (a == b)


def test_values_are_there_for_another_object(tmp_path: Path) -> None:
    first = Cache(tmp_path / "new" / "cache.sqlite")
    first.put("k", {"answer": ["ü", None, 1.5]})
    first.put_vectors({"v": np.array([1.5, -2.0], dtype=np.float64)})
    second = Cache(tmp_path / "new" / "cache.sqlite")
    assert second.get("k") == {"answer": ["ü", None, 1.5]}
    vector = second.get_vector("v")
    assert vector is not None
    assert vector.tolist() == [1.5, -2.0]
    assert (second.get("other"), second.get_vector("other"), len(second)) == (
        None,
        None,
        2,
    )
    first.close()
    second.close()


DAMAGE = {
    "cut": lambda value: value[: len(value) // 2],
    "a bit": lambda value: bytes([value[0] ^ 4]) + value[1:],
    "emptied": lambda value: b"",
    "overwritten": lambda value: b"\xff" * len(value),
    "text": lambda value: "not bytes",
    "null": lambda value: None,
}


def damage(path: Path, change: Callable[[bytes], Any]) -> None:
    """Change every value of a cache in its file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for key, value in connection.execute(
            "SELECT key, value FROM answers"
        ).fetchall():
            connection.execute(
                "UPDATE answers SET value = ? WHERE key = ?", (change(value), key)
            )


@pytest.mark.parametrize("name", DAMAGE)
def test_a_damaged_value_is_a_miss(name: str, tmp_path: Path) -> None:
    with closing(Cache(tmp_path / "c")) as cache:
        cache.put("k", {"answer": "yes"})
        cache.put_vectors({"v": np.array([1.5, -2.0])})
    damage(tmp_path / "c", DAMAGE[name])
    with closing(Cache(tmp_path / "c")) as cache:
        assert cache.get("k") is None and cache.get_vector("v") is None
        cache.put("k", 3)  # it can be put again
        assert cache.get("k") == 3


def test_values_without_a_checksum_are_read(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / "c")) as connection, connection:
        connection.execute(
            "CREATE TABLE answers (key TEXT PRIMARY KEY, value BLOB) WITHOUT ROWID"
        )
        connection.execute("INSERT INTO answers VALUES ('k', ?)", (b"3",))
    with closing(Cache(tmp_path / "c")) as cache:
        assert cache.get("k") == 3
        cache.put("k", 4)
        assert cache.get("k") == 4


@pytest.mark.parametrize(
    "content", [b"this is not a database, and it is long enough to be looked at" * 40]
)
def test_a_file_that_is_no_cache_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.txt"
    path.write_bytes(content)
    with pytest.raises(InvalidParameter, match="cache must be the path"):
        Cache(path)
    assert path.read_bytes() == content


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidParameter, match="cache must be the path"):
        Cache(tmp_path)


def test_a_cache_without_room_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    cache.put("first", 1)
    with cache._database as connection:
        connection.execute("PRAGMA max_page_count = 3")  # a full volume
    with pytest.raises(
        InvalidParameter, match="cannot be written: database or disk is full"
    ):
        cache.put("second", "x" * 100_000)
    assert (cache.get("first"), cache.get("second")) == (1, None)
    with cache._database as connection:
        connection.execute("PRAGMA max_page_count = 10000")
    cache.put("second", 2)
    assert Cache(tmp_path / "c").get("second") == 2


def test_a_damaged_file_says_so(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c")
    cache.put_all({str(i): "x" * 2000 for i in range(50)})
    cache.close()
    data = (tmp_path / "c").read_bytes()
    (tmp_path / "c").write_bytes(data[:8192] + b"\xff" * (len(data) - 8192))
    with pytest.raises(InvalidParameter, match=r"cannot be read: .*malformed"):
        for i in range(50):
            Cache(tmp_path / "c").get(str(i))
