"""Retrievers index the heading path with every splitter of this package, and show texts without
it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_fakes import EMBEDDING

from langchain_structrag import (
    ContentAwareTextSplitter,
    FixedTextSplitter,
    HiQARetriever,
    HiQATransformer,
    MultiViewRetriever,
)
from structrag import ContentAwareSplitter

TITLES = [
    "Handbook of the CA-300 water pump",
    "Maintenance by trained staff",
    "Replacing the filter cartridge",
    "Every week",
]
HEADINGS = [f"{'#' * level} {title}\n\n" for level, title in enumerate(TITLES, start=1)]
TEXT = "Some words.\n\n".join(HEADINGS) + "Do it with care.\n\n# End\n\nBye.\n"
DOCUMENTS = [Document(TEXT, metadata={"source": "pump.md"})]
SPLITTERS: dict[str, Any] = {
    "content aware": ContentAwareTextSplitter(),
    "small": ContentAwareTextSplitter(chunk_size=1000),
    "with the path in page_content": ContentAwareTextSplitter(add_context=True),
    "fixed within sections": FixedTextSplitter(within_sections=True),
    "hiqa": HiQATransformer(),
    "hiqa with the path in page_content": HiQATransformer(add_context=True),
    "none": None,
}


@pytest.mark.parametrize("kind", [MultiViewRetriever, HiQARetriever])
@pytest.mark.parametrize("name", SPLITTERS)
def test_the_path_is_indexed_whole_and_not_shown(kind: Any, name: str) -> None:
    retriever = kind.from_documents(
        DOCUMENTS, EMBEDDING, splitter=SPLITTERS[name], views=["raw"]
    )
    chunk = next(
        chunk for chunk in retriever.index.chunks() if "with care" in chunk.text
    )
    assert all(title in chunk.index_text for title in TITLES)
    found = next(
        found
        for found in retriever.invoke("cartridge, care", k=9)
        if "with care" in found.page_content
    )
    start, end = found.metadata["start_index"], found.metadata["end_index"]
    assert found.page_content == TEXT[start:end]
    assert found.metadata["heading_path"] == " > ".join(TITLES)


def test_the_splitter_itself_stays_as_it_is() -> None:
    splitter = ContentAwareTextSplitter()
    before = [chunk.page_content for chunk in splitter.split_documents(DOCUMENTS)]
    MultiViewRetriever.from_documents(DOCUMENTS, splitter=splitter)
    assert [
        chunk.page_content for chunk in splitter.split_documents(DOCUMENTS)
    ] == before
    assert not any(
        chunk.metadata.get("table_header")
        for chunk in splitter.split_documents(DOCUMENTS)
    )


def test_the_limit_counts_the_path() -> None:
    splitter = ContentAwareTextSplitter(chunk_size=60)
    long = [
        Document(
            TEXT.replace("Do it with care.", "Do it with care and never in haste. " * 5)
        )
    ]
    retriever = MultiViewRetriever.from_documents(long, splitter=splitter)
    assert (
        max(len(chunk.index_text.strip()) for chunk in retriever.index.chunks()) <= 60
    )


def test_a_splitter_of_the_core_decides_for_itself() -> None:
    retriever = MultiViewRetriever.from_documents(
        DOCUMENTS, splitter=ContentAwareSplitter(context=False)
    )
    assert not any(chunk.context for chunk in retriever.index.chunks())


def test_the_paper_indexes_no_path(tmp_path: Path) -> None:
    options: dict[str, Any] = {
        "splitter": ContentAwareTextSplitter(),
        "preset": "paper",
    }
    retriever = MultiViewRetriever.from_documents(DOCUMENTS, EMBEDDING, **options)
    assert not any(chunk.context for chunk in retriever.index.chunks())
    retriever.save(tmp_path / "index")
    loaded = MultiViewRetriever.load(
        tmp_path / "index", EMBEDDING, splitter=ContentAwareTextSplitter()
    )
    assert loaded.add_documents(DOCUMENTS).unchanged == 1


def test_page_content_begins_with_the_whole_path_where_asked() -> None:
    found = ContentAwareTextSplitter(add_context=True).split_documents(DOCUMENTS)[-2]
    assert found.page_content.startswith(
        "pump > " + " > ".join(TITLES[:3]) + "\n#### Every week"
    )
    assert found.metadata["context_shortened"] is False
