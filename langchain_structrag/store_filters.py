"""How LangChain's stores are asked for some entries. Those of one view and of some documents. Each
has a filter language of its own. A store without one here is asked for more than is needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any

from langchain_core.documents import Document

from structrag.integrations.metadata import DOCUMENT_KEY, VIEW_KEY

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
