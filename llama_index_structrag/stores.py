"""A LlamaIndex vector store in place of the index's own vectors."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    RelatedNodeInfo,
    TextNode,
)
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    MetadataFilter,
    MetadataFilters,
    VectorStoreQuery,
    VectorStoreQueryResult,
)

from structrag.errors import InvalidParameter
from structrag.index.entries import Entry
from structrag.index.index import Index
from structrag.integrations.documents import stable_uuid
from structrag.integrations.metadata import DOCUMENT_KEY, VIEW_KEY
from structrag.integrations.stores import (
    TOGETHER,
    HostStore,
    Match,
    documents_of,
    entry_vectors,
    rank_scores,
    store_metadata,
    stored_chunk,
    view_of,
)
from structrag.model_calls.calling import call_store
from structrag.model_calls.requests import Search
from structrag.model_calls.texts import batches_of

_SEPARATOR = "\x1f"


@dataclass
class LlamaIndexDenseStore(HostStore):
    """Keeps one node per (chunk, view) in a vector store.

    With the vector that the index made (one per window of a long text). Nodes have their own
    metadata keys and belong to the reference document "structrag:<document id>", so that other
    nodes in the store are neither found nor deleted. One index a store, which must filter by
    equality, as nearly all do.

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
        if not filters_by_metadata(self.vector_store):
            raise InvalidParameter(
                "vector_store must filter by metadata; "
                f"{type(self.vector_store).__name__} cannot. Use the index's own vectors (leave "
                "vector_store out) or another store."
            )

    def put(self, entry: Entry) -> None:
        """Add the vectors of a document."""
        nodes = _nodes(entry, self.vector_store.stores_text)
        for batch in batches_of(nodes, TOGETHER):
            self._call("add", "async_add", batch)

    def delete(self, doc_id: str, entry_keys: Sequence[tuple[str, str]]) -> None:
        """Remove a document; its nodes go by their reference to it."""
        self._call("delete", "adelete", _reference(doc_id))

    def _call(self, method: str, amethod: str, argument: Any) -> None:
        """Call the store, by the async method where it has one of its own."""
        call = getattr(self.vector_store, method)
        if _is_inherited(self.vector_store, amethod):
            call(argument)
        else:
            call_store(call, getattr(self.vector_store, amethod), argument)

    @property
    def label(self) -> str:
        """How errors name it."""
        return f"vector store {type(self.vector_store).__name__}"

    def found(self, request: Search, n: int) -> list[Match]:
        return _matches(self.vector_store.query(self._query(request, n)), request)

    async def afound(self, request: Search, n: int) -> list[Match]:
        query = self._query(request, n)
        if _is_inherited(self.vector_store, "aquery"):
            result = await asyncio.to_thread(self.vector_store.query, query)
        else:
            result = await self.vector_store.aquery(query)
        return _matches(result, request)

    def _query(self, request: Search, n: int) -> VectorStoreQuery:
        filters = [MetadataFilter(key=VIEW_KEY, value=view_of(request))]
        documents = documents_of(self.index, request)
        # Not all stores know "one of several".
        if documents is not None and len(documents) == 1:
            filters.append(MetadataFilter(key=DOCUMENT_KEY, value=documents[0]))
        return VectorStoreQuery(
            query_embedding=None if request.vector is None else request.vector.tolist(),
            similarity_top_k=n,
            query_str=request.query,
            filters=MetadataFilters(filters=list(filters)),
        )


def _is_inherited(store: BasePydanticVectorStore, method: str) -> bool:
    return getattr(type(store), method) is getattr(BasePydanticVectorStore, method)


def filters_by_metadata(store: BasePydanticVectorStore) -> bool:
    """Try by a query of one number whether a store takes filters."""
    filters = MetadataFilters(filters=[MetadataFilter(key=VIEW_KEY, value="")])
    query = VectorStoreQuery(query_embedding=[0.0], similarity_top_k=1, filters=filters)
    # Any other complaint is about this query, or of a store that is still empty.
    with suppress(Exception):
        try:
            store.query(query)
        except (NotImplementedError, ValueError) as error:
            return "filter" not in str(error)
    return True


def _matches(result: VectorStoreQueryResult, request: Search) -> list[Match]:
    """Results of the store as the core takes them."""
    ids = list(result.ids or ())
    scores = list(result.similarities or rank_scores(len(ids)))
    if result.nodes:
        view = view_of(request)
        names = [stored_chunk(node.metadata, view) for node in result.nodes]
    else:  # a store that gives nothing but ids back, which are made of parts then
        names = [name.split(_SEPARATOR)[0] for name in ids]
    return [(name, float(score)) for name, score in zip(names, scores, strict=True)]


def _nodes(entry: Entry, stores_text: bool) -> list[BaseNode]:
    """One node for each vector. Its id is a UUID, which some stores demand. For stores that give
    nothing but ids back it is made of the parts."""
    nodes: list[BaseNode] = []
    for chunk, view, number, text, vector in entry_vectors(entry):
        parts = (chunk.id, view, str(number))
        source = RelatedNodeInfo(node_id=_reference(chunk.doc_id))
        node = TextNode(
            id_=stable_uuid(*parts) if stores_text else _SEPARATOR.join(parts),
            text=text,
            embedding=vector,
            metadata=store_metadata(chunk, view),
            relationships={NodeRelationship.SOURCE: source},
        )
        nodes.append(node)
    return nodes


def _reference(doc_id: str) -> str:
    return f"structrag:{doc_id}"
