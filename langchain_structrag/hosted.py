"""LangChain retrievers as retrievers of the core, for the parts that search several times."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_structrag.callbacks import inner_config
from langchain_structrag.conversion import digest, document_id
from structrag.errors import InvalidParameter
from structrag.hosts.retrievers import HostRetriever, passage
from structrag.records import Chunk, Hit
from structrag.retrieval.retriever import Retriever


def stepped(retriever: BaseRetriever) -> tuple[Retriever, Callable[[Hit], Document]]:
    """A LangChain retriever as the core's multi-hop parts take it, and how its hits become
    documents.

    Raises InvalidParameter for anything else.
    """
    if not isinstance(retriever, BaseRetriever):
        raise InvalidParameter(
            f"retriever must be a LangChain retriever; got {type(retriever).__name__}."
        )
    own = getattr(retriever, "_stepped", None)
    if own is not None:
        return own()  # type: ignore[no-any-return]
    host = HostRetriever(
        type(retriever).__name__,
        lambda question: retriever.invoke(question, inner_config()),
        lambda question: retriever.ainvoke(question, inner_config()),
        chunk_of,
    )
    return host, document_of


def chunk_of(document: Document) -> Chunk:
    """A result of another retriever as a chunk; where its metadata has a heading path, that is its
    context."""
    return passage(
        str(document.id or digest(document)),
        document_id(document),
        document.page_content,
        start=document.metadata.get("start_index"),
        path=document.metadata.get("heading_path"),
        extras={"id": document.id, "metadata": document.metadata},
    )


def document_of(hit: Hit) -> Document:
    """The document that `chunk_of` made the hit's chunk of."""
    extras = hit.chunk.extras
    return Document(
        page_content=hit.chunk.text, metadata=deepcopy(dict(extras["metadata"])), id=extras["id"]
    )
