"""What stands beside a hit in its document."""

from __future__ import annotations

from structrag.index.corpus import CorpusReader
from structrag.records import Chunk


def beside(reader: CorpusReader, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
    """The chunks of an index before and behind a chunk of it.

    None where the document begins or ends, and twice for a chunk that is not in the index. Of
    paragraphs that were joined (`extras["paragraphs"]`) what is beside all of them.
    """
    names = chunk.extras.get("paragraphs") or [chunk.id]
    first, last = reader.row_of(names[0]), reader.row_of(names[-1])
    if first is None or last is None:
        return None, None
    rows = reader.rows_of(chunk.doc_id)
    return (
        reader.chunk(first - 1) if first - 1 in rows else None,
        reader.chunk(last + 1) if last + 1 in rows else None,
    )
