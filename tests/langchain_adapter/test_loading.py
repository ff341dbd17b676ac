"""LangChain's loader and parser of files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from langchain_core.document_loaders import Blob
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pdf_making import made, manual

from langchain_structrag import (
    ContentAwareTextSplitter,
    D3Retriever,
    EvidenceRetriever,
    HiQAFormatter,
    MultiViewRetriever,
    StructragLoader,
    StructragParser,
)

MANUAL = "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n"
PAGE = "<title>Tap</title><h1>Tap</h1><h2>Seal</h2><p>The seal wears."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pump.md").write_text(MANUAL)
    (tmp_path / "tap.html").write_text(PAGE)
    (tmp_path / "other.dat").write_text("a,b")
    return tmp_path


def test_the_parser_reads_blobs(folder: Path) -> None:
    parser = StructragParser()
    (document,) = parser.parse(
        Blob.from_path(folder / "pump.md", metadata={"team": "a"})
    )
    source = str(folder / "pump.md")
    assert document.metadata == {
        "team": "a",
        "source": source,
        "text_format": "markdown",
    }
    (document,) = parser.parse(Blob.from_data(PAGE, mime_type="text/html"))
    assert document.metadata == {"text_format": "html"}


@pytest.fixture
def manual_pdf(tmp_path: Path) -> Path:
    pytest.importorskip("pypdfium2")
    path = tmp_path / "manual.pdf"
    path.write_bytes(made(manual))
    return path


def pages_of_chapter(text: str) -> set[int]:
    """The pages, from 0, on which chapters stand that a text names: one a chapter."""
    return {int(number) - 1 for number in re.findall(r"(?:item|Details of) (\d)", text)}


def test_chunks_and_hits_of_a_pdf_know_their_pages(manual_pdf: Path) -> None:
    documents = StructragLoader(manual_pdf).load()
    chunks = ContentAwareTextSplitter(chunk_size=400).split_documents(documents)
    assert len({frozenset(chunk.metadata) for chunk in chunks}) == 1 and len(chunks) > 5
    retrievers = [
        MultiViewRetriever.from_documents(documents, "lsa", k=30),
        EvidenceRetriever.from_documents(documents, "lsa", k=30),
        D3Retriever.from_documents(documents, "lsa"),
    ]
    found = [
        hit for retriever in retrievers for hit in retriever.invoke("Details of item 3")
    ]
    again = ContentAwareTextSplitter(chunk_size=100).split_documents(chunks)
    for chunk in [*chunks, *found, *again]:
        facts = chunk.metadata
        assert "page_starts" not in facts and facts["pages"] == 5
        named = pages_of_chapter(chunk.page_content)
        assert all(facts["page"] <= page <= facts["last_page"] for page in named)
        label = {
            str(facts["page"] + 1),
            f"{facts['page'] + 1}-{facts['last_page'] + 1}",
        }
        assert facts["page_label"] in label
        store_takes = (str, int, float, bool)
        assert chunk in found or all(
            isinstance(value, store_takes) for value in facts.values()
        )
    best = [hit for hit in found if hit.metadata["rank"] == 1]
    assert [hit.metadata["page_label"] for hit in best] == ["3"] * 3
    tool = retrievers[1].as_tool()
    assert "manual.pdf, page 3, " in tool.invoke({"query": "Details of item 3"})


def test_splitters_of_others_keep_one_string(manual_pdf: Path) -> None:
    documents = StructragLoader(manual_pdf).load()
    chunks = RecursiveCharacterTextSplitter(chunk_size=300).split_documents(documents)
    assert chunks[-1].metadata["page_starts"].startswith("0:1 ")


def test_a_formatter_that_keeps_the_text_keeps_its_pages(manual_pdf: Path) -> None:
    (markdown,) = HiQAFormatter().parse(Blob.from_path(manual_pdf))
    assert markdown.metadata["page_starts"].endswith(":5")
    changed = HiQAFormatter(lambda prompt: "# New", add_report=False)
    (other,) = changed.transform_documents(
        [
            Document(
                "a\n\nb c", metadata={"page_starts": "0:1 3:2", "text_format": "text"}
            )
        ]
    )
    assert other.page_content != "a\n\nb c" and "page_starts" not in other.metadata
