"""Chunks and hits as LangChain documents."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from langchain_core.documents import Document

import structrag.records as core
from structrag.hosts.documents import stable_uuid
from structrag.hosts.metadata import (
    CHUNK_KEY,
    DOCUMENT_KEY,
    context_notes,
    heading_notes,
    oversize_notes,
    source_notes,
)
from structrag.hosts.segments import indexed_segments
from structrag.hosts.trimming import trimmed
from structrag.index.store import Store


def chunk_document(
    parent: Document,
    source: core.Document,
    chunk: core.Chunk,
    key: str,
    *,
    strip: bool,
    context: bool,
    flat: bool,
) -> Document:
    """One chunk as a LangChain document; the parent's metadata is copied, ours is added.

    `key` tells the parent apart, `strip` leaves out white space around the content, `context` puts
    the chunk's context in front, `flat` makes the heading path one string.
    """
    if strip:
        chunk = trimmed(chunk)
    metadata: dict[str, Any] = {
        **deepcopy(parent.metadata),
        "start_index": chunk.start,
        "end_index": chunk.end,
        **heading_notes(chunk, flat=flat),
        **source_notes(chunk, source),
        **(context_notes(chunk) if context else {}),
        **oversize_notes(chunk),
    }
    lead = f"{chunk.context}\n" if context and chunk.context else ""
    name = stable_uuid(source.id, key, chunk.start, chunk.end)
    return Document(page_content=lead + chunk.text, metadata=metadata, id=name)


def hit_document(hit: core.Hit, store: Store) -> Document:
    """A hit as a LangChain document: the text without blank lines before and white space after it,
    offsets moved with it, JSON metadata."""
    chunk = trimmed(hit.chunk)
    metadata = {
        **store.document(chunk.doc_id).meta,
        "doc_id": chunk.doc_id,
        **heading_notes(chunk, flat=False),
        "start_index": chunk.start,
        "end_index": chunk.end,
        "score": float(hit.score),
        "rank": hit.rank,
        **oversize_notes(chunk),
        **source_notes(chunk),
    }
    return Document(page_content=chunk.text, metadata=metadata, id=chunk.id)


def segment_documents(store: Store, view: str) -> list[Document]:
    """Every chunk as what is indexed of it in a view, with the ids that lead back to it; chunks
    without the view are left out."""
    documents = []
    for chunk, text in indexed_segments(store, view):
        ids = {CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id}
        metadata = {**store.document(chunk.doc_id).meta, **ids}
        documents.append(Document(page_content=text, metadata=metadata, id=chunk.id))
    return documents
