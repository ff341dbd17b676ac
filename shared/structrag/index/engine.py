"""The bases of the stores and readers of all engines; an engine adds its own queries."""

from __future__ import annotations

import os
import re
import zlib
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.errors import (
    IndexDamaged,
    InvalidParameter,
    ModelFailed,
    NoIndex,
    UnknownDocument,
)
from structrag.index.corpus import CorpusReader, CorpusStore
from structrag.index.dense import unit_query
from structrag.index.engine_rows import (
    EngineFilter,
    EngineRow,
    bytes_of_arrays,
    engine_rows,
    filter_of,
    first_id,
    id_of_row,
    key_of,
    key_tag,
    prepare_for,
    row_of_id,
    views_of,
)
from structrag.index.entries import (
    DocumentRow,
    Entry,
    LevelRows,
    dump_json,
    parse_json,
    parse_row,
    plain_json,
    serialise_row,
)
from structrag.index.selection import as_list
from structrag.index.snapshot import Settings, check_rule, check_search
from structrag.records import Chunk, Document
from structrag.text.arrays import evenly

SCORE_DIGITS = 6  # float32 products agree to so many
_LOOKED_UP = 512  # documents that one query names
_READ = 128  # documents whose chunks are read together


class EngineReader(CorpusReader, ABC):
    """A store in an engine at one moment, to be searched. Its rows number the chunks, with gaps:
    documents in the order they were first put, then chunk start."""

    fitted_embedder: Any = None
    changes: int

    def __init__(self, place: str, settings: Settings) -> None:
        self.place = place
        self.settings = settings
        self.views: tuple[str, ...] = views_of(settings)
        self._known: dict[str, DocumentRow | None] = {}
        self._values: dict[str, list[Any]] = {}  # of each key that was compared

    # -- what an engine answers

    @property
    @abstractmethod
    def next_key(self) -> int:
        """The key of the next new document."""

    @abstractmethod
    def _of_document(self, doc_id: str) -> str:
        """The condition on the chunks of a document."""

    @abstractmethod
    def _of_documents(self, doc_ids: Sequence[str]) -> str:
        """The condition on the rows of some documents."""

    @abstractmethod
    def _heads(self, *conditions: str) -> list[DocumentRow]:
        """Return the stored facts of documents that meet conditions, in row order."""

    @abstractmethod
    def _lines(self, *conditions: str) -> dict[int, bytes]:
        """The chunks that meet conditions, as they are kept, by row."""

    @abstractmethod
    def _rows_of(self, selection: Any) -> NDArray[np.int64]:
        """The rows of a selection, ascending."""

    @abstractmethod
    def _n_chunks_of(self, doc_id: str) -> int: ...

    @abstractmethod
    def _lines_at(self, rows: Sequence[int]) -> dict[int, bytes]:
        """The chunks at those rows that are there, as they are kept."""

    @abstractmethod
    def _has_tag(self, tag: str) -> bool:
        """Whether a document has a tag."""

    @abstractmethod
    def _width(self, view: str) -> int | None:
        """The dimensions of a view's vectors; None without any."""

    @abstractmethod
    def _nearest(
        self, view: str, query: NDArray[np.float32], n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        """The row and cosine of the best windows. Fewer than `n` only where there are no more."""

    @abstractmethod
    def _matching(
        self, view: str, terms: Sequence[str], n: int, chosen: EngineFilter | None
    ) -> list[tuple[int, float]]:
        """The row and BM25 of the best chunks."""

    # -- documents and chunks

    def heads(self, doc_ids: Sequence[str]) -> dict[str, DocumentRow]:
        """Document id -> stored facts, for documents that exist."""
        unknown = [doc_id for doc_id in doc_ids if doc_id not in self._known]
        for start in range(0, len(unknown), _LOOKED_UP):
            some = unknown[start : start + _LOOKED_UP]
            heads: dict[str, DocumentRow | None] = dict.fromkeys(some)
            heads |= {
                head.record["id"]: head
                for head in self._heads(self._of_documents(some))
            }
            self._known |= heads
        pairs = ((doc_id, self._known[doc_id]) for doc_id in doc_ids)
        return {doc_id: head for doc_id, head in pairs if head is not None}

    def head(self, doc_id: str) -> DocumentRow | None:
        """Return the stored facts of a document; None if it does not exist."""
        return self.heads([doc_id]).get(doc_id)

    def key(self, doc_id: str) -> int:
        """A document's place in the order. Raises UnknownDocument if unknown."""
        head = self.head(doc_id)
        if head is None:
            raise UnknownDocument.named(doc_id)
        return head.key

    def rows_of(self, doc_id: str) -> range:
        first = row_of_id(first_id(self.key(doc_id))) + 1
        return range(first, first + self._n_chunks_of(doc_id))

    def lines_of(self, doc_id: str) -> list[bytes]:
        """The chunks of a document as they are kept, in row order."""
        self.key(doc_id)
        return [
            line for _, line in sorted(self._lines(self._of_document(doc_id)).items())
        ]

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """All rows, ascending."""
        return self._rows_of(None)

    def fingerprints(self) -> dict[str, str | None]:
        heads = {head.record["id"]: head for head in self._heads()}
        self._known |= heads
        return {
            doc_id: None if head.degraded else head.fingerprint
            for doc_id, head in heads.items()
        }

    def with_chunks(
        self, doc_ids: Sequence[str]
    ) -> Iterator[tuple[Document, list[Chunk]]]:
        for start in range(0, len(doc_ids), _READ):
            some = doc_ids[start : start + _READ]
            lines: dict[int, list[bytes]] = {
                head.key: [] for head in self.heads(some).values()
            }
            for row, line in sorted(self._lines(self._of_documents(some)).items()):
                lines[key_of(id_of_row(row))].append(line)
            for doc_id in some:
                head = self._known[doc_id]
                if head is not None:
                    chunks = [parse_row(line).chunk for line in lines[head.key]]
                    yield Document(text="", **head.record), chunks

    def view_texts_at(self, rows: Sequence[int], view: str) -> list[str | None]:
        lines = self._lines_at(rows) if rows else {}
        return [parse_row(lines[row]).texts[view] for row in rows]

    def chunk(self, row: int) -> Chunk:
        (chunk,) = self.chunks_at([row])
        return chunk

    def chunks_at(self, rows: Sequence[int]) -> list[Chunk]:
        lines = self._lines_at(rows) if rows else {}
        missing = [row for row in rows if row not in lines]
        if missing:
            raise InvalidParameter(
                f"row must be the row of a chunk in the store; got {missing[0]!r}."
            )
        return [parse_row(lines[row]).chunk for row in rows]

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        if doc_id is not None:
            return [parse_row(line).chunk for line in self.lines_of(doc_id)]
        return [parse_row(line).chunk for _, line in sorted(self._lines().items())]

    # -- searches

    def first_rows(self, selection: Any, n: int) -> list[int]:
        rows: list[int] = self._rows_of(selection)[:n].tolist()
        return rows

    def sampled_rows(self, selection: Any, n: int) -> tuple[int, list[int]]:
        rows = self._rows_of(selection)
        return len(rows), evenly(rows, n).tolist()

    def select(self, where: Any) -> EngineFilter | None:
        """A condition as the engine's filter. Raises InvalidParameter for a function, and for a key
        that no document has."""
        chosen = filter_of(where, self._values_of)
        if isinstance(where, Mapping):
            self._check_keys(key for key in where if key != "doc_id")
        return chosen

    def _values_of(self, key: str) -> list[Any]:
        """The different values that documents have under a key, items of lists each."""
        if key not in self._values:
            values = (head.record["meta"].get(key) for head in self._heads())
            items = [item for value in values for item in as_list(value)]
            self._values[key] = list({repr(item): item for item in items}.values())
        return self._values[key]

    def among(self, rows: NDArray[np.int64]) -> EngineFilter:
        return EngineFilter(rows=tuple(rows.tolist()))

    def _check_keys(self, keys: Iterable[str]) -> None:
        for key in keys:
            if not self._has_tag(key_tag(key)) and self.document_ids:
                records = (
                    head.record for head in self.heads(self.document_ids).values()
                )
                allowed = sorted(
                    {name for record in records for name in record["meta"]}
                )
                raise InvalidParameter(
                    "where must use keys of the documents' metadata: "
                    f"{', '.join(map(repr, ['doc_id', *allowed]))}; got {key!r}."
                )

    def search_dense(
        self, view: str, vector: ArrayLike, n: int, where: Any = None
    ) -> list[tuple[int, float]]:
        """The best rows by cosine, to six decimals; equal ones by row.

        A row's score is the best of its windows. Raises InvalidAnswer for a vector of another
        dimension, or with NaN or infinity.
        """
        check_search(view, n, self.views)
        chosen = self.select(where)
        width = self._width(view)
        if n <= 0 or width is None or (chosen and chosen.is_empty):
            return []
        query = unit_query(vector, width, view=view)
        asked = n
        while True:
            windows = self._nearest(view, query, asked, chosen)
            scores: dict[int, float] = {}
            for row, score in windows:
                scores[row] = max(scores.get(row, -2.0), round(score, SCORE_DIGITS))
            # Several windows of one chunk may be among the nearest.
            if len(scores) >= n or len(windows) < asked:
                return _ranked(scores, n)
            asked *= 2

    def search_lexical(
        self, view: str, query: str, n: int, where: Any = None
    ) -> list[tuple[int, float]]:
        """The best rows by BM25, to six decimals; equal ones by row."""
        check_search(view, n, self.views)
        chosen = self.select(where)
        terms = self.settings.tokenizer(query)
        if n <= 0 or not terms or (chosen and chosen.is_empty):
            return []
        matching = self._matching(view, terms, n, chosen)
        return _ranked({row: round(score, SCORE_DIGITS) for row, score in matching}, n)


def _ranked(scores: Mapping[int, float], n: int) -> list[tuple[int, float]]:
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))[:n]


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
        """The address that opens it."""
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
        """Bring the engine's indexes up to date."""

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
            new = (doc_id for doc_id in checked if doc_id not in heads)
            keys = {doc_id: key for key, doc_id in enumerate(new, reader.next_key)}
            # A document that is replaced keeps its key.
            keys |= {doc_id: head.key for doc_id, head in heads.items()}
            documents = [
                engine_rows(entry, keys[doc_id], self.settings)
                for doc_id, entry in checked.items()
            ]
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
        """Write the configuration and bring indexes up to date. Documents are written as they come.
        `path` must be the store itself."""
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

    def level_rows(self, doc_id: str, level: str) -> LevelRows | None:
        return None  # vectors stay in the engine

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
    """Parse a line of `settings_line`. Raises IndexDamaged."""
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
