"""Levels of documents in an engine, each a view of rows.

An engine's store has one level. There the chunks of a document are those of all its levels, each
with its text and vectors in the view of its own level alone. So a document is there whole or not at
all, and each level has its own BM25 and vectors. Which row is which is read once, and again for
documents that have changed.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from threading import Lock
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.errors import UnknownDocument, check_choice
from structrag.index.engine_reader import EngineReader
from structrag.index.engine_rows import EngineFilter, first_id, row_of_id
from structrag.index.engine_store import EngineStore
from structrag.index.entries import Entry, Level, Vectors
from structrag.index.opening import Address, engine_of, open_store
from structrag.index.ranking import IntArray
from structrag.index.selection import (
    Selection,
    check_selection,
    row_numbers,
    select_rows,
)
from structrag.index.snapshot import Reader, Settings, Snapshot, Where
from structrag.index.store import FIRST_LEVEL, Store
from structrag.records import Chunk, Document

VIEW = "raw"  # the one view of each level
# Between a level's name and a chunk's id, which is that of the chunk in the engine.
_AND = "/"


@dataclass(frozen=True, slots=True)
class _ReadDocument:
    """A document as it was read."""

    document: Document
    fingerprint: str | None
    key: int
    chunks: Mapping[str, list[Chunk]]  # by level, in row order
    rows: Mapping[str, list[int]]  # the same chunks' rows in the engine


class EngineLevels:
    """A store of several levels, of one view each, in an engine.

    It is to `D3Index` what `Store` is.

    Args:
        store: In the engine, with a view for each level.
    """

    def __init__(self, store: EngineStore) -> None:
        self.store = store
        self.levels: tuple[str, ...] = store.views
        settings = store.settings
        self.settings: Settings = replace(
            settings, levels=dict.fromkeys(self.levels, (VIEW,))
        )
        self.shared: dict[str, NDArray[Any]] = {}
        self._snapshot: EngineSnapshot | None = None
        self._lock = Lock()

    @property
    def config(self) -> dict[str, Any]:
        return self.store.config

    @config.setter
    def config(self, config: dict[str, Any]) -> None:
        self.store.config = config

    @property
    def changes(self) -> int:
        return self.store.changes

    @property
    def document_ids(self) -> list[str]:
        return self.store.document_ids

    def __len__(self) -> int:
        """The number of chunks of the first level."""
        return len(self.reader())

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self.store

    def document(self, doc_id: str) -> Document:
        return self.store.document(doc_id)

    def fingerprints(self, doc_ids: Sequence[str]) -> dict[str, str]:
        return self.store.fingerprints(doc_ids)

    def known(self, doc_ids: Iterable[str]) -> set[str]:
        return self.store.known(doc_ids)

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        """Those of the first level."""
        return self.reader().chunks(doc_id)

    def held(self, entries: Sequence[Entry]) -> set[str]:
        return self.store.held([self._in_views(entry) for entry in entries])

    def put(self, entry: Entry) -> None:
        self.put_all([entry])

    def put_all(self, entries: Sequence[Entry]) -> None:
        self.store.put_all([self._in_views(entry) for entry in entries])

    def delete(self, doc_id: str) -> bool:
        return self.store.delete(doc_id)

    def save(
        self, path: str | os.PathLike[str], *, config: Mapping[str, Any] | None = None
    ) -> None:
        self.store.save(path, config=config)

    def snapshot(self) -> EngineSnapshot:
        """All levels as they are now; only changed documents are read again."""
        with self._lock:
            reader = self.store.reader()
            before = self._snapshot
            if before is None or before.engine is not reader:
                read_before = {} if before is None else before.documents
                self._snapshot = EngineSnapshot(
                    reader, self.settings, _read(reader, read_before)
                )
            return cast("EngineSnapshot", self._snapshot)

    def reader(self, level: str | None = None) -> EngineLevel:
        """One level as it is now; by default the first."""
        return self.snapshot().reader(level)

    def _in_views(self, entry: Entry) -> Entry:
        """An entry with the chunks of all levels in the first one."""
        levels = {
            name: Level(entry.chunks, entry.views, entry.vectors)
            for name in self.levels[:1]
        }
        levels |= {name: entry.levels[name] for name in self.levels[1:]}
        n_chunks = sum(len(level.chunks) for level in levels.values())
        chunks: list[Chunk] = []
        views: dict[str, list[str | None]] = {
            name: [None] * n_chunks for name in levels
        }
        vectors = {}
        for name, level in levels.items():
            first = len(chunks)
            chunks += [
                replace(chunk, id=f"{name}{_AND}{chunk.id}") for chunk in level.chunks
            ]
            views[name][first : len(chunks)] = level.views[VIEW]
            if VIEW in level.vectors:
                of_level = level.vectors[VIEW]
                vectors[name] = Vectors(
                    of_level.matrix, np.asarray(of_level.owner) + first
                )
        texts = {name: tuple(of_view) for name, of_view in views.items()}
        return replace(
            entry, chunks=tuple(chunks), views=texts, vectors=vectors, levels={}
        )


class EngineSnapshot:
    """All levels of an `EngineLevels` at one moment."""

    def __init__(
        self,
        engine: EngineReader,
        settings: Settings,
        documents: Mapping[str, _ReadDocument],
    ) -> None:
        self.engine = engine
        self.changes: int = engine.changes
        self.settings = settings
        self.documents = documents
        self._readers: dict[str, EngineLevel] = {}

    def reader(self, level: str | None = None) -> EngineLevel:
        """One level; by default the first."""
        name = next(iter(self.settings.levels)) if level is None else level
        check_choice("level", name, tuple(self.settings.levels))
        if name not in self._readers:
            self._readers[name] = EngineLevel(self, name)
        return self._readers[name]


class EngineLevel:
    """One level of an `EngineSnapshot`, to be searched as a `Reader` is.

    Its rows count from 0.
    """

    basis: Any = None
    row_numbers: None = None
    views: tuple[str, ...] = (VIEW,)

    def __init__(self, snapshot: EngineSnapshot, level: str) -> None:
        self.snapshot = snapshot
        self.level = level
        self.settings: Settings = snapshot.settings
        self.changes: int = snapshot.changes
        self._chunks: list[Chunk] = []
        self._ranges: dict[str, range] = {}
        in_engine: list[int] = []
        for doc_id, document in snapshot.documents.items():
            first = len(self._chunks)
            self._chunks += document.chunks[level]
            in_engine += document.rows[level]
            self._ranges[doc_id] = range(first, len(self._chunks))
        self._in_engine: IntArray = np.array(in_engine, dtype=np.int64)

    # -- documents and chunks

    def __len__(self) -> int:
        return len(self._chunks)

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._ranges

    @property
    def document_ids(self) -> list[str]:
        return list(self._ranges)

    def document(self, doc_id: str) -> Document:
        """A document without its text. Raises UnknownDocument if unknown."""
        self.rows_of(doc_id)
        return self.snapshot.documents[doc_id].document

    def fingerprints(self) -> dict[str, str | None]:
        documents = self.snapshot.documents
        return {doc_id: one.fingerprint for doc_id, one in documents.items()}

    def with_chunks(
        self, doc_ids: Sequence[str]
    ) -> Iterator[tuple[Document, list[Chunk]]]:
        for doc_id in doc_ids:
            yield self.document(doc_id), self.chunks(doc_id)

    def records(self) -> Iterator[tuple[Mapping[str, Any], range]]:
        """Every document's record and rows, as conditions ask for them."""
        for doc_id, rows in self._ranges.items():
            yield (
                {"id": doc_id, "meta": self.snapshot.documents[doc_id].document.meta},
                rows,
            )

    def rows_of(self, doc_id: str) -> range:
        if doc_id not in self._ranges:
            raise UnknownDocument(
                f"doc_id must be the id of a document that is in the index; got {doc_id!r}. "
                "`document_ids` lists them."
            )
        return self._ranges[doc_id]

    @cached_property
    def _row_by_id(self) -> dict[str, int]:
        return {chunk.id: row for row, chunk in enumerate(self._chunks)}

    def row_of(self, chunk_id: str) -> int | None:
        return self._row_by_id.get(chunk_id)

    def chunk(self, row: int) -> Chunk:
        return self._chunks[row]

    def chunks_at(self, rows: Sequence[int]) -> list[Chunk]:
        return [self._chunks[row] for row in rows]

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        if doc_id is None:
            return list(self._chunks)
        rows = self.rows_of(doc_id)
        return self._chunks[rows.start : rows.stop]

    def view_texts_at(self, rows: Sequence[int], view: str) -> list[str | None]:
        check_choice("view", view, self.views)
        in_engine = self._in_engine[list(rows)].tolist() if rows else []
        return self.snapshot.engine.view_texts_at(in_engine, self.level)

    # -- searches

    def select(self, where: Where) -> Selection | None:
        """The rows of the documents that meet a condition; None for all."""
        if where is None:
            return None
        if isinstance(where, slice | np.ndarray):
            return check_selection(where, len(self))
        return select_rows(self, where)

    def among(self, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        mask = np.zeros(len(self), dtype=bool)
        mask[rows] = True
        return mask

    def first_rows(self, selection: Selection | None, n: int) -> list[int]:
        return list(row_numbers(selection, len(self))[:n])

    def search_dense(
        self, view: str, vector: ArrayLike, n: int, where: Where = None
    ) -> list[tuple[int, float]]:
        check_choice("view", view, self.views)
        chosen = self._filter(where)
        return self._ranked(
            self.snapshot.engine.search_dense(self.level, vector, n, chosen)
        )

    def search_lexical(
        self, view: str, query: str, n: int, where: Where = None
    ) -> list[tuple[int, float]]:
        check_choice("view", view, self.views)
        chosen = self._filter(where)
        return self._ranked(
            self.snapshot.engine.search_lexical(self.level, query, n, chosen)
        )

    def _filter(self, where: Where) -> EngineFilter | None:
        selection = self.select(where)
        if selection is None:
            return None
        rows = self._in_engine[selection]
        # The view holds no rows of other levels, so all rows need no condition.
        return None if len(rows) == len(self) else self.snapshot.engine.among(rows)

    def _ranked(self, ranking: Sequence[tuple[int, float]]) -> list[tuple[int, float]]:
        """A ranking of the engine's rows as one of this level's."""
        rows = np.searchsorted(self._in_engine, [row for row, _ in ranking]).tolist()
        return [(row, score) for row, (_, score) in zip(rows, ranking, strict=True)]


LevelReader = Reader | EngineLevel
AnySnapshot = Snapshot | EngineSnapshot


def open_levels(
    address: Address,
    settings: Settings | None = None,
    config: Mapping[str, Any] | None = None,
    *,
    verify: bool = False,
) -> Store | EngineLevels:
    """`open_store` for a store of several levels, each of the view "raw"."""
    if engine_of(address) is None:
        return cast("Store", open_store(address, settings, config, verify=verify))
    if settings is not None:
        settings = replace(settings, levels={FIRST_LEVEL: tuple(settings.levels)})
    return EngineLevels(cast("EngineStore", open_store(address, settings, config)))


def _read(
    reader: EngineReader, before: Mapping[str, _ReadDocument]
) -> dict[str, _ReadDocument]:
    """All documents in row order. Those that `before` has are not read again."""
    prints = reader.fingerprints()
    keys = {doc_id: reader.key(doc_id) for doc_id in prints}
    # A document on which a model failed is made anew without another fingerprint.
    documents = {
        doc_id: document
        for doc_id, document in before.items()
        if document.fingerprint is not None
        and document.fingerprint == prints.get(doc_id)
        and document.key == keys[doc_id]
    }
    changed = [doc_id for doc_id in prints if doc_id not in documents]
    for document, chunks in reader.with_chunks(changed):
        documents[document.id] = _by_levels(
            document, chunks, prints[document.id], keys[document.id], reader
        )
    return {doc_id: documents[doc_id] for doc_id in prints}


def _by_levels(
    document: Document,
    chunks: Sequence[Chunk],
    fingerprint: str | None,
    key: int,
    reader: EngineReader,
) -> _ReadDocument:
    of_levels: dict[str, list[Chunk]] = {level: [] for level in reader.views}
    rows: dict[str, list[int]] = {level: [] for level in reader.views}
    for row, chunk in enumerate(chunks, start=row_of_id(first_id(key)) + 1):
        level, _, chunk_id = chunk.id.partition(_AND)
        of_levels[level].append(replace(chunk, id=chunk_id))
        rows[level].append(row)
    return _ReadDocument(document, fingerprint, key, of_levels, rows)
