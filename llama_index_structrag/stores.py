"""A LlamaIndex vector store in place of the index's own vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from llama_index.core.schema import NodeRelationship, RelatedNodeInfo, TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from llama_index_structrag.settings import stable_id
from structrag.asking.requests import Ranking, Search
from structrag.errors import InvalidParameter
from structrag.hosts.metadata import CHUNK_KEY, DOCUMENT_KEY, VIEW_KEY
from structrag.index.entries import Entry
from structrag.index.index import Index

_SEPARATOR = "\x1f"


@dataclass
class LlamaIndexDenseStore:
    """Keeps one node per (chunk, view) in a vector store, with the vector that the index made (one
    per window of a long text).

    Nodes have their own metadata keys and belong to the reference document "structrag:<document
    id>", so that other nodes in the store are neither found nor deleted. One index a store, which
    must filter by equality, as nearly all do.

    Attributes:
        vector_store: The store.
        index: The index whose store this is; set once that is made.
    """

    vector_store: BasePydanticVectorStore
    index: Index | None = field(default=None, repr=False)
    wants_vectors: bool = True

    def __post_init__(self) -> None:
        if not isinstance(self.vector_store, BasePydanticVectorStore):
            raise InvalidParameter(
                "vector_store must be a LlamaIndex BasePydanticVectorStore; got "
                f"{type(self.vector_store).__name__}."
            )

    def put(self, entry: Entry) -> None:
        """Add the vectors of a document."""
        nodes = [
            node
            for view in entry.vectors
            for node in _nodes(entry, view, self.vector_store.stores_text)
        ]
        if nodes:
            self.vector_store.add(nodes)

    def delete(self, entry_keys: Sequence[tuple[str, str]]) -> None:
        """Remove the documents that the (chunk id, view) belong to."""
        store = self.index.store if self.index is not None else None
        rows = {store.row_of(chunk_id) for chunk_id, _ in entry_keys} if store else set()
        for doc_id in sorted(
            {store.chunk(row).doc_id for row in rows if store and row is not None}
        ):
            self.vector_store.delete(_reference(doc_id))

    def search(self, request: Search) -> Ranking:
        """The best chunks of the view, each once, with the store's similarities; none without a
        query vector."""
        pages = self._pages(request)
        query, ranking = next(pages)
        while query is not None:
            query, ranking = pages.send(self.vector_store.query(query))
        return ranking

    async def asearch(self, request: Search) -> Ranking:
        """`search` by the store's own async query; in a worker thread where it has none."""
        if type(self.vector_store).aquery is BasePydanticVectorStore.aquery:
            return await asyncio.to_thread(self.search, request)
        pages = self._pages(request)
        query, ranking = next(pages)
        while query is not None:
            query, ranking = pages.send(await self.vector_store.aquery(query))
        return ranking

    def _pages(
        self, request: Search
    ) -> Generator[tuple[VectorStoreQuery | None, Ranking], VectorStoreQueryResult, None]:
        """Yields (the next query, []) and is sent its result, until there are enough; at last
        (None, the ranking)."""
        if self.index is None or request.vector is None or not len(self.index):
            yield None, []
            return
        allowed = self._allowed(self.index, request.where)
        view = request.route.partition(":")[2]
        ask = request.n
        while True:
            result = yield _query(request, view, ask), []
            ranking = self._kept(result, allowed)[: request.n]
            if len(ranking) >= min(request.n, len(allowed)) or len(result.ids or ()) < ask:
                yield None, ranking
                return
            ask *= 2

    def _allowed(self, index: Index, where: Any) -> set[int]:
        """The rows of the index that `where` selects."""
        rows = np.arange(len(index))
        selection = index.store.select(where)
        return set((rows if selection is None else rows[selection]).tolist())

    def _kept(self, result: VectorStoreQueryResult, allowed: set[int]) -> Ranking:
        ids = list(result.ids or ())
        nodes = list(result.nodes or ())
        scores = list(result.similarities or [1.0 / rank for rank in range(1, len(ids) + 1)])
        best: dict[str, float] = {}
        for i, score in enumerate(scores):
            chunk_id = str(nodes[i].metadata[CHUNK_KEY]) if nodes else ids[i].split(_SEPARATOR)[0]
            row = self.index.store.row_of(chunk_id) if self.index is not None else None
            if row in allowed and chunk_id not in best:
                best[chunk_id] = float(score)
        return list(best.items())


def _nodes(entry: Entry, view: str, stores_text: bool) -> Iterator[TextNode]:
    """One node a vector. Its id is a UUID, which some stores demand; for stores that give nothing
    but ids back, the parts."""
    given = entry.vectors[view]
    numbers: dict[int, int] = {}
    for owner, vector in zip(
        np.asarray(given.owner).tolist(), np.asarray(given.matrix), strict=True
    ):
        numbers[owner] = numbers.get(owner, -1) + 1
        chunk = entry.chunks[owner]
        parts = (chunk.id, view, str(numbers[owner]))
        yield TextNode(
            id_=stable_id(*parts) if stores_text else _SEPARATOR.join(parts),
            text=entry.views[view][owner] or "",
            embedding=vector.tolist(),
            metadata={VIEW_KEY: view, CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id},
            relationships={
                NodeRelationship.SOURCE: RelatedNodeInfo(node_id=_reference(chunk.doc_id))
            },
        )


def _reference(doc_id: str) -> str:
    return f"structrag:{doc_id}"


def _query(request: Search, view: str, n: int) -> VectorStoreQuery:
    filters = [MetadataFilter(key=VIEW_KEY, value=view)]
    if isinstance(request.where, dict) and isinstance(request.where.get("doc_id"), str):
        filters.append(MetadataFilter(key=DOCUMENT_KEY, value=request.where["doc_id"]))
    return VectorStoreQuery(
        query_embedding=[float(value) for value in request.vector]
        if request.vector is not None
        else None,
        similarity_top_k=n,
        query_str=request.query,
        filters=MetadataFilters(filters=list(filters)),
    )
