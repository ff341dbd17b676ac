"""The protocols of a store of documents and of its readers. The embedded `Store` implements them,
and so do engines such as LanceDB. Retrievers do not know which one they search."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.index.entries import Entry, LevelRows, StoredRow
from structrag.index.snapshot import Settings
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
