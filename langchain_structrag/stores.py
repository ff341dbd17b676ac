"""A LangChain `VectorStore` in place of the index's own vectors, and the filters that select
entries of one view and of some documents. Each store has a filter language of its own; a store
without a filter here is asked for more results than are needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore

from structrag.errors import InvalidParameter, check_at_least
from structrag.index.entries import Entry
from structrag.index.index import Index
from structrag.integrations.documents import stable_uuid
from structrag.integrations.metadata import DOCUMENT_KEY, VIEW_KEY
from structrag.integrations.stores import (
    TOGETHER,
    HostStore,
    Match,
    as_similarities,
    documents_of,
    entry_texts,
    paged_flow,
    rank_scores,
    store_metadata,
    stored_chunk,
    view_of,
)
from structrag.model_calls.calling import call_store
from structrag.model_calls.requests import Ranking, Search
from structrag.model_calls.texts import batches_of

# From a view and the ids of documents (None: all) to arguments of the store's search.
Names = Sequence[str] | None
StoreFilter = Callable[[str, Names], Mapping[str, Any]]


def known_filter(store: Any) -> StoreFilter | None:
    """The filter of a store that is known by its class's name.

    Or by the name of one of its bases.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> from langchain_core.vectorstores import InMemoryVectorStore
        >>> search_filter = known_filter(InMemoryVectorStore(DeterministicFakeEmbedding(size=4)))
        >>> list(search_filter("raw", None))
        ['filter']
    """
    for base in type(store).__mro__:
        if base.__name__ in _FILTERS:
            return partial(_FILTERS[base.__name__], store)  # which can be pickled
    return None


def _in_memory(store: Any, view: str, documents: Names) -> dict[str, Any]:
    names = None if documents is None else set(documents)

    def belongs(document: Document) -> bool:
        return _belongs(document.metadata, view, names)

    return {"filter": belongs}


def _faiss(store: Any, view: str, documents: Names) -> dict[str, Any]:
    names = None if documents is None else set(documents)

    def belongs(metadata: dict[str, Any]) -> bool:
        return _belongs(metadata, view, names)

    # FAISS filters what it has found, so it has to find all.
    return {"filter": belongs, "fetch_k": max(1, len(store.index_to_docstore_id))}


def _chroma(store: Any, view: str, documents: Names) -> dict[str, Any]:
    of_view = {VIEW_KEY: view}
    if documents is None:
        return {"filter": of_view}
    return {"filter": {"$and": [of_view, {DOCUMENT_KEY: {"$in": list(documents)}}]}}


def _qdrant(store: Any, view: str, documents: Names) -> dict[str, Any]:
    models = import_module("qdrant_client.models")
    prefix = getattr(store, "metadata_payload_key", "metadata")
    key = f"{prefix}.{VIEW_KEY}"
    must = [models.FieldCondition(key=key, match=models.MatchValue(value=view))]
    if documents is not None:
        among = models.MatchAny(any=list(documents))
        must.append(models.FieldCondition(key=f"{prefix}.{DOCUMENT_KEY}", match=among))
    return {"filter": models.Filter(must=must)}


def _milvus(store: Any, view: str, documents: Names) -> dict[str, Any]:
    expression = f"{VIEW_KEY} == {json.dumps(view)}"
    if documents is not None:
        names = json.dumps(list(documents), ensure_ascii=False)
        expression += f" and {DOCUMENT_KEY} in {names}"
    return {"expr": expression}


_FILTERS: Mapping[str, Callable[[Any, str, Names], Mapping[str, Any]]] = {
    "InMemoryVectorStore": _in_memory,
    "FAISS": _faiss,
    "Chroma": _chroma,
    "QdrantVectorStore": _qdrant,
    "Milvus": _milvus,
}


def _belongs(
    metadata: Mapping[str, Any], view: str, documents: set[str] | None
) -> bool:
    of_view = metadata.get(VIEW_KEY) == view
    return of_view and (documents is None or metadata.get(DOCUMENT_KEY) in documents)


@dataclass
class LangChainDenseStore(HostStore):
    """Keeps one document per (chunk, view) in a vector store.

    The store embeds it itself. A search is one call with the store's own filter, by view and, where
    `where` holds for at most 200 documents, by document. A store whose filters are not known is
    asked for more than needed; results outside the view, the index or `where` are dropped, and
    twice as many are requested until there are enough or the store has no more. Other documents in
    the store are left alone and never found.

    Attributes:
        vectorstore: The store. Its ids are UUIDs made from chunk id and view.
        store_filter: From a view and a list of documents' ids (None: all) to arguments of the
            store's search, for the metadata `structrag_view` and `structrag_document`. None: as
            known for Chroma, FAISS, InMemoryVectorStore, Milvus and Qdrant.
        max_results: The most it may be asked for at once, where a service sets such a limit; None:
            no limit.
        index: The index whose store this is; set once it is made.
    """

    vectorstore: VectorStore
    max_results: int | None = None
    store_filter: StoreFilter | None = field(default=None, repr=False)
    index: Index | None = field(default=None, repr=False)
    wants_vectors: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.vectorstore, VectorStore):
            raise InvalidParameter(
                "vectorstore must be a langchain_core VectorStore; got "
                f"{type(self.vectorstore).__name__}."
            )
        if self.max_results is not None:
            check_at_least("max_results", self.max_results, 1)
        self.store_filter = self.store_filter or known_filter(self.vectorstore)

    def put(self, entry: Entry) -> None:
        """Add the views of a document."""
        documents = [
            Document(
                id=entry_id(chunk.id, view),
                page_content=text,
                metadata=dict(store_metadata(chunk, view)),
            )
            for chunk, view, text in entry_texts(entry)
        ]
        for batch in batches_of(documents, TOGETHER):
            ids = [str(document.id) for document in batch]
            # Some stores refuse ids that they have.
            self._delete(self._present(ids) or [])
            store = self.vectorstore
            call_store(store.add_documents, store.aadd_documents, batch, ids=ids)

    def delete(self, doc_id: str, entry_keys: Sequence[tuple[str, str]]) -> None:
        """Remove a document's entries by (chunk id, view). Missing entries are no error if the
        store can tell."""
        for batch in batches_of(entry_keys, TOGETHER):
            ids = [entry_id(chunk_id, view) for chunk_id, view in batch]
            present = self._present(ids)
            self._delete(ids if present is None else present)

    def _present(self, ids: list[str]) -> list[str] | None:
        """The ids that the store has; None where it cannot tell."""
        store = self.vectorstore
        try:
            documents = call_store(store.get_by_ids, store.aget_by_ids, ids)
        except Exception:  # noqa: BLE001 - a store without it raises anything
            return None
        return [str(document.id) for document in documents]

    def _delete(self, ids: list[str]) -> None:
        if ids:
            call_store(self.vectorstore.delete, self.vectorstore.adelete, ids)

    @property
    def label(self) -> str:
        """How errors name it."""
        return f"vector store {type(self.vectorstore).__name__}"

    def found(self, request: Search, n: int) -> list[Match]:
        store, asked = self.vectorstore, self._asked(request, n)
        try:
            scored = store.similarity_search_with_score(**asked)
        except NotImplementedError:
            scored = _ranked(store.similarity_search(**asked))
        return _matches(scored, request)

    async def afound(self, request: Search, n: int) -> list[Match]:
        store, asked = self.vectorstore, self._asked(request, n)
        try:
            scored = await store.asimilarity_search_with_score(**asked)
        except NotImplementedError:
            scored = _ranked(await store.asimilarity_search(**asked))
        return _matches(scored, request)

    def _asked(self, request: Search, n: int) -> dict[str, Any]:
        """Arguments of the store's search."""
        asked = {"query": request.query, "k": n}
        if self.store_filter is None:
            return asked
        documents = documents_of(self.index, request)
        return {**asked, **self.store_filter(view_of(request), documents)}

    def pages(self, request: Search) -> Generator[int, Sequence[Match], Ranking]:
        # Without a filter the store mixes the views, so it is asked for twice as many.
        views = len(self.index.views) if self.index is not None else 1
        first = request.n * (1 if self.store_filter else min(2, views))
        return paged_flow(self.index, request, first=first, most=self.max_results)


def entry_id(chunk_id: str, view: str) -> str:
    """The id of a (chunk, view) in the store."""
    return stable_uuid(chunk_id, view)


def _matches(scored: Sequence[tuple[Document, float]], request: Search) -> list[Match]:
    """Results of the store as the core takes them."""
    view = view_of(request)
    scores = as_similarities([score for _, score in scored])
    return [
        (stored_chunk(document.metadata, view), score)
        for (document, _), score in zip(scored, scores, strict=True)
    ]


def _ranked(documents: Sequence[Document]) -> list[tuple[Document, float]]:
    """The results of a store that gives no scores, with those of their ranks."""
    return list(zip(documents, rank_scores(len(documents)), strict=True))
