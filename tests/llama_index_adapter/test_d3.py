"""D3Retriever and SelfAskQueryEngine in LlamaIndex: evidence, cost, events, prompts, hops; sync and
async."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager, CBEventType, LlamaDebugHandler
from llama_index.core.instrumentation import get_dispatcher
from llama_index.core.instrumentation.event_handlers import BaseEventHandler
from llama_index.core.llms import CompletionResponse, MockLLM
from llama_index.core.prompts import PromptTemplate
from llama_index.core.query_engine import RetrieverQueryEngine
from llama_index.core.schema import MetadataMode, NodeWithScore, QueryBundle, TextNode
from llama_index.core.tools import QueryEngineTool
from llama_index_fakes import HashEmbedding, ScriptedLLM
from multihop_making import two_hops
from ticking import ticking

from llama_index_structrag import (
    D3Retriever,
    HiQARetriever,
    IndexBuildEndEvent,
    MultiViewRetriever,
    RetrievalCostEvent,
    SelfAskQueryEngine,
)
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.retriever import D3Retriever as CoreRetriever
from structrag.retrieval.d3.selection import Selection

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


@pytest.mark.parametrize("embed_model", [None, HashEmbedding()])
def test_evidence_is_quoted_in_reading_order(embed_model: Any) -> None:
    retriever = D3Retriever.from_documents(documents(), embed_model=embed_model)
    found = retriever.retrieve("Who directed The Lantern?")
    assert "directed by Ada Holm" in found[0].node.text
    starts = [(n.node.ref_doc_id != "films", n.node.start_char_idx) for n in found]
    assert starts == sorted(starts)
    for node in (n.node for n in found):
        text = {"films": FILMS, "other": documents()[1].text}[node.ref_doc_id]
        assert text[node.start_char_idx : node.end_char_idx] == node.text
        json.dumps(node.to_dict())
    first = found[0].node
    assert (
        first.metadata["heading_context"] == "Films > The Lantern"
        and first.metadata["year"] == 2020
    )
    assert (
        first.metadata["d3_kind"] == "paragraph"
        and first.metadata["d3_route"] == "scores"
    )
    shown = first.get_content(metadata_mode=MetadataMode.LLM)
    assert "d3_" not in shown and "scores" not in shown


def test_it_gives_what_the_core_gives() -> None:
    retriever = D3Retriever.from_documents(
        documents(FILMS + FILLER), embed_model=HashEmbedding(), similarity_top_k=3
    )
    core = CoreRetriever(retriever.index, k=3)
    expected = [(hit.chunk.text.strip(), hit.score) for hit in core.search(QUESTION)]
    assert [
        (n.text, n.score) for n in retriever.retrieve(QUESTION)
    ] == expected and len(expected) <= 3


def test_a_language_model_routes_and_selects_and_the_cost_is_told() -> None:
    llm = ThinkingLLM(prompts=[])
    retriever = D3Retriever.from_documents(
        documents(FILMS + FILLER), llm=llm, summariser=None, where={"doc_id": "films"}
    )
    assert llm.prompts == []
    estimate = retriever.estimate(QUESTION)
    assert llm.prompts == [] and estimate.total.calls >= 2
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
    assert retriever.usage.calls == 2 * 2 and result.total.calls <= estimate.total.calls


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


async def test_async_equals_sync_and_is_native() -> None:
    llm = ThinkingLLM(prompts=[])
    options: dict[str, Any] = {
        "embed_model": HashEmbedding(),
        "llm": llm,
        "summariser": None,
    }
    retriever = D3Retriever.from_documents(documents(FILMS + FILLER), **options)
    other = await D3Retriever.afrom_documents(documents(FILMS + FILLER), **options)
    expected = retriever.retrieve(QUESTION)
    assert llm.async_calls == 0
    assert (
        await retriever.aretrieve(QUESTION)
        == await other.aretrieve(QUESTION)
        == expected
    )
    assert llm.async_calls > 0
    assert await retriever.aresults([QUESTION, ""]) == retriever.results([QUESTION, ""])


def test_strategies_and_limits() -> None:
    retriever = D3Retriever.from_documents(
        documents(), strategy="lexical", similarity_top_k=1
    )
    assert len(retriever.retrieve("Ada Holm film Bergen")) == 1
    assert (
        D3Retriever(D3Index(), selection=Selection(strategy="lexical")).retrieve("x")
        == []
    )


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


class FixedRetriever(BaseRetriever):
    """Another package's retriever: the paragraph with most words of the query."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay = delay
        super().__init__()

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        time.sleep(self.delay)
        asked = set(re.findall(r"\w+", query_bundle.query_str.lower()))
        parts = [part for part in FILMS.split("\n\n") if not part.startswith("#")]
        best = max(
            parts, key=lambda part: len(asked & set(re.findall(r"\w+", part.lower())))
        )
        return [NodeWithScore(node=TextNode(text=best, id_=best[:12]), score=0.5)]


RETRIEVERS: dict[str, Any] = {
    "d3": lambda: D3Retriever.from_documents(documents(), similarity_top_k=2),
    "multi-view": lambda: MultiViewRetriever.from_documents(
        documents(), embed_model=HashEmbedding(), similarity_top_k=3
    ),
    "hiqa": lambda: HiQARetriever.from_documents(documents(), similarity_top_k=2),
    "other": FixedRetriever,
}


@pytest.mark.parametrize("name", list(RETRIEVERS))
async def test_two_follow_ups_lead_to_the_answer(name: str) -> None:
    llm = asker()
    engine = SelfAskQueryEngine(RETRIEVERS[name](), llm)
    response = engine.query(QUESTION)
    assert str(response) == "Bergen"
    told = response.metadata
    assert told["stopped"] == "final_answer" and told["failures"] == 0
    assert [(hop["follow_up"], hop["answer"]) for hop in told["trace"]] == [
        ("Who directed The Lantern?", "Ada Holm"),
        ("Where was Ada Holm born?", "Bergen"),
    ]
    ids = {node.node_id for node in response.source_nodes}
    assert {each for hop in told["trace"] for each in hop["evidence"]} == ids
    assert told["cost"]["ask"]["calls"] == 3 and told["cost"]["answer"]["calls"] == 2
    json.dumps(told)
    assert llm.async_calls == 0
    again = await engine.aquery(QUESTION)
    assert (again.response, again.metadata, again.source_nodes) == (
        response.response,
        told,
        response.source_nodes,
    )
    assert llm.async_calls == 5


def test_the_nodes_are_those_of_the_retriever() -> None:
    retriever = D3Retriever.from_documents(documents(), where={"doc_id": "films"})
    engine = SelfAskQueryEngine.from_args(retriever, asker())
    nodes = {node.node_id: node for node in engine.query(QUESTION).source_nodes}
    assert {node.node.ref_doc_id for node in nodes.values()} == {"films"}
    assert all(
        FILMS[n.node.start_char_idx : n.node.end_char_idx] == n.node.text
        for n in nodes.values()
    )
    assert engine.retrieve(QueryBundle(QUESTION)) == retriever.retrieve(QUESTION)


def test_prompts_events_and_tools_work_as_for_any_query_engine() -> None:
    debug = LlamaDebugHandler(print_trace_on_end=False)
    llm = asker()
    engine = SelfAskQueryEngine(
        RETRIEVERS["d3"](), llm, callback_manager=CallbackManager([debug])
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


async def test_a_blocking_retriever_leaves_the_loop_free() -> None:
    async with ticking() as ticks:
        await SelfAskQueryEngine(FixedRetriever(delay=0.1), asker()).aquery(QUESTION)
    assert ticks() > 10


# -- TwoHopRetriever


def test_an_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="store must be a folder for D3Index"):
        D3Retriever.from_documents(
            [], embed_model=HashEmbedding(), store=f"lancedb:{tmp_path}"
        )
    with pytest.raises(ValueError, match="store must be a folder for D3Index"):
        D3Retriever.load(f"lancedb:{tmp_path}", embed_model=HashEmbedding())
