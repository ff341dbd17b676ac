"""D3Retriever and SelfAskQueryEngine in LlamaIndex: evidence, cost, events, prompts, hops; sync and
async."""

from __future__ import annotations

import re
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import CompletionResponse, MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.tools import QueryEngineTool
from llama_index_fakes import ScriptedLLM
from multihop_making import two_hops

from llama_index_structrag import (
    D3Retriever,
    IndexBuildEndEvent,
    RetrievalCostEvent,
    SelfAskQueryEngine,
)

FILMS = """# Films

## The Lantern

The Lantern is a film from 1968. It was directed by Ada Holm.

It was shown in many towns.

## Directors

Ada Holm was born in Bergen in 1931.

## Cities

Bergen lies on the west coast of Norway.
"""
FILLER = "".join(
    f"## Topic {i}\n\nWords about the subject number {i} and nothing else. "
    f"{'More of it. ' * 60}\n\n"
    for i in range(20)
)
QUESTION = "Where was the director of The Lantern born?"


class ThinkingLLM(ScriptedLLM):
    """Answers by a method; `fails` raises on every call."""

    fails: bool = False
    kind: str = "router"

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        self.prompts.append(prompt)
        if self.fails:
            raise RuntimeError("down")
        return CompletionResponse(
            text=names_by_words(prompt) if self.kind == "router" else two_hops(prompt)
        )


def names_by_words(prompt: str) -> str:
    """The ids of the sections or paragraphs that mention Ada."""
    shown = re.split(r"\n\n(?=\[?\d+)", prompt)
    ids = [
        re.match(r"\D*(\d+)", part)
        for part in shown
        if "Ada" in part and "Question:" not in part.split("\n")[0]
    ]
    return ", ".join(found.group(1) for found in ids if found) or "none"


def asker() -> ThinkingLLM:
    return ThinkingLLM(kind="asker", prompts=[])


def documents(text: str = FILMS) -> list[Document]:
    other = Document(
        text="# Other\n\nSomething else is here.\n",
        id_="other",
        metadata={"year": 2021},
    )
    return [
        Document(
            text=text, id_="films", metadata={"year": 2020, "file_name": "films.md"}
        ),
        other,
    ]


def cost_events(call: Any) -> list[Any]:
    seen: list[Any] = []

    class Handler(BaseEventHandler):
        def handle(self, event: Any, **kwargs: Any) -> None:
            seen.append(event)

    handler = Handler()
    get_dispatcher().add_event_handler(handler)
    try:
        call()
    finally:
        get_dispatcher().event_handlers.remove(handler)
    return seen


# -- D3Retriever


def test_a_language_model_routes_and_selects_and_the_cost_is_told() -> None:
    llm = ThinkingLLM(prompts=[])
    retriever = D3Retriever.from_documents(
        documents(FILMS + FILLER), llm=llm, summariser=None, where={"doc_id": "films"}
    )
    assert llm.prompts == []
    result = retriever.result(QUESTION)
    assert {stage: cost.calls for stage, cost in result.cost.items()} == {
        "route": 1,
        "select": 1,
    }
    assert len(llm.prompts) == 2 and result.route.how == "llm" and result.degraded == 0
    nodes = retriever.nodes(result)
    assert (
        nodes
        and all("Ada Holm" in n.text for n in nodes)
        and nodes[0].metadata["d3_route"] == "llm"
    )
    assert [n.text for n in retriever.retrieve(QUESTION)] == [n.text for n in nodes]
    assert retriever.usage.calls == 2 * 2


def test_it_serves_a_query_engine_and_tells_events() -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    llm = ThinkingLLM(prompts=[])

    def run() -> None:
        retriever = D3Retriever.from_documents(
            documents(FILMS + FILLER),
            llm=llm,
            summariser=None,
            callback_manager=CallbackManager([debug]),
        )
        response = RetrieverQueryEngine.from_args(retriever, llm=MockLLM()).query(
            QUESTION
        )
        assert "directed by Ada Holm" in str(response) and response.source_nodes

    seen = cost_events(run)
    (built,) = (event for event in seen if isinstance(event, IndexBuildEndEvent))
    assert (built.added, built.usage["calls"], built.usage["fallbacks"]) == (
        2,
        0,
        {},
    ) and built.chunks > 20
    (cost,) = (event for event in seen if isinstance(event, RetrievalCostEvent))
    assert (
        cost.question == QUESTION
        and cost.cost["route"]["calls"] == cost.cost["select"]["calls"] == 1
    )
    assert len(debug.get_event_pairs(CBEventType.RETRIEVE)) == 1


def test_prompts_can_be_read_and_replaced() -> None:
    llm = ThinkingLLM(prompts=[])
    retriever = D3Retriever.from_documents(
        documents(FILMS + FILLER), llm=llm, summariser=None
    )
    prompts = retriever.get_prompts()
    assert set(prompts) == {"route_prompt", "select_prompt"}
    before = retriever.retriever.routing.template, retriever.retriever.selection.prompt
    retriever.update_prompts(prompts)
    assert (
        retriever.retriever.routing.template,
        retriever.retriever.selection.prompt,
    ) == before
    retriever.update_prompts(
        {
            "route_prompt": PromptTemplate(
                "Sections {of} mine:\n\n{outline}\n\nQuestion: {question}"
            )
        }
    )
    retriever.retrieve(QUESTION)
    assert llm.prompts[0].startswith("Sections {of} mine:\n\n")
    with pytest.raises(ValueError, match="must contain"):
        retriever.update_prompts({"select_prompt": PromptTemplate("no place")})


# -- SelfAskQueryEngine


def test_prompts_events_and_tools_work_as_for_any_query_engine() -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    llm = asker()
    engine = SelfAskQueryEngine(
        D3Retriever.from_documents(documents(), similarity_top_k=2),
        llm,
        callback_manager=CallbackManager([debug]),
    )
    names = set(engine.get_prompts())
    assert {
        "next_prompt",
        "answer_prompt",
        "final_prompt",
        "retriever:route_prompt",
    } <= names
    kept = engine.prompts
    engine.update_prompts(
        {
            name: prompt
            for name, prompt in engine.get_prompts().items()
            if ":" not in name
        }
    )
    assert engine.prompts == kept
    engine.update_prompts(
        {
            "answer_prompt": PromptTemplate(
                "Read this:\n{evidence}\nQuestion: {question}"
            )
        }
    )
    seen = cost_events(lambda: engine.query(QUESTION))
    assert any(prompt.startswith("Read this:\n") for prompt in llm.prompts)
    found = [event.class_name() for event in seen]
    assert found.count("QueryStartEvent") == found.count("QueryEndEvent") == 1
    assert len(debug.get_event_pairs(CBEventType.QUERY)) == 1
    tool = QueryEngineTool.from_defaults(
        engine, name="films", description="About films."
    )
    assert str(tool.call(QUESTION)) == "Bergen"
