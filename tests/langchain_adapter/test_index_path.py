"""Retrievers index the heading path with every splitter of this package, and show texts without
it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from langchain_core.documents import Document
from langchain_fakes import EMBEDDING

from langchain_structrag import (
    ContentAwareTextSplitter,
    MultiViewRetriever,
)

TITLES = [
    "Handbook of the CA-300 water pump",
    "Maintenance by trained staff",
    "Replacing the filter cartridge",
    "Every week",
]
HEADINGS = [f"{'#' * level} {title}\n\n" for level, title in enumerate(TITLES, start=1)]
TEXT = "Some words.\n\n".join(HEADINGS) + "Do it with care.\n\n# End\n\nBye.\n"
DOCUMENTS = [Document(TEXT, metadata={"source": "pump.md"})]


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
