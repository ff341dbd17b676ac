"""From a place in a document to the chunk that holds it."""

from __future__ import annotations

from bisect import bisect_right

from structrag.index.routes import row_numbers
from structrag.index.store import Store
from structrag.records import Chunk


def chunk_at(store: Store, doc_id: str, start: int, end: int) -> Chunk | None:
    """The chunk of a document that holds the characters `[start, end)`; None if there is no such
    document, or no one chunk that does.

    Of chunks that overlap, the last one that begins at or before `start` counts.
    """
    if doc_id not in store:
        return None
    rows = row_numbers(store.select({"doc_id": doc_id}), len(store))
    place = bisect_right(rows, start, key=lambda row: store.chunk(row).start) - 1
    chunk = store.chunk(rows[place]) if place >= 0 else None
    return chunk if chunk is not None and end <= chunk.end else None
