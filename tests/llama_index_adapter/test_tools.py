"""Retrievers and query engines as tools of agents."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.llms import CompletionResponse
from llama_index_fakes import ScriptedLLM

from llama_index_structrag import (
    EvidenceRetriever,
    MultiViewRetriever,
)

TEXT = "# Pump\n\n## Seal\n\nThe seal of the X100 wears after a year. Acme makes it.\n"


def documents() -> list[Document]:
    return [Document(text=TEXT, metadata={"file_path": "pump.md"})]


def test_tools_over_other_documents_of_one_index_have_other_names() -> None:
    found = [
        Document(text=f"# Town {name}\n\nx.", id_=name) for name in ("Bonn", "Kiel")
    ]
    retriever = MultiViewRetriever.from_documents(found)
    first = retriever.as_tool().metadata.name
    one = MultiViewRetriever(retriever.index, where={"doc_id": "Bonn"})
    with pytest.warns(UserWarning, match="already"):
        assert one.as_tool(name=first).metadata.name == first
    assert one.as_tool().metadata.name not in (first, "search_documents")
    assert one.as_tool(name="bonn").metadata.name == "bonn"


OF_LLAMA_INDEX = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # its own


@OF_LLAMA_INDEX
async def test_an_agent_that_calls_functions_answers_from_what_the_tool_cites() -> None:
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.core.llms import mock

    if not hasattr(mock, "MockFunctionCallingLLM"):
        pytest.skip(
            "this version of llama-index-core has no model that calls functions"
        )
    from llama_index.core.base.llms.types import ChatMessage, ToolCallBlock

    def reply(messages: Any, **options: Any) -> ChatMessage:
        (last,) = messages[-1:]
        if last.role == "tool":
            return ChatMessage(
                role="assistant", content=f"After a year: {last.content}"
            )
        call = ToolCallBlock(
            tool_call_id="1",
            tool_name=tool.metadata.name,
            tool_kwargs={"query": last.content},
        )
        return ChatMessage(role="assistant", blocks=[call])

    llm = mock.MockFunctionCallingLLM(response_generator=reply)
    tool = EvidenceRetriever.from_documents(documents()).as_tool("called")
    agent = FunctionAgent(tools=[tool], llm=llm, streaming=False)
    answer = await agent.run("When does the seal wear?")
    assert str(answer).startswith("After a year: [1] pump.md, Pump")
    assert "wears after a year" in str(answer) and len(answer.tool_calls) == 1


class Replies(ScriptedLLM):
    """Gives one reply after the other."""

    replies: list[str]

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.replies.pop(0))

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Any:
        yield self.complete(prompt)  # older agents stream whatever they are told


@OF_LLAMA_INDEX
async def test_a_reasoning_agent_answers_from_what_the_tool_cites() -> None:
    from llama_index.core.agent.workflow import ReActAgent

    tool = EvidenceRetriever.from_documents(documents()).as_tool("reasoned")
    replies = [
        f"Thought: I search.\nAction: {tool.metadata.name}\nAction Input: "
        '{"query": "When does the seal wear?"}',
        "Thought: I can answer without using any more tools.\nAnswer: After a year [1].",
    ]
    llm = Replies(replies=replies)
    answer = await ReActAgent(tools=[tool], llm=llm, streaming=False).run(
        "When does it wear?"
    )
    assert str(answer) == "After a year [1]."
    assert "[1] pump.md, Pump > Seal, characters 0 to 72" in llm.prompts[-1]
