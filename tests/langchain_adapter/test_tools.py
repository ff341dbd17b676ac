"""Retrievers and chains as tools of agents."""

from __future__ import annotations

import pickle
from copy import deepcopy
from typing import Any, get_type_hints

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic import BaseModel, Field

from langchain_structrag import (
    EvidenceRetriever,
    MultiViewRetriever,
    SelfAsk,
)

TEXT = "# Pump\n\n## Seal\n\nThe seal of the X100 wears after a year. Acme makes it.\n"


def documents() -> list[Document]:
    return [Document(TEXT, metadata={"source": "pump.md"})]


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "1", "name": name, "args": arguments}


def test_a_schema_of_ones_own_is_taken() -> None:
    class Search(BaseModel):
        where: str

    retriever = MultiViewRetriever.from_documents(documents())
    assert list(retriever.as_tool(Search, name="a", description="b").args) == ["where"]


@pytest.mark.parametrize("copied", [deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
async def test_a_tool_can_be_copied_and_pickled(copied: Any) -> None:
    question = "When does the seal wear?"
    inner = MultiViewRetriever.from_documents(documents())
    searching = inner.as_tool(name="hops")
    copy = copied(searching)
    call = called("hops", query=question)
    hints = [get_type_hints(part) for part in (copy.func, copy.coroutine)]
    assert all("config" in each for each in hints)  # LangGraph's ToolNode reads them
    assert copy.name == "hops" and copy.invoke(call) == searching.invoke(call)
    assert await copy.ainvoke(call) == copy.invoke(call)
    replies = ["So the final answer is: A year."]
    answering = copied(SelfAsk(inner, FakeListChatModel(responses=replies)).as_tool())
    assert "A year." in answering.invoke({"question": question})
    assert "A year." in await answering.ainvoke({"question": question})


def test_a_model_is_told_the_schema() -> None:
    from langchain_core.utils.function_calling import convert_to_openai_tool

    tool = MultiViewRetriever.from_documents(documents()).as_tool()
    shown = convert_to_openai_tool(tool)["function"]
    assert shown["parameters"]["required"] == ["query"]
    assert "config" not in shown["parameters"]["properties"]


class ToolCaller(GenericFakeChatModel):
    """A chat model that calls the first tool it is bound to, then quotes what came back."""

    messages: Any = iter(())
    tools: list[Any] = Field(default_factory=list)

    def bind_tools(self, tools: Any, **options: Any) -> ToolCaller:
        return self.model_copy(update={"tools": list(tools)})

    def _generate(self, messages: Any, *args: Any, **options: Any) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            reply = AIMessage(f"After a year: {last.content}")
        else:
            call = called(self.tools[0].name, query=last.content)
            reply = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=reply)])


def test_a_model_that_calls_tools_gets_citations() -> None:
    tool = EvidenceRetriever.from_documents(documents()).as_tool(
        description="About pumps."
    )
    model = ToolCaller().bind_tools([tool])
    messages: list[Any] = [HumanMessage("When does the seal wear?")]
    messages.append(model.invoke(messages))
    messages += [tool.invoke(call) for call in messages[-1].tool_calls]
    answer = model.invoke(messages)
    assert str(answer.content).startswith("After a year: [1] pump.md, Pump")
    assert messages[-1].artifact[0].metadata["source"] == "pump.md"
