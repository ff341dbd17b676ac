"""A search over the chunks of a page, for its hits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from structrag.chunks.given import GivenChunks
from structrag.index.index import Index
from structrag.records import Chunk, Document
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.hiqa.scores import ROUTES as HIQA_ROUTES
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.retrieval.retriever import Retriever


def search_chunks(
    name: str,
    documents: Sequence[Document],
    chunks: Sequence[tuple[Chunk, ...]],
    query: str,
    k: int,
    embedder: Any = None,
) -> dict[str, Any]:
    """The best `k` of the chunks of all documents for a query.

    `routes` are names. Every hit has its `document` and `chunk` by number, `score`, and by route
    `shares`, which add up to the score, and `ranks` (None: the route did not find it).
    """
    by_document = dict(zip([document.id for document in documents], chunks, strict=True))
    index = Index(embedder=embedder, splitter=GivenChunks(by_document))
    index.add(documents)
    retriever, routes = _retriever(name, index)
    hits = retriever.search(query, k)
    places: dict[str, tuple[int, int]] = {}
    for number, of_document in enumerate(chunks):
        for position, chunk in enumerate(of_document):
            places[chunk.id] = (number, position)
    records = []
    for hit in hits:
        document, position = places[hit.chunk.id]
        records.append(
            {
                "document": document,
                "chunk": position,
                "score": hit.score,
                "shares": [hit.parts.get(route, 0.0) for route in routes],
                "ranks": [hit.routes.get(route) for route in routes],
            }
        )
    return {
        "retriever": type(retriever).__name__,
        "embedder": index.embedder.name,
        "routes": list(routes),
        "hits": records,
    }


def _retriever(name: str, index: Index) -> tuple[Retriever, Sequence[str]]:
    """The retriever that fits a method's chunks, and its routes."""
    if name == "hiqa":
        return HiQARetriever(index), HIQA_ROUTES
    retriever = MultiViewRetriever(index)
    return retriever, retriever.routes
