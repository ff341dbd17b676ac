"""Retrievers and chains as tools of agents."""

from __future__ import annotations

import pickle
import re
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
    TwoHopRetriever,
)

TEXT = "# Pump\n\n## Seal\n\nThe seal of the X100 wears after a year. Acme makes it.\n"


def documents() -> list[Document]:
    return [Document(TEXT, metadata={"source": "pump.md"})]


def called(name: str, **arguments: Any) -> dict[str, Any]:
    return {"type": "tool_call", "id": "1", "name": name, "args": arguments}


@pytest.mark.parametrize("kind", [EvidenceRetriever, MultiViewRetriever])
async def test_a_retriever_is_a_tool_that_cites(kind: Any) -> None:
    retriever = kind.from_documents(documents())
    tool = retriever.as_tool(description="About pumps.")
    assert tool.name.startswith("search_pump") and tool.description == "About pumps."
    assert list(tool.args) == ["query"] and tool.args["query"]["type"] == "string"
    message = tool.invoke(called(tool.name, query="When does the seal wear?"))
    assert message.content.startswith("[1] pump.md, Pump")
    assert "wears after a year" in message.content
    first = message.artifact[0]
    assert (
        f"characters {first.metadata['start_index']} to {first.metadata['end_index']}"
        in (message.content)
    )
    assert (
        await tool.ainvoke({"query": "When does the seal wear?"})
    ) == message.content


TITLES: dict[str, tuple[list[str], str]] = {
    "one": (["Gas ovens"], "search_gas_ovens"),
    "two": (["Leases", "Ovens & grills"], "search_leases_and_ovens_grills"),
    "many": (["Boilers", "b", "c", "d"], "search_boilers_and_more"),
    "accents": (["Küche"], "search_kuche"),
    "no letter": (["猫"], "search_documents_"),
    "long": (["very " * 30 + "long"], "search_very_very_very"),
}


@pytest.mark.parametrize("titles", TITLES)
def test_a_tool_is_named_by_the_documents(titles: str) -> None:
    found, name = TITLES[titles]
    texts = [f"# {title}\n\nIt is {titles}." for title in found]
    tool = EvidenceRetriever.from_texts(texts).as_tool()
    assert tool.name.startswith(name) and len(tool.name) <= 64
    assert re.fullmatch("[a-zA-Z0-9_-]+", tool.name)


def test_the_second_tool_of_a_name_is_told_and_numbered() -> None:
    def made(text: str) -> Any:
        return MultiViewRetriever.from_texts([f"# Twins\n\n{text}"])

    first, second = made("One."), made("Two.")
    assert first.as_tool().name == first.as_tool().name == "search_twins"
    assert made("One.").as_tool().name == "search_twins"  # the same documents
    with pytest.warns(UserWarning, match="already has the name 'search_twins'") as told:
        assert second.as_tool().name == "search_twins_2"
    assert told[0].filename == __file__
    assert second.as_tool(name="other").name == "other"
    with pytest.warns(UserWarning, match="already has the name 'search_twins'"):
        assert second.as_tool(name="search_twins").name == "search_twins"


def test_a_tool_over_two_hops_and_one_that_finds_nothing() -> None:
    inner = MultiViewRetriever.from_documents(documents())
    tool = TwoHopRetriever(retriever=inner).as_tool(name="hops")
    assert tool.name == "hops" and "[1] pump.md" in tool.invoke(
        {"query": "Who makes the X100?"}
    )
    empty = EvidenceRetriever.from_documents([Document("")]).as_tool()
    assert empty.invoke({"query": "anything"}) == "Nothing was found."


def test_a_schema_of_ones_own_is_taken() -> None:
    class Search(BaseModel):
        where: str

    retriever = MultiViewRetriever.from_documents(documents())
    assert list(retriever.as_tool(Search, name="a", description="b").args) == ["where"]


async def test_self_ask_is_a_tool() -> None:
    replies = ["Follow up: Who makes the X100?", "Acme", "So the final answer is: Acme"]
    retriever = MultiViewRetriever.from_documents(documents())
    tool = SelfAsk(retriever, FakeListChatModel(responses=replies)).as_tool()
    assert list(tool.args) == ["question"] and "answer_from_pump" in tool.name
    message = tool.invoke(called(tool.name, question="Who made the X100?"))
    assert message.content.startswith("Acme\n\n[1] pump.md, Pump")
    assert message.artifact["answer"] == "Acme"


@pytest.mark.parametrize("copied", [deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
async def test_a_tool_can_be_copied_and_pickled(copied: Any) -> None:
    question = "When does the seal wear?"
    inner = MultiViewRetriever.from_documents(documents())
    searching = TwoHopRetriever(retriever=inner).as_tool(name="hops")
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


async def test_an_agent_answers_from_what_the_tool_cites() -> None:
    agents = pytest.importorskip(
        "langchain.agents", reason="langchain is not installed"
    )
    tool = EvidenceRetriever.from_documents(documents()).as_tool(
        description="About pumps."
    )
    agent = agents.create_agent(ToolCaller(), tools=[tool])
    asked = {"messages": [{"role": "user", "content": "When does the seal wear?"}]}
    for result in (agent.invoke(asked), await agent.ainvoke(asked)):
        *_, used, answer = result["messages"]
        assert str(answer.content).startswith("After a year: [1] pump.md, Pump")
        assert used.artifact[0].metadata["source"] == "pump.md"
