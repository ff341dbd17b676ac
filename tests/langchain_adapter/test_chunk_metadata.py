"""Metadata that every vector store takes, ids that are different, and splitting what was split."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.indexing import InMemoryRecordManager, index
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_structrag import (
    ContentAwareTextSplitter,
    FixedTextSplitter,
    HiQATransformer,
    IDMSTextSplitter,
    PICTextSplitter,
)

SPLITTERS = [
    ContentAwareTextSplitter,
    partial(ContentAwareTextSplitter, add_context=True),
    FixedTextSplitter,
    PICTextSplitter,
    IDMSTextSplitter,
    partial(IDMSTextSplitter, enrich="both"),
    HiQATransformer,
    partial(HiQATransformer, add_context=True),
]
ROWS = "".join(f"| part {i} | {i} |\n" for i in range(60))
GUIDE = (
    "A preface.\n\n# Guide\n\nPumps move water. Seals leak.\n\n## Cleaning\n\nRinse the filter. "
    f"Dry it.\n\n![Plan](plan.png)\n\n## Parts\n\n| Name | Price |\n|---|---|\n{ROWS}"
)
DOCUMENTS = [
    Document("Just a paragraph.", metadata={"source": "plain.txt"}),
    Document(
        "<h1>Page</h1><p>One &amp; two.</p><p>Three.</p>",
        metadata={"source": "page.html"},
    ),
    Document(GUIDE, metadata={"source": "guide.md"}),
]


@pytest.mark.parametrize("make", SPLITTERS)
def test_no_two_chunks_of_one_call_have_the_same_id(make: Any) -> None:
    same = [*DOCUMENTS, *DOCUMENTS, Document("Terms apply."), Document("Terms apply.")]
    splitter = make(chunk_size=120)
    chunks = splitter.split_documents(same)
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    again = splitter.split_documents(same)
    assert [chunk.id for chunk in again] == [chunk.id for chunk in chunks]
    once = splitter.split_documents(DOCUMENTS)
    assert [chunk.id for chunk in chunks[: len(once)]] == [chunk.id for chunk in once]


async def test_ids_are_different_as_chunks_are_ready() -> None:
    splitter = PICTextSplitter(chunk_size=120)
    chunks = splitter.split_documents([*DOCUMENTS, *DOCUMENTS])
    assert len({chunk.id for chunk in chunks}) == len(chunks)
    assert list(splitter.lazy_split_documents([*DOCUMENTS, *DOCUMENTS])) == chunks
    assert await splitter.asplit_documents([*DOCUMENTS, *DOCUMENTS]) == chunks


def test_splitting_visible_text_of_a_page_again_keeps_the_place_in_the_markup() -> None:
    page = DOCUMENTS[1]
    (parent,) = ContentAwareTextSplitter().split_documents([page])
    pieces = ContentAwareTextSplitter(chunk_size=10).split_documents([parent])
    for piece in pieces:
        assert piece.metadata["heading_path"] == "Page"
        start, end = piece.metadata["source_start"], piece.metadata["source_end"]
        assert "Three" in page.page_content[start:end]  # the parent's own span
    assert pieces[-1].metadata["end_index"] == parent.metadata["end_index"]


def test_ids_of_parts_that_move_stay() -> None:
    def ids(start: int) -> list[str | None]:
        parts = [
            Document("# A\n\nOne.", metadata={"source": "a.md", "start_index": place})
            for place in (start, start + 500)
        ]
        return [one.id for one in ContentAwareTextSplitter().split_documents(parts)]

    assert ids(0) == ids(40) and len(set(ids(0))) == 2


def test_a_place_that_nobody_knows_is_none() -> None:
    parent = Document("# A\n\nOne. Two.", metadata={"start_index": 40, "end_index": 41})
    (piece,) = ContentAwareTextSplitter().split_documents([parent])
    for key in ("start_index", "end_index", "source_start", "source_end"):
        assert piece.metadata[key] == -1
    theirs = Document("# A\n\nOne. Two.", metadata={"start_index": 40})
    (piece,) = ContentAwareTextSplitter().split_documents([theirs])
    assert (piece.metadata["start_index"], piece.metadata["end_index"]) == (40, 54)


def test_a_record_manager_embeds_only_what_changed() -> None:
    splitter = ContentAwareTextSplitter(chunk_size=90, add_start_index=False)
    manager, store = (
        InMemoryRecordManager("test"),
        InMemoryVectorStore(DeterministicFakeEmbedding(size=4)),
    )
    manager.create_schema()

    def run(text: str) -> dict[str, Any]:
        chunks = splitter.split_documents(
            [Document(text, metadata={"source": "guide.md"})]
        )
        result = index(
            chunks, manager, store, cleanup="incremental", source_id_key="source",
            key_encoder="sha256",
        )  # fmt: skip
        return dict(result)

    first = run(GUIDE)
    assert first["num_added"] > 5 and first["num_deleted"] == 0
    assert run(GUIDE)["num_added"] == 0
    second = run(f"A new paragraph.\n\n{GUIDE}")
    assert (second["num_added"], second["num_deleted"]) == (1, 1)
