"""The text splitters: LangChain's conventions, exact offsets, hard limits, what peers get wrong."""

from __future__ import annotations

from datetime import date

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import split
from langchain_text_splitters import RecursiveCharacterTextSplitter, TextSplitter

from langchain_structrag import ContentAwareTextSplitter


@pytest.mark.parametrize(
    "splitter_class", [RecursiveCharacterTextSplitter, ContentAwareTextSplitter]
)
def test_only_the_class_name_changes_in_an_application(
    splitter_class: type[TextSplitter],
) -> None:
    splitter = splitter_class(
        chunk_size=60, chunk_overlap=10, length_function=len, add_start_index=True
    )
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    documents = [
        Document(
            page_content="# Cats\n\nCats purr.\n\n# Dogs\n\nDogs bark.\n" * 3,
            metadata={"source": "pets.md"},
        )
    ]
    store.add_documents(splitter.split_documents(documents))
    found = store.as_retriever(search_kwargs={"k": 2}).invoke("Dogs bark.")
    assert len(found) == 2
    for document in found:
        start = document.metadata["start_index"]
        assert documents[0].page_content[start:].startswith(document.page_content)
        assert document.metadata["source"] == "pets.md"


def test_metadata_of_a_chunk() -> None:
    chunks = split("# A\n\nhello\n\n## B\n\nworld\n")
    assert [c.page_content for c in chunks] == ["# A\n\nhello", "## B\n\nworld"]
    assert chunks[1].metadata["start_index"] == 12
    assert chunks[1].metadata["end_index"] == 23
    assert chunks[1].metadata["heading_path"] == "A > B"
    assert chunks[1].metadata["section_id"].endswith("#2")
    assert chunks[1].metadata.keys() == {
        "start_index", "end_index", "section_id", "source_start", "source_end", "heading_path",
        "table_header", "oversize",
    }  # fmt: skip
    assert type(chunks[0]) is Document


def test_parent_metadata_is_copied_deeply_and_documents_are_not_changed() -> None:
    parent = Document(
        page_content="# A\n\nx\n\n# B\n\ny\n",
        metadata={"source": "n.md", "tags": ["a"], "when": date(2020, 1, 2)},
    )
    before = parent.model_copy(deep=True)
    chunks = ContentAwareTextSplitter().split_documents([parent])
    chunks[0].metadata["tags"].append("b")
    assert parent == before
    assert chunks[1].metadata["tags"] == ["a"]
    assert chunks[1].metadata["when"] == date(2020, 1, 2)


def test_add_context_puts_the_path_in_front_and_counts_it() -> None:
    text = "# Alpha\n\nintro\n\n## Beta\n\n" + "Some words here. " * 30
    chunks = split(text, chunk_size=120, add_context=True)
    assert chunks[1].page_content.startswith("Alpha\n## Beta")
    assert chunks[2].page_content.startswith("Alpha > Beta\n")
    for chunk in chunks:
        assert len(chunk.page_content) <= 120
        span = text[chunk.metadata["start_index"] : chunk.metadata["end_index"]]
        assert chunk.page_content == span or chunk.page_content.endswith("\n" + span)


def test_source_suffix_tells_the_format() -> None:
    text = "# of items: 3\n\nbody text\n"
    as_text = ContentAwareTextSplitter(strip_whitespace=False).create_documents(
        [text], [{"source": "log.txt"}]
    )
    as_markdown = ContentAwareTextSplitter().create_documents(
        [text], [{"source": "https://x.org/log.md"}]
    )
    assert as_text[0].metadata["heading_path"] == ""
    assert as_markdown[0].metadata["heading_path"] == "of items: 3"
    rendered = "A title\n\nText that a loader has taken out of a page: 1 < 2.\n"
    assert (
        ContentAwareTextSplitter()
        .create_documents([rendered], [{"source": "p.html"}])[0]
        .page_content
        in rendered
    )
