"""Chunks made before, in place of a splitter."""

from __future__ import annotations

import pytest

from structrag.evaluation.searched import GivenChunks
from structrag.records import Chunk, Document


def test_the_chunks_of_a_document_are_given_as_they_are() -> None:
    chunks = (
        Chunk("d:0-4", "d", "s", 0, 4, "Nova"),
        Chunk("d:4-8", "d", "s", 4, 8, " two"),
    )
    splitter = GivenChunks({"d": chunks, "e": ()})
    assert splitter.split(Document("Nova two", id="d")) == list(chunks)
    assert splitter.split(Document("", id="e")) == []
    with pytest.raises(KeyError):
        splitter.split(Document("x", id="f"))
