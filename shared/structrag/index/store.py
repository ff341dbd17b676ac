"""The store behind every retriever: documents, chunks, two indexes per view.

It knows no models.

Rows number the chunks: documents in the order they were first put (a replaced one keeps its place),
then chunk start. Changes are cheap and take effect together at the next search, which turns the
term counts and joins the vectors once.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import RLock
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from structrag.errors import InvalidAnswer, InvalidParameter, check_at_least, check_choice
from structrag.index.dense import DTYPES, DenseIndex, check_owner, unit_vectors
from structrag.index.entries import Entry, Prepared, Row, plain_json, prepare
from structrag.index.lexical import Bm25, count_terms
from structrag.index.saved import load_store, save_store
from structrag.index.selection import Condition, Selection, check_selection, select_rows
from structrag.index.tables import Content, Member, Settings, Tables, assemble, empty_tables
from structrag.records import Chunk, Document
from structrag.text.terms import Tokenizer

Where = Condition | Selection | None  # what `Store.select` takes, or what it gave


class Store:
    """Chunks of documents, searchable by vectors and BM25 in several views.

    Every document has the same views. Searches may run in several threads; changes and saving take
    turns.
    """

    def __init__(
        self,
        views: Sequence[str],
        *,
        dtype: str = "float32",
        lexical: str = "lucene",
        k1: float | None = None,
        b: float = 0.75,
        tokenizer: Tokenizer | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> None:
        """An empty store.

        `dtype` is how vectors are kept, "float32" or "float16" (half the memory, scores to about
        three decimals); `lexical`, `k1` and `b` are as in `Bm25`; `config` is saved with the index
        and given back by `load`.
        """
        if isinstance(views, str) or not views or len(set(views)) != len(views):
            raise InvalidParameter(
                f"views must be one or more different names, such as ('raw',); got {views!r}."
            )
        self.settings = Settings(
            tuple(views),
            check_choice("dtype", dtype, DTYPES),
            Bm25(lexical, k1, b),
            tokenizer or Tokenizer(),
        )
        self.config: dict[str, Any] = plain_json(dict(config or {}), "config")
        self.changes = 0  # documents added or deleted so far; rows hold while it stays
        self._lock = RLock()
        self._vocabulary: dict[str, int] = {}
        self._members: dict[str, Member] = {}
        self._tables = empty_tables(self.settings, self._vocabulary)
        self._order: tuple[list[int], list[str]] | None = (
            [],
            [],
        )  # documents' first rows and ids; None: has changes
        self._row_of: dict[str, int] | None = None

    @property
    def views(self) -> tuple[str, ...]:
        return self.settings.views

    @property
    def document_ids(self) -> list[str]:
        """In row order."""
        return list(self._members)

    def __len__(self) -> int:
        """The number of chunks."""
        if self._order is not None:
            return self._tables.n_rows
        return sum(member.n_rows for member in list(self._members.values()))

    def __contains__(self, doc_id: object) -> bool:
        return doc_id in self._members

    def document(self, doc_id: str) -> Document:
        """The document's id, title, format and meta; its `text` is empty. Raises InvalidParameter
        if unknown."""
        if doc_id not in self._members:
            raise InvalidParameter(f"doc_id must be a document of the store; {doc_id!r} is not.")
        return Document(text="", **self._members[doc_id].record)

    def fingerprint(self, doc_id: str) -> str | None:
        """What the document's entry was made from; None for an unknown document."""
        member = self._members.get(doc_id)
        return member.fingerprint if member else None

    def degraded(self, doc_id: str) -> int:
        """How many views of a document lack what a failed call should have given.

        They are to be made again. 0 for a document that is not there.
        """
        member = self._members.get(doc_id)
        return member.degraded if member else 0

    def holds(self, entry: Entry) -> bool:
        """Whether the document is there as in the entry, vectors aside.

        That is with the same fingerprint, chunks and texts, and as many views to be made again.
        """
        member = self._members.get(entry.document.id)
        if member is None or member.fingerprint != entry.fingerprint:
            return False
        if member.degraded != entry.degraded:
            return False
        rows = prepare(replace(entry, vectors={}), self.views, self.settings.dtype).rows
        return len(rows) == member.n_rows and all(
            row == member.rows[member.first + i] for i, row in enumerate(rows)
        )

    def put(self, entry: Entry) -> None:
        """Add a document, or replace the one with its id in place.

        Everything is checked before anything changes. Raises InvalidParameter for chunks, texts or
        metadata that cannot be kept, InvalidAnswer for unusable vectors or vectors of another
        dimension than the store's.
        """
        prepared = prepare(entry, self.views, self.settings.dtype)
        with self._lock:
            widths = self._check_widths(prepared)
            terms = {
                view: count_terms(
                    (row.texts[view] for row in prepared.rows),
                    self.settings.tokenizer,
                    self._vocabulary,
                )
                for view in self.views
            }
            self._begin_change()
            self._members[entry.document.id] = Member(
                record=prepared.record,
                fingerprint=entry.fingerprint,
                degraded=entry.degraded,
                widths=widths,
                rows=prepared.rows,
                first=0,
                n_rows=len(prepared.rows),
                start=0,
                pending=Content(terms, prepared.vectors),
            )

    def _begin_change(self) -> None:
        self.changes += 1
        if self._order is not None:
            self._members = dict(self._members)  # a search in another thread keeps the one it has
            self._order = self._row_of = None

    def _check_widths(self, prepared: Prepared) -> dict[str, int]:
        widths = {
            view: int(matrix.shape[1])
            for view, (matrix, _) in prepared.vectors.items()
            if len(matrix)
        }
        name = prepared.record["id"]
        for view, width in widths.items():
            others = (
                m.widths[view]
                for other, m in self._members.items()
                if other != name and view in m.widths
            )
            expected = next(others, width)
            if width != expected:
                raise InvalidAnswer(
                    f"The vectors of view {view!r} must have {expected} dimensions like the "
                    f"store's; document {name!r} brings {width}. Use the embedder the store was "
                    "built with, or build a new store."
                )
        return widths

    def delete(self, doc_id: str) -> bool:
        """Remove a document; no view finds it any more.

        False if there is none of this id.
        """
        with self._lock:
            if doc_id not in self._members:
                return False
            self._begin_change()
            del self._members[doc_id]
            return True

    def _ready(self) -> tuple[dict[str, Member], Tables, list[int], list[str]]:
        """Members and tables after all changes, members' first rows and ids."""
        with self._lock:
            if self._order is None:
                self._members, self._tables = assemble(
                    self._members, self._tables, self.settings, self._vocabulary
                )
                self._order = (
                    [member.start for member in self._members.values()],
                    list(self._members),
                )
            return self._members, self._tables, *self._order

    def chunk(self, row: int) -> Chunk:
        """The chunk at a row, as JSON keeps it.

        Tuples in `extras` have become lists. It is the store's own: do not change its `extras`.
        """
        return self._row(row).chunk

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        """The chunks of a document, or all, in row order.

        Raises InvalidParameter for a document that is not there.
        """
        members = self._ready()[0]
        if doc_id is not None and doc_id not in members:
            raise InvalidParameter(
                "doc_id must be the id of a document that is in the index, or None for all; got "
                f"{doc_id!r}. `document_ids` lists them."
            )
        documents = members.values() if doc_id is None else [members[doc_id]]
        chunks: list[Chunk] = []
        for member in documents:
            rows = range(member.first, member.first + member.n_rows)
            chunks.extend(member.rows[row].chunk for row in rows)
        return chunks

    def view_text(self, row: int, view: str) -> str | None:
        """The index text of a chunk in a view; None without one."""
        return self._row(row).texts[check_choice("view", view, self.views)]

    def _row(self, row: int) -> Row:
        members, tables, starts, names = self._ready()
        if not 0 <= row < tables.n_rows:
            raise InvalidParameter(f"row must be from 0 to {tables.n_rows - 1}; got {row!r}.")
        member = members[names[bisect_right(starts, row) - 1]]
        return member.rows[member.first + row - member.start]

    def row_of(self, chunk_id: str) -> int | None:
        """The row of a chunk; None without one of this id.

        Of equal ids in several documents the first counts. The first call after a change reads all
        chunks once.
        """
        self._ready()
        with self._lock:
            if self._row_of is None:
                self._row_of = {self.chunk(row).id: row for row in reversed(range(len(self)))}
            return self._row_of.get(chunk_id)

    def select(self, where: Where) -> Selection | None:
        """The rows that a condition allows; None for all.

        `where` is None, a dict of conditions such as `{"doc_id": "report"}` or `{"year": [2020,
        2021]}` on the documents' ids and metadata (`select_rows` has the rules), or a callable that
        is given a document's metadata and "doc_id" as one dict. Raises InvalidParameter for a key
        that no document has.
        """
        if where is None:
            return None
        members, tables = self._ready()[:2]
        if isinstance(where, slice | np.ndarray):
            return check_selection(where, tables.n_rows)
        return select_rows(members, tables.n_rows, where)

    def search_dense(
        self, view: str, vector: ArrayLike, n: int, where: Where = None
    ) -> list[tuple[int, float]]:
        """The best rows of a view by cosine, as (row, score) pairs.

        Equal scores are ordered by row; chunks without a vector are not found. Raises InvalidAnswer
        for a query vector of another dimension or with NaN or infinity.
        """
        tables = self._searchable(view, n)
        return tables.dense[view].search(vector, n, self.select(where))

    def search_lexical(
        self, view: str, query: str, n: int, where: Where = None
    ) -> list[tuple[int, float]]:
        """The best rows of a view by BM25, as (row, score) pairs.

        Equal scores are ordered by row.         Only scores above 0 are found; with
        `lexical="okapi"` every chunk that has the view is ranked.
        """
        tables = self._searchable(view, n)
        return tables.lexical[view].search(query, n, self.select(where))

    def _searchable(self, view: str, n: int) -> Tables:
        check_choice("view", view, self.views)
        check_at_least("n", n, 0)
        return self._ready()[1]

    def replace_vectors(self, view: str, matrix: ArrayLike, owner: ArrayLike) -> None:
        """Give a view other vectors, all at once.

        For embedders that are refitted on the whole corpus.

        `matrix` (m, d) of any d, `owner` (m,) the rows they belong to, ascending. Raises
        InvalidAnswer and changes nothing if they are unusable.
        """
        check_choice("view", view, self.views)
        unit = unit_vectors(matrix, dtype=self.settings.dtype, view=view)
        with self._lock:
            members, tables = self._ready()[:2]
            rows = check_owner(owner, len(unit), tables.n_rows, view=view)
            dense = DenseIndex(unit, rows, view=view)
            replaced = {}
            for name, member in members.items():
                widths = {other: width for other, width in member.widths.items() if other != view}
                low, high = np.searchsorted(rows, (member.start, member.stop))
                if low < high:
                    widths[view] = dense.dimension
                replaced[name] = replace(member, widths=widths)
            self._members, self._tables = (
                replaced,
                replace(tables, dense={**tables.dense, view: dense}),
            )

    def save(
        self, path: str | os.PathLike[str], *, config: Mapping[str, Any] | None = None
    ) -> None:
        """Write the store to a folder.

        An index that is there is replaced when the new one is complete.

        `config` (JSON values) replaces the store's own. Raises InvalidParameter if `path` holds
        something else.
        """
        if config is not None:
            self.config = plain_json(dict(config), "config")
        with self._lock:
            members, tables = self._ready()[:2]
            save_store(path, self.settings, members.values(), tables, self._vocabulary, self.config)

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False) -> Store:
        """Open a saved store, which can be changed and saved again.

        Arrays and chunks are memory-mapped, nothing is rebuilt.

        `verify` compares the checksums of all files, not only the small ones. Raises IndexDamaged
        if there is no index, or it is not ours, incomplete, altered or of a newer release.
        """
        settings, members, tables, vocabulary, config = load_store(path, verify=verify)
        store = cls(settings.views)
        store.settings, store.config = settings, config
        store._members, store._tables, store._vocabulary = members, tables, vocabulary
        store._order = ([member.start for member in members.values()], list(members))
        return store
