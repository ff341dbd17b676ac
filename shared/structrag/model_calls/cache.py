"""A file of what models answered, so that no call is repeated."""

from __future__ import annotations

import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np

from structrag.errors import InvalidParameter
from structrag.text.arrays import Array


def cache_key(*parts: str) -> str:
    """A key for a sequence of strings, shared with no other sequence."""
    return sha256(json.dumps(parts).encode("ascii")).hexdigest()


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
        self._lock = threading.Lock()
        try:
            if self.path != ":memory:":
                Path(self.path).parent.mkdir(parents=True, exist_ok=True)
            self._connection = sqlite3.connect(
                self.path, check_same_thread=False, timeout=30
            )
            # Closed with the cache: Python 3.13 warns of databases that nobody closed.
            weakref.finalize(self, self._connection.close)
            self._connection.execute("PRAGMA journal_mode=WAL")
            self._connection.execute("PRAGMA synchronous=NORMAL")
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS answers "
                "(key TEXT PRIMARY KEY, value BLOB, checksum INTEGER) WITHOUT ROWID"
            )
            columns = self._connection.execute("PRAGMA table_info(answers)").fetchall()
            if "checksum" not in {name for _, name, *_ in columns}:
                self._connection.execute(
                    "ALTER TABLE answers ADD COLUMN checksum INTEGER"
                )
            self._connection.commit()
        except (OSError, sqlite3.Error) as error:
            raise InvalidParameter(
                f"cache must be the path of a writable cache file; {self.path!r} fails: {error}."
            ) from error

    def __reduce__(self) -> tuple[type[Cache], tuple[str]]:
        path = self.path
        return Cache, (path if path == ":memory:" else os.path.abspath(path),)

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
        with self._lock, self._errors("read"):
            return int(
                self._connection.execute("SELECT count(*) FROM answers").fetchone()[0]
            )

    def close(self) -> None:
        """Close the file. Without this call nothing is lost either."""
        with self._lock:
            self._connection.close()

    def _read(self, key: str) -> bytes | None:
        """The bytes kept under the key; None unless they are as written."""
        query = "SELECT value, checksum FROM answers WHERE key = ?"
        with self._lock, self._errors("read"):
            row = self._connection.execute(query, (key,)).fetchone()
        if row is None or not isinstance(row[0], bytes):
            return None
        value, checksum = row
        # Values of before there were checksums have none.
        return value if checksum is None or checksum == crc32(value) else None

    def _write(self, values: Mapping[str, bytes]) -> None:
        with self._lock, self._errors("written"), self._connection:
            self._connection.executemany(
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
