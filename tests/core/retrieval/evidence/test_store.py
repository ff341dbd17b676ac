"""Pieces as rows of a store, and what is read of them for a question."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from doubles import HashTokens

from structrag import EvidenceRetriever, read_text
from structrag.errors import IndexDamaged, InvalidAnswer
from structrag.retrieval.evidence.pieces import documents_of
from structrag.retrieval.evidence.store import FOUND

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


def test_the_place_in_markup_is_kept() -> None:
    page = read_text("<h1>Pumps</h1><p>They &amp; we leak.", id="page", format="html")
    retriever = EvidenceRetriever.from_documents([page], HashTokens())
    stored = documents_of(retriever.store.chunks())["page"]
    assert page.layout is not None and stored.text == page.text.rstrip()
    for start in range(len(stored.text)):
        span = page.layout.source_map.span(start, start + 1)
        assert (
            stored.source is not None and stored.source.span(start, start + 1) == span
        )


def test_of_pieces_apart_the_text_is_at_its_place(many: EvidenceRetriever) -> None:
    chunks = many.store.chunks("d3")
    stored = documents_of([chunks[1], chunks[4]])["d3"]
    for chunk in (chunks[1], chunks[4]):
        assert stored.text[chunk.start : chunk.end] == chunk.text
    between = stored.text[chunks[1].end : chunks[4].start]
    assert between and not between.strip("\0")
    sections = [number for chunk in chunks for number, *_ in chunk.extras["sections"]]
    assert 1 < len(stored.sections) < len(set(sections))


def test_a_piece_of_many_is_found(many: EvidenceRetriever) -> None:
    for number, part in ((0, 0), (7, 5), (13, 12)):
        (hit,) = many.search(f"Valve {number}.{part}", 1)
        assert hit.chunk.path == (f"Valve {number}.{part}",)
        (hit,) = many.search(f"Valve {number}.{part}", 1, where={"half": number % 2})
        assert hit.chunk.doc_id == f"d{number}"


def test_a_question_reads_a_hundred_pieces_those_beside_them_and_a_sample(
    many: EvidenceRetriever,
) -> None:
    level = many.level
    reader = level.reader()
    pool = level.near(reader, range(20, 20 + FOUND), None)
    assert pool is not None and not pool.is_all
    assert FOUND <= len(pool.texts) <= FOUND + 4
    every = level.all_of(reader, None)
    assert every is not None and every.is_all
    assert len(every.texts) == len(many.store)


def test_what_is_asked_inside_a_document_is_all_of_it(many: EvidenceRetriever) -> None:
    where = {"doc_id": "d5"}
    inside = many.level.near(many.level.reader(), (), where)
    assert inside is not None and inside.is_all
    assert {stored.id for stored in inside.documents} == {"d5"}
    alone = EvidenceRetriever(HashTokens())
    alone.store.shared.update(many.store.shared)
    alone.add([read_text(long(5), id="d5")])
    question = "Is valve 5.7 opened by hand?"
    hits, expected = many.search(question, where=where), alone.search(question)
    assert [hit.chunk for hit in hits] == [hit.chunk for hit in expected]
    scores = [hit.score for hit in hits]
    assert scores == pytest.approx([hit.score for hit in expected], abs=0.02)


def test_rows_of_another_release_are_refused() -> None:
    retriever = EvidenceRetriever.from_documents([read_text("It leaks.")], HashTokens())
    reader = retriever.store.reader()
    (row,) = reader.stored_rows([0], ("light", "codes")).values()
    light = bytearray(row.blobs[0])
    light[0] += 1
    altered = replace(row, blobs=[bytes(light), row.blobs[1]])

    class Altered:
        def __getattr__(self, name: str) -> object:
            return getattr(reader, name)

        def __len__(self) -> int:
            return len(reader)

        def stored_rows(self, *_: object) -> dict[int, object]:
            return rows

    rows: dict[int, object] = {0: altered}
    with pytest.raises(IndexDamaged, match="rows that this release cannot read"):
        retriever.level.near(Altered(), [0], None)
    rows.clear()
    with pytest.raises(IndexDamaged, match="has lost a row of an index, 0,"):
        retriever.level.near(Altered(), [0], None)


def test_token_vectors_of_another_length_are_refused() -> None:
    class Wide(HashTokens):
        def embed_tokens(self, texts, *, query=False):  # type: ignore[no-untyped-def]
            return [
                replace(
                    of,
                    vectors=np.repeat(of.vectors, 2, axis=1),
                    vector=np.repeat(of.vector, 2),
                )
                for of in super().embed_tokens(texts, query=query)
            ]

    retriever = EvidenceRetriever.from_documents([read_text("It leaks.")], HashTokens())
    retriever.token_encoder = Wide()
    with pytest.raises(
        InvalidAnswer, match="must have 32 dimensions like those of the"
    ):
        retriever.add([read_text("It hums.", id="other")])
    with pytest.raises(InvalidAnswer, match="index was built with"):
        retriever.search("What leaks?")
