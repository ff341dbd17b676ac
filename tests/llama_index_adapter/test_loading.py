"""LlamaIndex's reader of files."""

from __future__ import annotations

from pathlib import Path

import fsspec
import pytest
from llama_index.core import SimpleDirectoryReader

from llama_index_structrag import ContentAwareNodeParser, StructragReader
from structrag.errors import InvalidDocument

MANUAL = "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pump.md").write_text(MANUAL)
    (tmp_path / "tap.html").write_text("<h1>Tap</h1><h2>Seal</h2><p>The seal wears.")
    return tmp_path


def test_headings_reach_the_nodes(folder: Path) -> None:
    documents = StructragReader().load_data(folder)
    assert [Path(document.id_).name for document in documents] == ["pump.md", "tap.html"]
    nodes = ContentAwareNodeParser().get_nodes_from_documents(documents)
    paths = [node.metadata["heading_path"] for node in nodes]
    assert any("Cleaning" in path for path in paths) and any("Seal" in path for path in paths)


def test_it_reads_for_simple_directory_reader(folder: Path) -> None:
    reader = StructragReader()
    extractors = {".md": reader, ".html": reader}
    documents = SimpleDirectoryReader(str(folder), file_extractor=extractors).load_data()
    assert [document.metadata["text_format"] for document in documents] == ["markdown", "html"]
    assert all(document.metadata["file_size"] for document in documents)
    (document,) = reader.load_data(folder / "pump.md", extra_info={"team": "a"})
    assert document.text == MANUAL and document.metadata["team"] == "a"
    assert "text_format" in document.excluded_embed_metadata_keys


async def test_it_reads_lazily_and_asynchronously(folder: Path) -> None:
    reader = StructragReader()
    (lazy,) = reader.lazy_load_data(folder / "pump.md")
    assert [lazy] == await reader.aload_data(folder / "pump.md")


def test_it_reads_from_file_systems(folder: Path) -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/pump.md", MANUAL.encode())
    (document,) = StructragReader().load_data("/pump.md", fs=memory)
    assert document.text == MANUAL and document.id_ == "/pump.md"
    with pytest.raises(InvalidDocument, match="Cannot read"):
        StructragReader().load_data("/none.md", fs=memory)
