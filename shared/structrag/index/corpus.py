"""The protocols of a store of documents and of its readers, and the routes of an index: its own,
and a host's vector store in place of its vectors. The embedded `Store` implements the protocols,
and so do engines such as LanceDB. Retrievers do not know which one they search."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.index.entries import Entry, LevelRows, StoredRow
from structrag.index.lexical import OKAPI
from structrag.index.snapshot import Reader, Settings
from structrag.model_calls.calling import raised_by
from structrag.model_calls.requests import Ranking, Search
from structrag.records import Chunk, Document

Rows = Sequence[tuple[int, float]]  # rows and their scores, best first


class CorpusReader(Protocol):
    """Searches the state of a store at one moment. Rows are numbers of chunks. They ascend in
    document order, with gaps in an engine."""

    settings: Settings
    fitted_embedder: (
        Any  # the embedder that was fitted to what is there; None: there is none
    )
    views: tuple[str, ...]
    changes: int  # tells two moments apart

    def __len__(self) -> int:
        """The number of chunks."""

    @property
    def document_ids(self) -> list[str]:
        """In row order."""

    @property
    def row_numbers(self) -> NDArray[np.int64] | None:
        """All rows, ascending; None where they count from 0 without gaps."""

    def fingerprints(self) -> dict[str, str | None]:
        """Document id -> fingerprint, in row order; None if a model failed on the document."""

    def with_chunks(
        self, doc_ids: Sequence[str]
    ) -> Iterator[tuple[Document, list[Chunk]]]:
        """Some documents without their text, each with its chunks."""

    def among(self, rows: NDArray[np.int64]) -> Any:
        """Convert rows to a filter that `where` takes."""

    def select(self, where: Any) -> Any:
        """Convert a condition to the store's own filter; None for all rows. Its own filters are
        returned as they are."""

    def first_rows(self, selection: Any, n: int) -> list[int]:
        """The first `n` rows of a selection."""

    def sampled_rows(self, selection: Any, n: int) -> tuple[int, list[int]]:
        """How many rows a selection has, and at most `n` of them at even distances."""

    def rows_of(self, doc_id: str) -> range:
        """The rows of a document. Raises UnknownDocument if unknown."""

    def row_of(self, chunk_id: str) -> int | None:
        """The row of a chunk; None without one of this id."""

    def chunk(self, row: int) -> Chunk:
        """The chunk at a row."""

    def chunks_at(self, rows: Sequence[int]) -> list[Chunk]:
        """The chunks at some rows, in their order."""

    def view_texts_at(self, rows: Sequence[int], view: str) -> list[str | None]:
        """The index texts of some chunks in a view; None without one."""

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        """The chunks of a document, or all, in row order."""

    def stored_rows(
        self, rows: Iterable[int], names: Sequence[str]
    ) -> dict[int, StoredRow]:
        """Return the rows that exist, with their blobs of these names."""

    def frequencies(self, view: str, terms: Sequence[str]) -> tuple[int, list[int]]:
        """How many rows a view has, and how many of them hold each of some terms."""

    def search_dense(
        self, view: str, vector: ArrayLike, n: int, where: Any = None
    ) -> Rows:
        """The best rows of a view by cosine."""

    def search_lexical(self, view: str, query: str, n: int, where: Any = None) -> Rows:
        """The best rows of a view by BM25. Its statistics are those of all rows."""


class CorpusStore(Protocol):
    """Documents with their chunks, texts, terms and vectors. A document is there whole or not at
    all, and at most once."""

    settings: Settings
    config: dict[str, Any]  # of the index, saved with it

    @property
    def shared(self) -> dict[str, NDArray[Any]]:
        """Arrays that belong to all documents."""

    @property
    def changes(self) -> int:
        """Grows when a document is added or deleted."""

    @property
    def document_ids(self) -> list[str]:
        """The ids of the documents, in the order in which they were first added."""

    def __len__(self) -> int:
        """The number of chunks."""

    def __contains__(self, doc_id: object) -> bool: ...

    def document(self, doc_id: str) -> Document:
        """A document without its text. Raises UnknownDocument if unknown."""

    def fingerprints(self, doc_ids: Sequence[str]) -> dict[str, str]:
        """Document id -> fingerprint, for stored documents that have all their views."""

    def known(self, doc_ids: Iterable[str]) -> set[str]:
        """Return the ids that are stored."""

    def unchanged_ids(self, entries: Sequence[Entry]) -> set[str]:
        """Return the ids of entries that are stored as they are. Vectors are not compared."""

    def level_rows(self, doc_id: str, level: str) -> LevelRows | None:
        """Return the rows and vectors of a document; None if it does not exist, or if its vectors
        cannot be read back."""

    def put(self, entry: Entry) -> None:
        """Add a document, or replace the one with its id in place."""

    def put_all(self, entries: Sequence[Entry]) -> None:
        """`put` for several; an engine takes them in one commit."""

    def delete(self, doc_id: str) -> bool:
        """Remove a document; False if no document has this id."""

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        """The chunks of a document, or all, in row order."""

    def reader(self) -> CorpusReader:
        """Return a reader of the current state. Later changes do not affect it."""

    def save(
        self, path: str | os.PathLike[str], *, config: Mapping[str, Any] | None = None
    ) -> None:
        """Write everything that was put, and bring indexes up to date."""


class DenseStore(Protocol):
    """A host's vector store in place of the index's own vectors.

    It receives a document after the index's own store. If it raises, the document is taken out
    again, and deleted here before the next try, so `delete` must bear entries that are not there,
    and `put` entries that are.
    """

    wants_vectors: bool  # True: it is given vectors; False: it embeds the texts itself

    def put(self, entry: Entry) -> None:
        """Add a document's views; entries of an earlier version are deleted."""

    def delete(self, doc_id: str, entry_keys: Sequence[tuple[str, str]]) -> None:
        """Remove a document; `entry_keys` are all (chunk id, view) it may have."""

    def search(self, request: Search) -> Ranking:
        """The best chunks of the view that `request.route` names, such as "dense:raw".

        None for a blank query, whose vector is None. On an event loop `asearch(request)` is awaited
        where there is one; else this runs in a worker thread.
        """


class HostVectors:
    """A host's vector store, kept in step with the own store. Without a host's store there is
    nothing to keep, and every call returns at once."""

    def __init__(self, dense_store: DenseStore | None, views: Sequence[str]) -> None:
        self.dense_store = dense_store
        self.views: tuple[str, ...] = tuple(views)
        # document id -> what the host's store may hold of one that it failed on
        self._leftovers: dict[str, list[tuple[str, str]]] = {}

    @property
    def wants_our_vectors(self) -> bool:
        """Whether vectors are made here, for the index or for a host."""
        return self.dense_store is None or self.dense_store.wants_vectors

    def keys(
        self, doc_ids: Iterable[str], store: CorpusStore
    ) -> dict[str, list[tuple[str, str]]]:
        """The (chunk id, view) pairs that the host may hold of documents."""
        if self.dense_store is None:
            return {}
        return {
            doc_id: self._leftovers.get(doc_id, [])
            + self._pairs(store.chunks(doc_id) if doc_id in store else [])
            for doc_id in doc_ids
        }

    def put(
        self, entry: Entry, outdated: list[tuple[str, str]], store: CorpusStore
    ) -> None:
        """Give the host a document that the own store has taken. One that the host's store refuses
        is taken out of the own store again."""
        if self.dense_store is None:
            return
        try:
            with raised_by(_name(self.dense_store)):
                if outdated:
                    self.dense_store.delete(entry.document.id, outdated)
                self.dense_store.put(entry)
        except BaseException:
            store.delete(entry.document.id)
            self._leftovers[entry.document.id] = outdated + self._pairs(entry.chunks)
            raise
        self._leftovers.pop(entry.document.id, None)

    def forget(self, doc_id: str, store: CorpusStore) -> None:
        """Delete what the host's store may hold of a document."""
        keys = self.keys([doc_id], store).get(doc_id)
        if keys and self.dense_store is not None:
            with raised_by(
                _name(self.dense_store), "The document was kept; call again."
            ):
                self.dense_store.delete(doc_id, keys)
        self._leftovers.pop(doc_id, None)

    def _pairs(self, chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
        return [(chunk.id, view) for chunk in chunks for view in self.views]


def _name(store: DenseStore) -> str:
    """Return the name of a host's store in errors: the label that an adapter set, else its
    class."""
    return str(getattr(store, "label", f"vector store {type(store).__name__}"))


@dataclass(frozen=True, slots=True)
class OwnRoute:
    """Searches an index as it was at one moment. It names chunks by their rows."""

    is_ours: ClassVar[bool] = True
    reader: CorpusReader

    def search(self, request: Search) -> Ranking:
        """Chunks by cosine or BM25. None without a query vector or for a blank query."""
        kind, _, view = request.route.partition(":")
        if kind == "bm25":
            return self._lexical(view, request)
        if request.vector is None:
            return []
        return [
            *self.reader.search_dense(view, request.vector, request.n, request.where)
        ]

    def _lexical(self, view: str, request: Search) -> Ranking:
        reader, query, n = self.reader, request.query, request.n
        if isinstance(reader, Reader) and reader.settings.lexical == OKAPI:
            # As published, a search within one document knows that document alone.
            scope = reader.lexical(view).within(reader.select(request.where))
            return [*scope.search(query, n)]
        return [*reader.search_lexical(view, query, n, request.where)]


def ranked_rows(reader: CorpusReader, ranking: Ranking) -> dict[int, float]:
    """A ranking as row -> score, in its order. Each chunk is there once, with its best score.
    Chunks that the reader does not hold are left out."""
    scores: dict[Any, float] = dict(ranking)
    # Our own routes give rows, each once: there is nothing to look up.
    if len(scores) == len(ranking) and set(map(type, scores)) == {int}:
        return scores
    scores = {}
    for key, score in ranking:
        row = reader.row_of(key) if isinstance(key, str) else key
        scores.setdefault(row, score)
    scores.pop(None, None)
    return scores
