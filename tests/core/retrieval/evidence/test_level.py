"""Pieces as rows of a store, and what is read of them for a question."""

from __future__ import annotations

import pytest
from doubles import HashTokens

from structrag import EvidenceRetriever, read_text
from structrag.retrieval.evidence.level import FOUND

PLACES = 130


def long(number: int) -> str:
    """A document of several pieces."""
    return "\n\n".join(
        f"# Valve {number}.{part}\n\n"
        + f"Valve {number}.{part} is kept dry and is opened by hand. " * 9
        for part in range(PLACES // 10)
    )


@pytest.fixture(scope="module")
def many() -> EvidenceRetriever:
    """An index of more pieces than a question reads."""
    documents = [
        read_text(long(number), id=f"d{number}", meta={"half": number % 2})
        for number in range(14)
    ]
    retriever = EvidenceRetriever.from_documents(documents, HashTokens())
    assert len(retriever.store) > 1.2 * FOUND
    return retriever


def test_a_piece_of_many_is_found(many: EvidenceRetriever) -> None:
    for number, part in ((0, 0), (7, 5), (13, 12)):
        (hit,) = many.search(f"Valve {number}.{part}", 1)
        assert hit.chunk.path == (f"Valve {number}.{part}",)
        (hit,) = many.search(f"Valve {number}.{part}", 1, where={"half": number % 2})
        assert hit.chunk.doc_id == f"d{number}"
