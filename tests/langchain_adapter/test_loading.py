"""LangChain's loader and parser of files."""

from __future__ import annotations

from pathlib import Path

import pytest
from langchain_core.document_loaders import Blob

from langchain_structrag import ContentAwareTextSplitter, StructragLoader, StructragParser
from langchain_structrag.conversion import to_core

MANUAL = "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n"
PAGE = "<title>Tap</title><h1>Tap</h1><h2>Seal</h2><p>The seal wears."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pump.md").write_text(MANUAL)
    (tmp_path / "tap.html").write_text(PAGE)
    (tmp_path / "other.csv").write_text("a,b")
    return tmp_path


def test_headings_reach_the_chunks(folder: Path) -> None:
    documents = StructragLoader(folder).load()
    assert [Path(document.metadata["source"]).name for document in documents] == [
        "pump.md",
        "tap.html",
    ]
    chunks = ContentAwareTextSplitter().split_documents(documents)
    paths = [chunk.metadata["heading_path"] for chunk in chunks]
    assert any("Cleaning" in path for path in paths) and any("Seal" in path for path in paths)


async def test_it_loads_lazily_and_asynchronously(folder: Path) -> None:
    loader = StructragLoader([folder / "pump.md", folder / "tap.html"])
    assert next(loader.lazy_load()).page_content == MANUAL
    assert [document async for document in loader.alazy_load()] == loader.load()
    assert await loader.aload() == loader.load()


def test_the_parser_reads_blobs(folder: Path) -> None:
    parser = StructragParser()
    (document,) = parser.parse(Blob.from_path(folder / "pump.md", metadata={"team": "a"}))
    source = str(folder / "pump.md")
    assert document.metadata == {"team": "a", "source": source, "text_format": "markdown"}
    (document,) = parser.parse(Blob.from_data(PAGE, mime_type="text/html"))
    assert document.metadata == {"text_format": "html"}


def test_a_programs_title_is_no_context() -> None:
    (document,) = StructragLoader("docs/limits.md").load()
    document.metadata["title"] = "(anonymous)"
    assert to_core(document).title not in ("", "(anonymous)")


def _page(number: int, text: str) -> object:
    from langchain_core.documents import Document

    return Document(text, metadata={"source": "manual.pdf", "page": number})


def test_pages_without_headings_are_warned_of_once() -> None:
    prose = "The pump moves the water to the tank. " * 60
    pages = [_page(number, prose) for number in range(6)]
    with pytest.warns(UserWarning, match="A long PDF has no heading.*StructragLoader") as warned:
        ContentAwareTextSplitter().split_documents(pages)  # type: ignore[arg-type]
    assert len({str(warning.message) for warning in warned}) == 1


def test_pages_with_headings_are_not(recwarn: pytest.WarningsRecorder) -> None:
    prose = "The pump moves the water to the tank. " * 60
    pages = [_page(0, f"# Pump\n\n{prose}"), *(_page(number, prose) for number in range(1, 6))]
    ContentAwareTextSplitter().split_documents(pages)  # type: ignore[arg-type]
    assert not recwarn.list
