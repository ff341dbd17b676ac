"""What each route brings to a hit's score, so that the page can show it as a bar."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from structrag.chunks.given import GivenChunks
from structrag.index.index import Index
from structrag.records import Chunk, Document, Hit
from structrag.retrieval.fusion import maxnorm, minmax
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.hiqa.scores import ROUTES as HIQA_ROUTES
from structrag.retrieval.multiview import POOL, MultiViewRetriever

Shares = Mapping[str, Mapping[str, float]]  # route -> chunk id -> what it adds to the score


def search_chunks(
    name: str,
    documents: Sequence[Document],
    chunks: Sequence[tuple[Chunk, ...]],
    query: str,
    k: int,
    embedder: Any = None,
) -> dict[str, Any]:
    """The best `k` of the chunks of all documents for a query, with what each route brings to each.

    `routes` are names; every hit has its `document` and `chunk` by number, `score`, and by route
    `shares`, which add up to the score, and `ranks` (None: the route did not find it).
    """
    given = dict(zip([document.id for document in documents], chunks, strict=True))
    index = Index(embedder=embedder, splitter=GivenChunks(given))
    index.add(documents)
    hits: list[Hit]
    if name == "hiqa":
        hits = HiQARetriever(index, k=k).search(query)
        shares: Shares = {
            route: {hit.chunk.id: hit.scores[route] for hit in hits} for route in HIQA_ROUTES
        }
    else:
        retriever = MultiViewRetriever(index, k=k)
        hits = retriever.search(query)
        shares = multiview_shares(index, retriever.routes, query, k)
    places = {
        chunk.id: (number, position)
        for number, found in enumerate(chunks)
        for position, chunk in enumerate(found)
    }
    return {
        "retriever": "HiQARetriever" if name == "hiqa" else "MultiViewRetriever",
        "embedder": index.embedder.name,
        "routes": list(shares),
        "hits": [
            {
                "document": places[hit.chunk.id][0],
                "chunk": places[hit.chunk.id][1],
                "score": hit.score,
                "shares": [shares[route].get(hit.chunk.id, 0.0) for route in shares],
                "ranks": [hit.routes.get(route) for route in shares],
            }
            for hit in hits
        ],
    }


def multiview_shares(index: Index, routes: Sequence[str], query: str, k: int) -> Shares:
    """What each route adds to the score of every chunk it found, as `MultiViewRetriever` with
    fusion "minmax" adds it up."""
    shares: dict[str, dict[str, float]] = {}
    for name in routes:
        route, view = name.split(":")
        found = index.search(query, max(POOL, k + 1), view=view, route=route)
        normalise = maxnorm if route == "bm25" else minmax
        scores = normalise([hit.score for hit in found]).tolist()
        shares[name] = {hit.chunk.id: score for hit, score in zip(found, scores, strict=True)}
    return shares
