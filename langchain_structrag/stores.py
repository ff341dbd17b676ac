"""A LangChain `VectorStore` in place of the index's own vectors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from langchain_structrag.conversion import stable_uuid
from structrag.asking.requests import Ranking, Search
from structrag.errors import InvalidParameter
from structrag.hosts.metadata import CHUNK_KEY, DOCUMENT_KEY, VIEW_KEY
from structrag.index.entries import Entry
from structrag.index.index import Index

Scored = list[tuple[Document, float]]


@dataclass
class LangChainDenseStore:
    """Keeps one document per (chunk, view) in a vector store, which embeds it itself.

    Filters differ from store to store, so a search asks for more than it needs and keeps what
    belongs to the view, to the index and to `where`; it asks for twice as many until there are
    enough or the store has no more. Other documents in the store are left alone and never found.

    Attributes:
        vectorstore: The store. Its ids are UUIDs made from chunk id and view.
        max_results: The most it may be asked for at once, where a service sets such a limit; None:
            no limit.
        index: The index whose store this is; set once it is made.
    """

    vectorstore: VectorStore
    max_results: int | None = None
    index: Index | None = field(default=None, repr=False)
    wants_vectors: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.vectorstore, VectorStore):
            raise InvalidParameter(
                "vectorstore must be a langchain_core VectorStore; got "
                f"{type(self.vectorstore).__name__}."
            )

    def put(self, entry: Entry) -> None:
        """Add the views of a document."""
        documents = [
            Document(
                id=entry_id(chunk.id, view),
                page_content=text,
                metadata={CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id, VIEW_KEY: view},
            )
            for view, texts in entry.views.items()
            for chunk, text in zip(entry.chunks, texts, strict=True)
            if text
        ]
        ids = [str(document.id) for document in documents]
        if ids:
            self._delete(self._present(ids) or [])  # some stores refuse ids that they have
            self.vectorstore.add_documents(documents, ids=ids)

    def delete(self, entry_keys: Sequence[tuple[str, str]]) -> None:
        """Remove entries by (chunk id, view); those that are not there are no error where the store
        can tell."""
        ids = [entry_id(chunk_id, view) for chunk_id, view in entry_keys]
        present = self._present(ids)
        self._delete(ids if present is None else present)

    def _present(self, ids: list[str]) -> list[str] | None:
        """Those of the ids that the store has; None where it cannot tell."""
        try:
            return [str(document.id) for document in self.vectorstore.get_by_ids(ids)]
        except NotImplementedError:
            return None

    def _delete(self, ids: list[str]) -> None:
        if ids:
            self.vectorstore.delete(ids)

    def search(self, request: Search) -> Ranking:
        """The best chunks of the view, best first; scores are the store's, negated where it gives
        distances."""
        paging = _Paging(self, request)
        while paging.ask:
            paging.take(self._found(request.query, paging.ask))
        return paging.ranking

    async def asearch(self, request: Search) -> Ranking:
        """`search` by the store's own async call."""
        paging = _Paging(self, request)
        while paging.ask:
            paging.take(await self._afound(request.query, paging.ask))
        return paging.ranking

    def _found(self, query: str, n: int) -> Scored:
        try:
            return self.vectorstore.similarity_search_with_score(query, k=n)
        except NotImplementedError:
            return _by_rank(self.vectorstore.similarity_search(query, k=n))

    async def _afound(self, query: str, n: int) -> Scored:
        try:
            return await self.vectorstore.asimilarity_search_with_score(query, k=n)
        except NotImplementedError:
            return _by_rank(await self.vectorstore.asimilarity_search(query, k=n))


def entry_id(chunk_id: str, view: str) -> str:
    """The id of a (chunk, view) in the store."""
    return stable_uuid(chunk_id, view)


class _Paging:
    """One search: what to ask the store for next, and the ranking so far."""

    def __init__(self, store: LangChainDenseStore, request: Search) -> None:
        self.limit, self.wanted = store.max_results, request.n
        self.view = request.route.partition(":")[2]
        self.ranking: Ranking = []
        self.ask = 0  # how many to ask for; 0: done
        if store.index is None or not len(store.index) or not request.query.strip():
            return
        self.chunks = store.index.store
        selection = self.chunks.select(request.where)
        self.rows = set(
            np.arange(len(self.chunks))[slice(None) if selection is None else selection].tolist()
        )
        self.ask = self._within(request.n * min(2, len(self.chunks.views)))

    def take(self, found: Scored) -> None:
        """Keep what belongs to the view and the rows; ask for more if that is not enough and there
        may be more."""
        sign = (
            -1.0 if found and found[0][1] < found[-1][1] else 1.0
        )  # best first and rising: these are distances
        rows: dict[str | int, float] = {}
        for document, score in found:
            row = self._row(document.metadata)
            if row is not None:
                rows.setdefault(row, sign * float(score))
        self.ranking = list(rows.items())[: self.wanted]
        complete = len(self.ranking) == min(self.wanted, len(self.rows))
        self.ask = (
            0
            if complete or len(found) < self.ask or self.ask == self.limit
            else self._within(self.ask * 2)
        )

    def _row(self, metadata: Mapping[str, Any]) -> int | None:
        if metadata.get(VIEW_KEY) != self.view or not isinstance(metadata.get(CHUNK_KEY), str):
            return None
        row = self.chunks.row_of(metadata[CHUNK_KEY])
        return row if row in self.rows else None

    def _within(self, ask: int) -> int:
        return min(ask, self.limit or ask)


def _by_rank(documents: Iterable[Document]) -> Scored:
    return [(document, 1.0 / rank) for rank, document in enumerate(documents, start=1)]
