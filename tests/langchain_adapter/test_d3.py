"""D3Retriever as a LangChain retriever: with and without a chat model, costs, settings."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_fakes import BagOfWords, Scripted, facts

from langchain_structrag import D3Retriever
from structrag.retrieval.d3.index import D3Index
from structrag.retrieval.d3.outlines import Routing
from structrag.retrieval.d3.retriever import D3Retriever as CoreRetriever
from structrag.retrieval.d3.selection import Selection

PAPER = (
    "# Pumps\n\nAll about pumps.\n\n## Data\n\nWe measured forty pumps in nine plants.\n\nEach ran "
    "for a year.\n\n"
    "## Results\n\nThe blue pump leaks least.\n\nThe red pump costs less.\n\n## Outlook\n\nMore "
    "pumps will be measured.\n"
)
OTHER = "# Valves\n\n## Data\n\nTen valves were opened and closed.\n"
DOCUMENTS = [
    Document(page_content=PAPER, metadata={"source": "pumps.md", "year": 2020}),
    Document(page_content=OTHER, metadata={"source": "valves.md", "year": 2021}),
]
QUESTION = "Which pump leaks least?"


def names_what_it_is_told(prompt: str) -> str:
    """The ids of the sections named Results, then of the paragraph on leaks; of a text without ids
    a summary."""
    shown = prompt.partition(QUESTION)[0]
    named = re.findall(r"\[(\d+)\][^\[]*?(?:Results|leaks least)", shown)
    return ", ".join(dict.fromkeys(named)) if "[1]" in shown else "A summary."


MODEL = Scripted(script=names_what_it_is_told)
KINDS = pytest.mark.parametrize(
    "options",
    [{}, {"embedding": BagOfWords()}, {"llm": MODEL}],
    ids=["lsa", "embedding", "llm"],
)


def made(**options: Any) -> D3Retriever:
    return D3Retriever.from_documents(DOCUMENTS, **options)


@KINDS
async def test_results_are_plain_paragraphs_in_reading_order_sync_and_async(
    options: dict[str, Any],
) -> None:
    retriever = made(**options)
    found = retriever.invoke(QUESTION)
    assert "The blue pump leaks least." in [d.page_content for d in found]
    for document in found:
        meta = document.metadata
        assert type(document) is Document and json.loads(json.dumps(meta)) == meta
        source = PAPER if meta["doc_id"] == "pumps.md" else OTHER
        assert source[meta["start_index"] : meta["end_index"]] == document.page_content
        assert meta["d3_kind"] == "paragraph" and isinstance(meta["rank"], int)
        assert meta["d3_route"] == ("llm" if "llm" in options else "scores")
    best = min(found, key=lambda d: d.metadata["rank"])
    assert best.metadata["heading_path"] == "Pumps > Results"
    places = [(d.metadata["doc_id"], d.metadata["start_index"]) for d in found]
    assert places == sorted(places)
    assert facts(await retriever.ainvoke(QUESTION)) == facts(found)
    grown = await D3Retriever.afrom_documents(DOCUMENTS, **options)
    assert facts(grown.invoke(QUESTION)) == facts(found)
    assert retriever.invoke(" ") == []
    assert facts(retriever.batch([QUESTION, QUESTION])[1]) == facts(found)


async def test_two_calls_and_their_cost() -> None:
    retriever = made(llm=MODEL, summariser=None)
    assert retriever.index.usage.calls == 0
    estimate = retriever.estimate(QUESTION)
    assert estimate.total.calls == 2 and retriever.usage.calls == 0
    result = retriever.result(QUESTION)
    assert [d.page_content for d in retriever.documents(result)] == [
        "The blue pump leaks least."
    ]
    assert result.total.calls == retriever.usage.calls == 2
    assert {stage: cost.calls for stage, cost in result.cost.items()} == {
        "route": 1,
        "select": 1,
    }
    assert result.total.tokens <= estimate.total.tokens
    assert (await retriever.aresult(QUESTION)).hits == result.hits
    assert [r.hits for r in retriever.results([QUESTION, QUESTION])] == [
        result.hits
    ] * 2
    assert [r.hits for r in await retriever.aresults([QUESTION])] == [result.hits]
    assert facts(retriever.documents(result)) == facts(retriever.invoke(QUESTION))


async def test_the_calls_are_child_runs_and_failures_are_counted() -> None:
    runs: dict[str, list[Any]] = {"retriever": [], "model": []}

    class Recorder(BaseCallbackHandler):
        def on_retriever_start(self, *args: Any, run_id: Any, **kwargs: Any) -> None:
            runs["retriever"].append(run_id)

        def on_chat_model_start(
            self, *args: Any, parent_run_id: Any = None, **kwargs: Any
        ) -> None:
            runs["model"].append(parent_run_id)

    retriever = made(llm=MODEL)
    retriever.invoke(QUESTION, config={"callbacks": [Recorder()]})
    await retriever.ainvoke(QUESTION, config={"callbacks": [Recorder()]})
    assert runs["model"] == [run for run in runs["retriever"] for _ in range(2)]

    def fail(prompt: str) -> str:
        raise RuntimeError("down")

    down = made(llm=Scripted(script=fail), summariser=None)
    result = down.result(QUESTION)
    assert result.degraded == 2 and "The blue pump leaks least." in [
        h.chunk.text.strip() for h in result.hits
    ]


def test_k_where_and_strategies() -> None:
    retriever = made(embedding=BagOfWords(), max_tokens=None)
    everything = retriever.invoke(QUESTION)
    assert len(everything) > 3
    assert [len(retriever.invoke(QUESTION, k=k)) for k in (1, 2, 3)] == [1, 2, 3]
    assert (
        retriever.invoke(QUESTION, k=1)[0].page_content == "The blue pump leaks least."
    )
    assert len(made(k=2).invoke(QUESTION)) == 2
    assert {
        d.metadata["doc_id"] for d in retriever.invoke("opened", where={"year": 2021})
    } == {"valves.md"}
    lexical = made(strategy="lexical", selection=Selection(k=2, threshold=0.0))
    assert [len(lexical.invoke(QUESTION)), len(lexical.invoke(QUESTION, k=1))] == [2, 1]
    chained = made(llm=MODEL, strategy="base+lexical")
    assert [d.page_content for d in chained.invoke(QUESTION)] == [
        "The blue pump leaks least."
    ]
    retriever.k = 1
    assert len(retriever.invoke(QUESTION)) == 1


def test_it_is_the_core_retriever() -> None:
    retriever = made(
        llm=MODEL,
        preset="paper",
        routing=Routing(answer_format="ids", on_empty="lexical"),
    )
    core = CoreRetriever(
        retriever.index,
        llm=names_what_it_is_told,
        preset="paper",
        routing=Routing(answer_format="ids", on_empty="lexical"),
    )
    assert [h.chunk.id for h in core.search(QUESTION)] == [
        d.id for d in retriever.invoke(QUESTION)
    ]
    assert D3Retriever(index=D3Index()).invoke("anything") == []


def test_an_engine_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="store must be a folder for D3Index"):
        made(embedding=BagOfWords(), store=f"lancedb:{tmp_path}")
    with pytest.raises(ValueError, match="store must be a folder for D3Index"):
        D3Retriever.load(f"lancedb:{tmp_path}", BagOfWords())
