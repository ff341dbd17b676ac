"""What stores in all engines share."""

from __future__ import annotations

import os
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

from numpy.typing import NDArray

from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    ModelFailed,
    NoIndex,
    UnknownDocument,
)
from structrag.index.corpus import CorpusStore
from structrag.index.engine_reader import EngineReader
from structrag.index.engine_rows import (
    EngineRow,
    bytes_of_arrays,
    prepare_for,
    rows_by_document,
    views_of,
)
from structrag.index.entries import (
    DocumentRow,
    Entry,
    dump_json,
    parse_json,
    plain_json,
    serialise_row,
)
from structrag.index.snapshot import Settings, check_rule
from structrag.records import Chunk, Document

VERSION = 2  # of the settings in an engine


class EngineStore(CorpusStore, ABC):
    """Documents in an engine.

    Args:
        place: Where in the engine.
        settings: Of the store.
        config: Of the index.
    """

    scheme: ClassVar[str]  # of its address

    def __init__(
        self, place: str, settings: Settings, config: Mapping[str, Any]
    ) -> None:
        self.place = place
        self.settings = settings
        self.config: dict[str, Any] = dict(config)
        self._shared: dict[str, NDArray[Any]] = {}
        self._is_shared = False  # whether the engine has it
        self.views: tuple[str, ...] = views_of(settings)

    @classmethod
    def place_of(cls, address: str) -> str:
        """The place that an address names, behind the engine's name. Raises InvalidParameter for a
        tenant that cannot be one."""
        tenant_of(address)
        return address

    @property
    def shared(self) -> dict[str, NDArray[Any]]:
        """Arrays that belong to all documents."""
        if not self._shared:
            self._shared.update(self._read_shared())
            self._is_shared = bool(self._shared)
        return self._shared

    @property
    def uri(self) -> str:
        """What opens it."""
        return f"{self.scheme}:{self.place}"

    @abstractmethod
    def reader(self) -> EngineReader: ...

    # -- what an engine does

    @abstractmethod
    def _writing(self) -> AbstractContextManager[object]:
        """Let writers take turns."""

    @abstractmethod
    def _write(
        self,
        reader: Any,
        documents: Sequence[Sequence[EngineRow]],
        replaced: Mapping[str, DocumentRow],
    ) -> None:
        """Write documents in one commit, in place of some that the reader has."""

    @abstractmethod
    def _remove(self, reader: Any, head: DocumentRow) -> None:
        """Remove a document."""

    @abstractmethod
    def _read_shared(self) -> dict[str, NDArray[Any]]:
        """The arrays that belong to all documents, as the engine has them."""

    @abstractmethod
    def _write_shared(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Keep arrays that belong to all documents."""

    @abstractmethod
    def _write_settings(self) -> None:
        """Keep the settings and the configuration."""

    @abstractmethod
    def _catch_up(self) -> None:
        """Bring up to date what searches go by."""

    # -- changes

    def put(self, entry: Entry) -> None:
        self.put_all([entry])

    def put_all(self, entries: Sequence[Entry]) -> None:
        """Add documents, or replace those with their ids, in one commit.

        Of two with one id the last counts. Raises InvalidParameter and InvalidAnswer as `Store.put`
        does, and ModelFailed where the engine raises; nothing has changed then.
        """
        by_id = {entry.document.id: entry for entry in entries}
        checked = {
            doc_id: prepare_for(entry, self.settings) for doc_id, entry in by_id.items()
        }
        if not checked:
            return
        with self._writing():
            self._keep_shared()
            reader = self.reader()
            heads = reader.heads(list(checked))
            documents = rows_by_document(checked, heads, reader.next_key, self.settings)
            self._write(reader, documents, heads)

    def _keep_shared(self) -> None:
        """Write arrays that belong to all documents before the first that need them."""
        if self._is_shared or not self._shared:
            return
        there = self._read_shared()
        if there and bytes_of_arrays(there) != bytes_of_arrays(self._shared):
            self._shared, self._is_shared = there, True
            raise ModelFailed(
                f"Another process has started to fill the store at {self.place!r}, so the vectors "
                "prepared here do not fit. This change was not stored. Add the documents again."
            )
        self._write_shared(self._shared)
        self._is_shared = True

    def delete(self, doc_id: str) -> bool:
        with self._writing():
            reader = self.reader()
            head = reader.head(doc_id)
            if head is not None:
                self._remove(reader, head)
            return head is not None

    def save(
        self, path: str | os.PathLike[str], *, config: Mapping[str, Any] | None = None
    ) -> None:
        """Keep the configuration, and bring up to date what searches go by. Documents are kept as
        they come. `path` must be the store itself."""
        self.check_path(path)
        with self._writing():
            if config is not None and plain_json(dict(config), "config") != self.config:
                self.config = plain_json(dict(config), "config")
                self._write_settings()
            self._catch_up()

    # -- what is there

    @property
    def document_ids(self) -> list[str]:
        return self.reader().document_ids

    def __len__(self) -> int:
        return len(self.reader())

    def __contains__(self, doc_id: object) -> bool:
        return isinstance(doc_id, str) and self.reader().head(doc_id) is not None

    def document(self, doc_id: str) -> Document:
        head = self.reader().head(doc_id)
        if head is None:
            raise UnknownDocument.named(doc_id)
        return Document(text="", **head.record)

    def fingerprints(self, doc_ids: Sequence[str]) -> dict[str, str]:
        heads = self.reader().heads(doc_ids)
        return {
            doc_id: head.fingerprint
            for doc_id, head in heads.items()
            if not head.degraded
        }

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        return self.reader().chunks(doc_id)

    def known(self, doc_ids: Iterable[str]) -> set[str]:
        return set(self.reader().heads(list(doc_ids)))

    def unchanged_ids(self, entries: Sequence[Entry]) -> set[str]:
        reader = self.reader()
        # All by one query.
        heads = reader.heads([entry.document.id for entry in entries])
        return {
            entry.document.id
            for entry in entries
            if self._is_held(entry, heads.get(entry.document.id), reader)
        }

    def _is_held(
        self, entry: Entry, head: DocumentRow | None, reader: EngineReader
    ) -> bool:
        if head is None or head.fingerprint != entry.fingerprint:
            return False
        if head.degraded != entry.degraded:
            return False
        (level,) = prepare_for(entry, self.settings).levels.values()
        return [serialise_row(row) for row in level.rows] == reader.lines_of(
            entry.document.id
        )

    def check_path(self, path: str | os.PathLike[str]) -> None:
        """Raise InvalidParameter unless a path is that of the store itself."""
        place = self.place_of(os.fspath(path).removeprefix(f"{self.scheme}:"))
        if absolute_place(place) != absolute_place(self.place):
            raise InvalidParameter(
                f"path must be {self.uri!r}, where the documents are kept; got "
                f"{os.fspath(path)!r}. To copy the store, use the engine's own tools."
            )


def tenant_of(place: str) -> tuple[str, str]:
    """A place without its tenant, and the tenant's name.

    The name is empty where there is none.

    Example:
        >>> tenant_of("corpus?tenant=acme")
        ('corpus', 'tenant_acme')
    """
    whole, mark, tenant = place.partition("?tenant=")
    if mark and not re.fullmatch("[a-z0-9_]{1,64}", tenant):
        raise InvalidParameter(
            "store must name a tenant of 1 to 64 characters (a to z, 0 to 9 and _), such as "
            f"'?tenant=acme'; got {place!r}."
        )
    return whole, f"tenant_{tenant}" if mark else ""


def absolute_place(place: str) -> str:
    """A file or folder by its whole path, a server or bucket by its address.

    Example:
        >>> absolute_place("s3://bucket/corpus"), absolute_place("/data/corpus.db?tenant=acme")
        ('s3://bucket/corpus', '/data/corpus.db?tenant=acme')
    """
    return place if "://" in place else os.path.abspath(place)


def no_index(place: str) -> NoIndex:
    return NoIndex(f"There is no structrag store at {place!r}. Check the address.")


def settings_line(format: str, settings: Settings, config: Mapping[str, Any]) -> bytes:
    """The settings of a store in an engine as they are kept, with the index's configuration."""
    return dump_json(
        {
            "format": format,
            "version": VERSION,
            "store": settings.to_json(),
            "config": dict(config),
        }
    )


def parse_settings(
    place: str, format: str, line: Callable[[], bytes]
) -> tuple[Settings, dict[str, Any]]:
    """What `settings_line` was given. Raises IndexDamaged."""
    try:
        content = parse_json(line())
        version = content["version"] if content["format"] == format else None
        if version == VERSION:
            check_rule(f"The store at {place!r}", content["store"])
            return Settings.from_json(content["store"]), content["config"]
    except (LookupError, TypeError, ValueError, AttributeError, zlib.error) as error:
        raise IndexDamaged(
            f"The store at {place!r} is damaged: its settings are invalid ({error!r}). Restore it "
            "from a copy, or rebuild it."
        ) from error
    raise IndexDamaged(
        f"The store at {place!r} has format version {version}; this release reads {VERSION}. "
        "Rebuild the store, or use the release that created it."
    )
