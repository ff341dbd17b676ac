"""LlamaIndex's reader of files."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode
from pdf_making import made, manual

from llama_index_structrag import (
    StructragReader,
)
from structrag.errors import InvalidDocument

MANUAL = "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pump.md").write_text(MANUAL)
    (tmp_path / "tap.html").write_text("<h1>Tap</h1><h2>Seal</h2><p>The seal wears.")
    return tmp_path


def test_it_reads_for_simple_directory_reader(folder: Path) -> None:
    reader = StructragReader()
    extractors = {".md": reader, ".html": reader}
    documents = SimpleDirectoryReader(
        str(folder), file_extractor=extractors
    ).load_data()
    assert [document.metadata["text_format"] for document in documents] == [
        "markdown",
        "html",
    ]
    assert all(document.metadata["file_size"] for document in documents)
    (document,) = reader.load_data(folder / "pump.md", extra_info={"team": "a"})
    assert document.text == MANUAL and document.metadata["team"] == "a"
    assert "text_format" in document.excluded_embed_metadata_keys


def test_it_reads_from_file_systems(folder: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/pump.md", MANUAL.encode())
    (document,) = StructragReader().load_data("/pump.md", fs=memory)
    assert document.text == MANUAL and document.id_ == "/pump.md"
    with pytest.raises(InvalidDocument, match="Cannot read"):
        StructragReader().load_data("/none.md", fs=memory)


def test_the_pages_of_a_pdf_stay_hidden_behind_splitters_of_others(
    tmp_path: Path, sentence_splitter: type[SentenceSplitter]
) -> None:
    pytest.importorskip("pypdfium2")
    path = tmp_path / "manual.pdf"
    path.write_bytes(made(manual))
    documents = StructragReader().load_data(path)
    node = sentence_splitter(chunk_size=200).get_nodes_from_documents(documents)[0]
    assert "page_starts" not in node.get_content(MetadataMode.LLM)
