"""Calls of Milvus: who asks, for how long, and what errors mean."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import count
from pathlib import Path
from typing import Any

from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    ModelFailed,
    StructragError,
    TimedOut,
    require,
)
from structrag.index.engine import tenant_of
from structrag.index.storage import take_lock
from structrag.model_calls.calling import WHILE_ADDING, raised_by

SECONDS = 60.0  # that a call may take, all its tries together; MILVUS_TIMEOUT
SUFFIX = ".db"  # by which pymilvus tells a file
LONGEST = 60_000  # characters of a string; Milvus's limit is 65,535 bytes
MOST_HITS = 16_384  # of one search, and rows of one page
BATCH = 500  # rows of one call
_SHORTEST, _LONGEST_PAUSE = 0.1, 3.0  # seconds before another try
_MARKS = {"LOCK", "collections"}  # by which a folder of Milvus Lite is known
# Files that Milvus Lite could not write to in this process, and why.
_torn: dict[str, str] = {}
_quiet: ContextVar[bool] = ContextVar("_quiet", default=False)


class MilvusDatabase:
    """A connection to Milvus Lite in a file, or to a server.

    Args:
        place: A path that ends in ".db", or "http://host:19530/database". With "https" the
            connection is by TLS. The collections of "?tenant=NAME" begin with that name.

    The environment has what is secret: MILVUS_TOKEN, or MILVUS_USER and MILVUS_PASSWORD, and as
    MILVUS_SERVER_PEM the file of a certificate that the system does not know. MILVUS_TIMEOUT is in
    seconds.
    """

    def __init__(self, place: str) -> None:
        self.place = place
        self._address, tenant = tenant_of(place)
        self._prefix = f"{tenant}_" if tenant else ""
        self.is_file: bool = "://" not in place
        pymilvus = require("pymilvus", extra="milvus")
        self.types: Any = pymilvus.DataType
        self.seconds: float = _seconds()
        _make_quiet()
        if self.is_file:
            require("milvus_lite", extra="milvus")
            Path(self._address).parent.mkdir(parents=True, exist_ok=True)
        # Collection -> how it was when it was first looked at.
        self._made: dict[str, Any] = {}
        self.client: Any = None
        self.is_lite: bool = False
        self.client = self._answer(self._connected, pymilvus.MilvusClient)
        # Milvus Lite searches what is not flushed row by row.
        self.is_lite = "lite" in self.call("get_server_version")

    def _connected(self, kind: Any, timeout: float) -> Any:
        uri = os.path.abspath(self._address) if self.is_file else self._address
        return kind(uri=uri, timeout=timeout, **_credentials())

    def call(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the client. One that failed on the way is tried again.

        The first argument is a collection. Every call may be made twice: rows are replaced by those
        with their ids. Raises TimedOut and ModelFailed, and IndexDamaged as `check` does.
        """
        ask = getattr(self.client, method)
        if not arguments:
            return self._answer(ask, **options)
        return self._of(arguments[0], ask, *arguments[1:], **options)

    def _of(
        self, name: str, ask: Callable[..., Any], *arguments: Any, **options: Any
    ) -> Any:
        """Ask for something of a collection."""
        try:
            return self._answer(ask, f"{self._prefix}{name}", *arguments, **options)
        except TimedOut:
            raise
        except ModelFailed:
            if name in self._made:
                self.check([name])
            raise

    def _answer(self, ask: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
        if self._address in _torn:
            raise self._unwritten()
        deadline = time.monotonic() + self.seconds
        for attempt in count():
            try:
                left = max(deadline - time.monotonic(), _SHORTEST)
                with _silence():
                    return ask(*arguments, **options, timeout=left)
            except Exception as error:
                pause = min(_SHORTEST * 2**attempt, _LONGEST_PAUSE)
                if _is_transient(error) and time.monotonic() + pause < deadline:
                    time.sleep(pause)
                    continue
                with raised_by(f"store {self.place!r}"):
                    raise self._meant(error) or error from error

    def collections(self) -> set[str]:
        names = self.call("list_collections")
        return {
            name.removeprefix(self._prefix)
            for name in names
            if name.startswith(self._prefix)
        }

    def check(self, names: Iterable[str]) -> None:
        """Check that the collections are still the same. Raises IndexDamaged if another program has
        dropped or recreated one."""
        there = self.collections()
        for name in names:
            if name not in there:
                raise self.altered(f"collection {name} is missing")
            facts = self._answer(
                self.client.describe_collection, f"{self._prefix}{name}"
            )
            fields = {
                field["name"]: (field["type"], field["params"])
                for field in facts["fields"]
            }
            collection = (facts["collection_id"], fields)  # Milvus Lite has no such ids
            if self._made.setdefault(name, collection) != collection:
                raise self.altered(f"collection {name} was recreated")

    def remember(self, names: Iterable[str]) -> None:
        """`check` for collections that were not checked yet."""
        if unknown := [name for name in names if name not in self._made]:
            self.check(unknown)

    def altered(self, how: str) -> IndexDamaged:
        return IndexDamaged(
            f"The store at {self.place!r} was changed by another program: its {how}. Open the "
            "store again; if that fails, restore it from a copy or rebuild it."
        )

    def insert(self, collection: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write rows, replacing rows with the same ids, so a second try does no harm."""
        for start in range(0, len(rows), BATCH):
            self.call("upsert", collection, list(rows[start : start + BATCH]))

    def query(
        self, collection: str, condition: str, columns: Sequence[str]
    ) -> list[Any]:
        """All rows that meet a condition."""
        rows: list[Any] = self._of(collection, self._pages, condition, list(columns))
        return rows

    def _pages(
        self, collection: str, condition: str, columns: list[str], *, timeout: float
    ) -> list[Any]:
        pages = self.client.query_iterator(
            collection,
            batch_size=MOST_HITS // 4,
            filter=condition,
            output_fields=columns,
            timeout=timeout,
        )
        try:
            return [row for page in iter(pages.next, []) for row in page]
        finally:
            pages.close()

    def get(
        self, collection: str, ids: Sequence[int], columns: Sequence[str]
    ) -> list[Any]:
        """The rows with some ids, in any order."""
        return [
            row
            for start in range(0, len(ids), BATCH)
            for row in self.call(
                "get",
                collection,
                list(ids[start : start + BATCH]),
                output_fields=list(columns),
            )
        ]

    def count(self, collection: str, condition: str) -> int:
        (row,) = self.call(
            "query", collection, filter=condition, output_fields=["count(*)"]
        )
        return int(row["count(*)"])

    def _meant(self, error: Exception) -> StructragError | None:
        """An error as a sentence. None for one that says itself what it is."""
        text = _text(error)
        if any(
            word in text for word in ("unauthenticated", "auth check", "permission")
        ):
            return ModelFailed(
                f"The Milvus server at {self.place!r} rejected the credentials ({_short(error)}). "
                "Set MILVUS_TOKEN, or MILVUS_USER and MILVUS_PASSWORD, for a user with read and "
                f"write access. {WHILE_ADDING}"
            )
        if self.is_file and self.client is None and _is_locked(Path(self._address)):
            return ModelFailed(
                f"The store at {self.place!r} is open in another process. Only one process at a "
                "time can open a Milvus Lite file; close the other process, or run a server."
            )
        if self.is_lite and "[errno" in text:
            # Its log ends in half a record, and what it wrote behind that would be lost.
            _torn[self._address] = _short(error)
            return self._unwritten()
        if _is_transient(error) or any(
            word in text for word in ("timeout", "deadline")
        ):
            return TimedOut(
                f"The Milvus server at {self.place!r} did not answer within {self.seconds:g} "
                f"seconds ({_short(error)}). Check its address and that it is running; "
                f"MILVUS_TIMEOUT sets the limit. {WHILE_ADDING}"
            )
        return None

    def _unwritten(self) -> ModelFailed:
        return ModelFailed(
            f"Milvus Lite could not write to the store at {self.place!r} "
            f"({_torn[self._address]}), so the store is now closed in this process. Free some "
            "space, and open it in a new process. Documents finished before are kept whole."
        )


def _text(error: Exception) -> str:
    return f"{getattr(error, 'code', '')} {error}".lower()


def _is_transient(error: Exception) -> bool:
    """Whether a call failed on the way, and may be tried again."""
    text = _text(error)
    return (
        "unavailable" in text or "connecting to server" in text
    ) and "deadline" not in text


def _short(error: Exception) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 160 else f"{text[:160]}…"


def check_file(place: str) -> bool:
    """Whether a file of Milvus Lite is there. Raise InvalidParameter for anything else."""
    path = Path(place)
    if path.suffix != SUFFIX:
        raise InvalidParameter(
            "store must be 'milvus:' and a file that ends in '.db', or a server's address such as "
            f"'milvus:http://localhost:19530'; got {'milvus:' + place!r}."
        )
    if not path.exists():
        return False
    names = {item.name for item in path.iterdir()} if path.is_dir() else None
    if names is None or (names and not names & _MARKS):
        raise InvalidParameter(
            f"store must be new or a file of Milvus Lite 3; {place!r} is something else, and "
            "nothing in it was changed. Choose another name."
        )
    return bool(names)


def _is_locked(folder: Path) -> bool:
    try:
        with open(folder / "LOCK") as file:
            take_lock(file.fileno())
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return False


def _credentials() -> dict[str, str]:
    names = {
        "token": "MILVUS_TOKEN",
        "user": "MILVUS_USER",
        "password": "MILVUS_PASSWORD",
        "server_pem_path": "MILVUS_SERVER_PEM",
    }
    return {name: os.environ[key] for name, key in names.items() if os.environ.get(key)}


def _seconds() -> float:
    text = os.environ.get("MILVUS_TIMEOUT", str(SECONDS))
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise InvalidParameter(
            f"MILVUS_TIMEOUT must be a number of seconds above 0; got {text!r}. Unset it, or "
            "choose another value."
        )
    return seconds


@contextmanager
def _silence() -> Iterator[None]:
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


class _NotOurs(logging.Filter):
    """Keeps pymilvus from printing errors that we raise."""

    def filter(self, record: logging.LogRecord) -> bool:
        return not _quiet.get()


def _make_quiet() -> None:
    """Keep errors that we raise from being printed too."""
    names = [
        name for name in logging.root.manager.loggerDict if name.startswith("pymilvus")
    ]
    handlers = [
        handler for name in names for handler in logging.getLogger(name).handlers
    ]
    for place in (*handlers, logging.getLogger("milvus_lite.server_manager")):
        if not any(isinstance(item, _NotOurs) for item in place.filters):
            place.addFilter(_NotOurs())
