"""LlamaIndex's reader of files."""

from __future__ import annotations

import re
from pathlib import Path

import fsspec
import pytest
from llama_index.core import SimpleDirectoryReader
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.schema import MetadataMode
from pdf_making import made, manual, pictured

from llama_index_structrag import (
    ContentAwareNodeParser,
    EvidenceRetriever,
    MultiViewRetriever,
    StructragReader,
)
from structrag.errors import InvalidDocument, InvalidParameter

MANUAL = "# Pump\n\n## Cleaning\n\nRinse the filter monthly.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pump.md").write_text(MANUAL)
    (tmp_path / "tap.html").write_text("<h1>Tap</h1><h2>Seal</h2><p>The seal wears.")
    return tmp_path


def test_headings_reach_the_nodes(folder: Path) -> None:
    documents = StructragReader().load_data(folder)
    assert [Path(document.id_).name for document in documents] == [
        "pump.md",
        "tap.html",
    ]
    nodes = ContentAwareNodeParser().get_nodes_from_documents(documents)
    paths = [node.metadata["heading_path"] for node in nodes]
    assert any("Cleaning" in path for path in paths) and any(
        "Seal" in path for path in paths
    )


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


def test_nodes_and_hits_of_a_pdf_know_their_pages(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    path = tmp_path / "manual.pdf"
    path.write_bytes(made(manual))
    documents = StructragReader().load_data(path)
    nodes = ContentAwareNodeParser(chunk_size=120).get_nodes_from_documents(documents)
    assert len({frozenset(node.metadata) for node in nodes}) == 1 and len(nodes) > 5
    scored = [
        *MultiViewRetriever.from_documents(
            documents, embed_model="lsa", similarity_top_k=30
        ).retrieve("Details of item 3"),
        *EvidenceRetriever.from_documents(documents, embed_model="lsa").retrieve(
            "item 3"
        ),
    ]
    for node in [*nodes, *(one.node for one in scored)]:
        first, _, last = node.metadata["page_label"].partition("-")
        named = re.findall(r"(?:item|Details of) (\d)", node.text)
        assert all(int(first) <= int(page) <= int(last or first) for page in named)
        assert "page_starts" not in node.metadata
        assert f"page_label: {first}" in node.get_content(MetadataMode.LLM)
        assert "page_label" not in node.get_content(MetadataMode.EMBED)
    assert scored[0].node.metadata["page_label"] == "3"
    assert "page_starts" not in str(scored[0].node.source_node.metadata)


def test_the_pages_of_a_pdf_stay_hidden_behind_splitters_of_others(
    tmp_path: Path, sentence_splitter: type[SentenceSplitter]
) -> None:
    pytest.importorskip("pypdfium2")
    path = tmp_path / "manual.pdf"
    path.write_bytes(made(manual))
    documents = StructragReader().load_data(path)
    node = sentence_splitter(chunk_size=200).get_nodes_from_documents(documents)[0]
    assert "page_starts" not in node.get_content(MetadataMode.LLM)


def test_a_list_of_files_and_folders_is_read(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("a.md", "folder/b.md"):
        (tmp_path / name).write_text(f"# {name}\n\nIt is here.", encoding="utf-8")
    places = [str(tmp_path / "a.md"), tmp_path / "folder"]
    found = StructragReader().load_data(places)
    assert [document.metadata["file_name"] for document in found] == ["a.md", "b.md"]
    with pytest.raises(
        InvalidParameter, match="file must be a file, a folder, or a list"
    ):
        StructragReader().load_data(3)


def test_the_pictures_of_a_pdf_become_files_when_asked(tmp_path: Path) -> None:
    pytest.importorskip("pypdfium2")
    file = tmp_path / "pump.pdf"
    file.write_bytes(made(pictured))
    pictures = tmp_path / "pictures"
    (document,) = StructragReader(images_to=pictures).load_data(file)
    (picture,) = pictures.iterdir()
    assert f"]({picture})" in document.text
