"""The arguments of the retrievers: all named, wrong ones answered."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_fakes import BagOfWords

import structrag.records as core
from langchain_structrag import (
    ContentAwareTextSplitter,
    D3Retriever,
    EvidenceRetriever,
    HiQARetriever,
    IDMSTextSplitter,
    MultiViewRetriever,
    PICTextSplitter,
)
from langchain_structrag.hiqa import HiQAArguments
from langchain_structrag.idms import IDMSArguments
from langchain_structrag.pic import PICArguments
from structrag import HiQASplitter, IDMSSplitter, PICSplitter
from structrag.errors import InvalidParameter

RETRIEVERS: list[Any] = [
    MultiViewRetriever,
    HiQARetriever,
    D3Retriever,
    EvidenceRetriever,
]
TEXT = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter."
DOCUMENTS = [Document(TEXT, metadata={"source": "pump.md"})]


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_filter_is_another_name_of_where(retriever: Any) -> None:
    other = Document(TEXT, metadata={"source": "other.md"})
    made = retriever.from_documents([*DOCUMENTS, other], BagOfWords())
    condition = {"source": "other.md"}
    found = made.invoke("How is the filter rinsed?", filter=condition)
    assert found == made.invoke("How is the filter rinsed?", where=condition)
    assert {document.metadata["source"] for document in found} == {"other.md"}
    with pytest.raises(InvalidParameter, match="where and filter mean the same"):
        made.invoke("filter", where=condition, filter=condition)


@pytest.mark.parametrize("splitter", [PICTextSplitter, IDMSTextSplitter])
def test_splitters_that_read_are_taken_without_models_of_their_own(
    splitter: Any,
) -> None:
    made = MultiViewRetriever.from_documents(
        DOCUMENTS, BagOfWords(), splitter=splitter()
    )
    assert made.invoke("How is the filter rinsed?")[0].metadata["heading_path"]
    with pytest.raises(
        InvalidParameter, match="no embedding and no llm in a retriever"
    ):
        MultiViewRetriever.from_documents(
            DOCUMENTS, BagOfWords(), splitter=splitter(embedding=BagOfWords())
        )


def test_a_document_of_the_core_is_told_how_to_become_langchains() -> None:
    with pytest.raises(InvalidParameter, match=r"Document\(document\.text, metadata="):
        ContentAwareTextSplitter().split_documents([core.Document(TEXT)])  # type: ignore[list-item]


def test_the_settings_of_splitters_are_the_cores() -> None:
    for core_splitter, settings in (
        (PICSplitter, PICArguments),
        (IDMSSplitter, IDMSArguments),
        (HiQASplitter, HiQAArguments),
    ):
        own = {
            "min_tokens",
            "max_tokens",
            "target_tokens",
            "counter",
            "heading_path",
            "margin",
        }
        names = {field.name for field in fields(core_splitter)} - own
        if core_splitter is PICSplitter:
            names -= {"context"}
        assert names <= settings.__annotations__.keys()
