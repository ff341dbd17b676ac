"""Texts are exact slices with their indentation, and metadata is spelt as in LangChain."""

from __future__ import annotations

from datetime import datetime
from pathlib import PurePosixPath
from typing import Any

import pytest
from llama_index.core.schema import Document

import llama_index_structrag

CODE = (
    "# Pump\n\nIt moves water.\n\n## Start\n\nRun this before anything else is run:\n\n"
    "    start(pump)\n    wait()\n\nThen drink.\n"
)


@pytest.mark.parametrize("name", ["D3Retriever", "HiQARetriever", "MultiViewRetriever"])
def test_results_are_exact_slices(name: str) -> None:
    retriever = getattr(llama_index_structrag, name).from_documents(
        [Document(text=CODE)]
    )
    results = retriever.retrieve("How do I start the pump?")
    assert results
    for result in results:
        node: Any = result.node
        assert CODE[node.start_char_idx : node.end_char_idx] == node.text


def test_a_code_block_that_d3_finds_keeps_its_indentation() -> None:
    retriever = llama_index_structrag.D3Retriever.from_documents([Document(text=CODE)])
    (code,) = [
        result.node
        for result in retriever.retrieve("start(pump)")
        if "start(pump)" in result.node.text
    ]
    assert code.text == "    start(pump)\n    wait()"
    assert code.start_char_idx == CODE.index("    start")


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
    page = Document(text=CODE, metadata={"file_name": "pump.md", "seen": value})
    retriever = llama_index_structrag.MultiViewRetriever.from_documents([page])
    assert retriever.retrieve("water")[0].metadata["seen"] == plain
