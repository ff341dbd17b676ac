"""Texts are exact slices with their indentation, and metadata is spelt as in LlamaIndex."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

import pytest
from langchain_core.documents import Document

import langchain_structrag
from langchain_structrag import ContentAwareTextSplitter

CODE = (
    "# Pump\n\nIt moves water.\n\n## Start\n\nRun this before anything else is run:\n\n"
    "    start(pump)\n    wait()\n\nThen drink.\n"
)


@pytest.mark.parametrize("name", ["D3Retriever", "HiQARetriever", "MultiViewRetriever"])
def test_results_are_exact_slices(name: str) -> None:
    retriever = getattr(langchain_structrag, name).from_documents([Document(CODE)])
    results = retriever.invoke("How do I start the pump?")
    assert results
    for result in results:
        place = slice(result.metadata["start_index"], result.metadata["end_index"])
        assert CODE[place] == result.page_content


def test_a_code_block_that_d3_finds_keeps_its_indentation() -> None:
    retriever = langchain_structrag.D3Retriever.from_documents([Document(CODE)])
    (code,) = [
        result
        for result in retriever.invoke("start(pump)")
        if "start(pump)" in result.page_content
    ]
    assert code.page_content == "    start(pump)\n    wait()"
    assert code.metadata["start_index"] == CODE.index("    start")


def test_a_splitter_keeps_the_first_lines_indentation() -> None:
    text = "\n\n    x = 1\n    y = 2\n\n"
    (chunk,) = ContentAwareTextSplitter().create_documents([text])
    assert (chunk.page_content, chunk.metadata["start_index"]) == (
        "    x = 1\n    y = 2",
        2,
    )


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (datetime(2020, 1, 2, 3, 4), "2020-01-02T03:04:00"),
        (PurePosixPath("/a/b"), "/a/b"),
        ({"b", "a"}, ["a", "b"]),
        (b"a", "YQ=="),
    ],
)
def test_metadata_is_spelt_in_one_way(value: Any, plain: Any) -> None:
    page = Document(CODE, metadata={"source": "pump.md", "seen": value})
    retriever = langchain_structrag.MultiViewRetriever.from_documents([page])
    assert retriever.invoke("water")[0].metadata["seen"] == plain
