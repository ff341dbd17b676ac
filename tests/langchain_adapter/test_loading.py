"""LangChain's loader and parser of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.document_loaders import Blob
from langchain_core.documents import Document
from langchain_text_splitters import RecursiveCharacterTextSplitter
from pdf_making import made, manual

from langchain_structrag import (
    ContentAwareTextSplitter,
    HiQAFormatter,
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


def test_metadata_is_added(folder: Path) -> None:
    for document in StructragLoader(folder, metadata={"tenant": "a"}).load():
        assert document.metadata["tenant"] == "a" and "source" in document.metadata


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


def test_pages_are_told_as_langchains_loaders_tell_them(manual_pdf: Path) -> None:
    documents = StructragLoader(manual_pdf).load()
    chunks = ContentAwareTextSplitter(chunk_size=400).split_documents(documents)
    assert {chunk.metadata["page"] for chunk in chunks} == set(range(5))
    for chunk in chunks:
        first, last = chunk.metadata["page"] + 1, chunk.metadata["last_page"] + 1
        assert chunk.metadata["page_label"] in (f"{first}", f"{first}-{last}")


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
