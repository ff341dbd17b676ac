"""A search over the chunks of a page, for its hits."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from structrag.errors import InvalidParameter, StructragError
from structrag.evaluation.passages import Passages
from structrag.evaluation.searched import GivenChunks
from structrag.index.index import Index
from structrag.model_calls.requests import Progress
from structrag.reading.paging import PAGE_STARTS
from structrag.reading.pdf.boxes import page_image
from structrag.records import Chunk, Document, Hit
from structrag.retrieval.evidence.matching import SentenceMatch
from structrag.retrieval.hiqa.retriever import HiQARetriever
from structrag.retrieval.hiqa.scores import ROUTES as HIQA_ROUTES
from structrag.retrieval.multiview import MultiViewRetriever
from structrag.retrieval.retriever import Retriever
from structrag.text.terms import stems


def search_chunks(
    name: str,
    documents: Sequence[Document],
    chunks: Sequence[tuple[Chunk, ...]],
    query: str,
    k: int,
    embedder: Any = None,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """The best `k` of the chunks of all documents for a query.

    `routes` are names. Every hit has its `document` and `chunk` by number, `score`, and by route
    `shares`, which add up to the score, and `ranks` (None: the route did not find it).
    """
    by_document = dict(
        zip([document.id for document in documents], chunks, strict=True)
    )
    chosen = GivenChunks(by_document)
    index = Index(embedder=embedder, splitter=chosen, progress=progress)
    index.add(documents)
    retriever, routes = _retriever(name, index)
    hits = retriever.search(query, k)
    places: dict[str, tuple[int, int]] = {}
    for number, of_document in enumerate(chunks):
        for position, chunk in enumerate(of_document):
            places[chunk.id] = (number, position)
    records = []
    for hit in hits:
        ranks = [hit.routes.get(route) for route in routes]
        place = places[hit.chunk.id]
        shown = _hit(hit, place, routes, documents[place[0]])
        records.append({**shown, "ranks": ranks})
    return {
        "retriever": type(retriever).__name__,
        "embedder": index.embedder.name,
        "routes": list(routes),
        "hits": records,
    }


def _hit(
    hit: Hit, place: tuple[int, int], routes: Sequence[str], document: Document
) -> dict[str, Any]:
    """Return the fields that the page shows of every hit. `place` has the numbers of its document
    and chunk. One in a PDF has a `picture` of the page, where its file can be read."""
    number, chunk = place
    picture = b""
    if PAGE_STARTS in document.meta:
        with suppress(StructragError):
            picture = page_image(document, hit)
    return {
        "document": number,
        "chunk": chunk,
        "score": hit.score,
        "shares": [hit.parts.get(route, 0.0) for route in routes],
        "picture": b64encode(picture).decode(),
    }


def search_passages(
    name: str,
    passages: Passages,
    documents: Sequence[Document],
    query: str,
    k: int,
    embedder: Any = None,
    progress: Progress | None = None,
) -> tuple[list[list[Chunk]], dict[str, Any]]:
    """The best `k` passages of all documents.

    By document in reading order, and as hits. A hit's `sentences` say what matches the words of the
    query in each of them. Words that are left out of searches by terms, such as "the", are not
    among them.

    Raises:
        InvalidParameter: the query is blank.
    """
    if not query.strip():
        raise InvalidParameter(
            f"{name} finds passages for a question; pass a query (-q), or leave {name} out."
        )
    retriever = passages.retriever(documents, embedder, progress)
    hits = retriever.search(query, k)
    explained = retriever.explain(query, hits)
    numbers = {document.id: number for number, document in enumerate(documents)}
    chunks: list[list[Chunk]] = [[] for _ in documents]
    for hit in hits:
        chunks[numbers[hit.chunk.doc_id]].append(hit.chunk)
    for of_document in chunks:
        of_document.sort(key=lambda chunk: chunk.start)
    routes = list(hits[0].parts) if hits else []
    language = retriever.read_options.language
    texts = [document.text for document in documents]
    records = []
    for hit, sentences in zip(hits, explained, strict=True):
        number = numbers[hit.chunk.doc_id]
        place = (number, chunks[number].index(hit.chunk))
        matches = [
            _sentence(sentence, texts[number], language) for sentence in sentences
        ]
        shown = _hit(hit, place, routes, documents[number])
        records.append({**shown, "ranks": None, "sentences": matches})
    encoder = retriever.token_encoder or retriever.embedder
    search = {
        "retriever": type(retriever).__name__,
        "embedder": encoder.name if encoder is not None else "",
        "routes": routes,
        "words": True,
        "hits": records,
    }
    return chunks, search


def _sentence(sentence: SentenceMatch, text: str, language: str) -> dict[str, Any]:
    words = [
        asdict(word) for word in sentence.words if stems(word.word, language=language)
    ]
    for word in words:
        word["similarity"] = round(word["similarity"], 3)
        if not stems(text[word["start"] : word["end"]], language=language):
            word["end"] = word["start"]  # a comma or "the" is no match to look at
    return {
        "start": sentence.start,
        "end": sentence.end,
        "score": sentence.score,
        "words": words,
    }


def _retriever(name: str, index: Index) -> tuple[Retriever, Sequence[str]]:
    """The retriever that fits a method's chunks, and its routes."""
    if name == "hiqa":
        return HiQARetriever(index), HIQA_ROUTES
    retriever = MultiViewRetriever(index)
    return retriever, retriever.routes
