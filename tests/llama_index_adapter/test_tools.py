"""Retrievers and query engines as tools of agents."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import Document

from llama_index_structrag import (
    EvidenceRetriever,
    MultiViewRetriever,
    SelfAskQueryEngine,
    TwoHopRetriever,
)

TEXT = "# Pump\n\n## Seal\n\nThe seal of the X100 wears after a year. Acme makes it.\n"


def documents() -> list[Document]:
    return [Document(text=TEXT, metadata={"file_path": "pump.md"})]


@pytest.mark.parametrize("kind", [EvidenceRetriever, MultiViewRetriever])
async def test_a_retriever_is_a_tool_that_cites(kind: Any) -> None:
    tool = kind.from_documents(documents()).as_tool(description="About pumps.")
    assert tool.metadata.name == "search_documents"
    assert tool.metadata.description == "About pumps."
    assert list(tool.metadata.get_parameters_dict()["properties"]) == ["query"]
    output = str(tool.call(query="When does the seal wear?"))
    assert output.startswith("[1] pump.md, Pump")
    assert "wears after a year" in output
    assert str(await tool.acall(query="When does the seal wear?")) == output


def test_a_tool_over_two_hops_and_one_that_finds_nothing() -> None:
    inner = MultiViewRetriever.from_documents(documents())
    tool = TwoHopRetriever(inner).as_tool("hops")
    assert tool.metadata.name == "hops"
    assert "[1] pump.md" in str(tool.call(query="Who makes the X100?"))
    empty = EvidenceRetriever.from_documents([Document(text="")]).as_tool()
    assert str(empty.call(query="anything")) == "Nothing was found."


async def test_self_ask_is_a_tool() -> None:
    replies = ["Follow up: Who makes the X100?", "Acme", "So the final answer is: Acme"]

    def llm(prompt: str) -> str:
        return replies.pop(0)

    tool = SelfAskQueryEngine(MultiViewRetriever.from_documents(documents()), llm).as_tool()
    assert list(tool.metadata.get_parameters_dict()["properties"]) == ["question"]
    assert str(tool.call(question="Who made the X100?")).startswith("Acme\n\n[1] pump.md, Pump")
