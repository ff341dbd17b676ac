"""A file of what models answered, so that no call is repeated."""

from __future__ import annotations

import json
import os
import sqlite3
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from structrag._locks import Lock
from structrag.errors import InvalidParameter
from structrag.text.arrays import Array

_MEMORY = ":memory:"


def cache_key(*parts: str) -> str:
    """A key for a sequence of strings, shared with no other sequence."""
    return sha256(json.dumps(parts).encode("ascii")).hexdigest()


class _Database(Lock):
    """The database of a cache, for one thread at a time. No child may use or close what its parent
    has opened: it is closed for a fork, and opened again when it is needed."""

    def __init__(self, path: str) -> None:
        super().__init__(awaited=True)
        self.path = path
        self._connection = self._opened()

    def _opened(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, check_same_thread=False, timeout=30)
        # Closed with the cache: Python 3.13 warns of databases that nobody closed.
        self._close = weakref.finalize(self, connection.close)
        connection.execute("PRAGMA journal_mode=WAL")
        connection.execute("PRAGMA synchronous=NORMAL")
        connection.execute(
            "CREATE TABLE IF NOT EXISTS answers "
            "(key TEXT PRIMARY KEY, value BLOB, checksum INTEGER) WITHOUT ROWID"
        )
        columns = connection.execute("PRAGMA table_info(answers)").fetchall()
        if "checksum" not in {name for _, name, *_ in columns}:
            connection.execute("ALTER TABLE answers ADD COLUMN checksum INTEGER")
        connection.commit()
        return connection

    def __enter__(self) -> sqlite3.Connection:
        super().__enter__()
        try:
            if not self._close.alive:
                self._connection = self._opened()
        except BaseException:
            self.__exit__()
            raise
        return self._connection

    def before_fork(self) -> None:
        if self.path != _MEMORY:
            self._close()


class Cache:
    """Keeps answers, scores and vectors by key in one SQLite file.

    Example:
        >>> cache = Cache(":memory:")
        >>> cache.put("key", {"answer": "yes"})
        >>> cache.get("key"), cache.get("other"), len(cache)
        ({'answer': 'yes'}, None, 1)

    It is thread-safe and survives a crash at any moment: each answer is written when it arrives.
    `":memory:"` keeps them for this process only.

    A damaged value counts as missing.

    Raises:
        InvalidParameter: the folder cannot be created or the file is not a cache; later, the file
            can no longer be read or written, for example on a full volume. Earlier entries are
            kept.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path: str = os.fspath(path)
        try:
            if self.path != _MEMORY:
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._database = _Database(self._place())
        except (OSError, sqlite3.Error) as error:
            raise InvalidParameter(
                f"cache must be the path of a writable cache file; {self.path!r} fails: {error}."
            ) from error

    def __reduce__(self) -> tuple[type[Cache], tuple[str]]:
        return Cache, (self._place(),)

    def _place(self) -> str:
        """The path as it is from any folder."""
        return self.path if self.path == _MEMORY else os.path.abspath(self.path)

    def get(self, key: str) -> Any:
        """The JSON value kept under the key, or None."""
        value = self._read(key)
        try:
            return None if value is None else json.loads(value)
        except (ValueError, RecursionError):
            return None

    def put(self, key: str, value: Any) -> None:
        """Store a JSON value."""
        self.put_all({key: value})

    def put_all(self, values: Mapping[str, Any]) -> None:
        """Store JSON values by their keys, all or none."""
        self._write(
            {key: json.dumps(value).encode("ascii") for key, value in values.items()}
        )

    def get_vector(self, key: str) -> Array | None:
        """The vector kept under the key, or None."""
        value = self._read(key)
        if not value or len(value) % 4:
            return None
        vector = np.frombuffer(value, dtype="<f4")
        return vector if np.isfinite(vector).all() else None

    def put_vectors(self, vectors: Mapping[str, Array]) -> None:
        """Store vectors, all or none."""
        self._write(
            {
                key: np.asarray(vector, dtype="<f4").tobytes()
                for key, vector in vectors.items()
            }
        )

    def __len__(self) -> int:
        with self._errors("read"), self._database as connection:
            return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])

    def close(self) -> None:
        """Close the file. Without this call nothing is lost either."""
        with self._database as connection:
            connection.close()

    def _read(self, key: str) -> bytes | None:
        """The bytes kept under the key; None unless they are as written."""
        query = "SELECT value, checksum FROM answers WHERE key = ?"
        with self._errors("read"), self._database as connection:
            row = connection.execute(query, (key,)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            return None
        value, checksum = row
        # Values of before there were checksums have none.
        return value if checksum is None or checksum == crc32(value) else None

    def _write(self, values: Mapping[str, bytes]) -> None:
        with self._errors("written"), self._database as connection, connection:
            connection.executemany(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)",
                [(key, value, crc32(value)) for key, value in values.items()],
            )

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        """Turn an error of the database into one that names the file."""
        try:
            yield
        except sqlite3.Error as error:
            raise InvalidParameter(
                f"The cache {self.path!r} cannot be {what}: {error}. Earlier entries are kept. "
                "Free some space, repair the file or choose another path."
            ) from error
