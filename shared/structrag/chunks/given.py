"""Chunks made before, in place of a splitter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from structrag.records import Chunk, Document


@dataclass(frozen=True, slots=True)
class GivenChunks:
    """A splitter that gives chunks made before.

    So chunks of different splitters are searched alike, and what is searched is what is shown.

    Example:
        >>> chunks = {"d": [Chunk("d:0-4", "d", "s", 0, 4, "Nova")]}
        >>> [chunk.text for chunk in GivenChunks(chunks).split(Document("Nova", id="d"))]
        ['Nova']

    Attributes:
        chunks: Document id -> its chunks, in reading order.
        name: What an index knows it by, so that it does not read all chunks to know them again.
    """

    chunks: Mapping[str, Sequence[Chunk]]
    name: str = "chunks made before"

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        return list(self.chunks[document.id])
