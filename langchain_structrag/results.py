"""Chunks and hits as LangChain documents."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from langchain_core.documents import Document

import structrag.records as core
from langchain_structrag.conversion import stable_uuid
from structrag.hosts.metadata import CHUNK_KEY, DOCUMENT_KEY, SOURCE_KEYS, chunk_notes
from structrag.index.store import Store
from structrag.text.heading_path import SEPARATOR


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
    lead = f"{chunk.context}\n" if context and chunk.context else ""
    start, end = chunk.start, chunk.end
    if strip:
        end -= len(chunk.text) - len(chunk.text.rstrip())
        start += 0 if lead else len(chunk.text) - len(chunk.text.lstrip())
    metadata: dict[str, Any] = {
        **deepcopy(parent.metadata),
        "start_index": start,
        "end_index": end,
        "heading_path": SEPARATOR.join(chunk.path) if flat else list(chunk.path),
        "section_id": chunk.section_id,
    }
    if source.layout is not None:
        to_source = source.layout.source_map.to_source
        metadata |= {"source_start": to_source(start), "source_end": to_source(end - 1) + 1}
    if context and chunk.extras.get("context_shortened"):
        metadata["context_shortened"] = True
    if chunk.extras.get("oversize"):
        metadata["oversize"] = True
    name = stable_uuid(source.id, key, start, end)
    return Document(page_content=lead + source.text[start:end], metadata=metadata, id=name)


def hit_document(hit: core.Hit, store: Store) -> Document:
    """A hit as a LangChain document: the text without white space around it, offsets moved with it,
    JSON metadata."""
    chunk = hit.chunk
    start = chunk.start + len(chunk.text) - len(chunk.text.lstrip())
    text = chunk.text.strip()
    metadata = {
        **store.document(chunk.doc_id).meta,
        "doc_id": chunk.doc_id,
        "heading_path": list(chunk.path),
        "section_id": chunk.section_id,
        "start_index": start,
        "end_index": start + len(text),
        "score": float(hit.score),
        "rank": hit.rank,
        **({"oversize": True} if chunk.extras.get("oversize") else {}),
        **chunk_notes(chunk, SOURCE_KEYS),
    }
    return Document(page_content=text, metadata=metadata, id=chunk.id)


def segment_documents(store: Store, view: str) -> list[Document]:
    """Every chunk as what is indexed of it in a view, with the ids that lead back to it; chunks
    without the view are left out."""
    documents = []
    for row in range(len(store)):
        chunk, text = store.chunk(row), store.view_text(row, view)
        if text:
            metadata = {
                **store.document(chunk.doc_id).meta,
                CHUNK_KEY: chunk.id,
                DOCUMENT_KEY: chunk.doc_id,
            }
            documents.append(Document(page_content=text, metadata=metadata, id=chunk.id))
    return documents
