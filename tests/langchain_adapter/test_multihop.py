"""SelfAsk as a Runnable: over the retrievers here and any other, traced, sync
and async."""

from __future__ import annotations

from typing import Any

import pytest
from frameworks import LangChainWords
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_fakes import Scripted
from multihop_making import FILMS, QUESTION, two_hops

from langchain_structrag import (
    MultiViewRetriever,
    SelfAsk,
)
from structrag.errors import InvalidParameter

MODEL = Scripted(script=two_hops)
TEXTS = {"films": FILMS, "other": "# Other\n\nSomething else is here.\n"}
DOCUMENTS = [Document(text, id=name) for name, text in TEXTS.items()]


def retriever() -> MultiViewRetriever:
    return MultiViewRetriever.from_documents(DOCUMENTS, "lsa", k=3)


def other() -> BaseRetriever:
    """Another package's retriever."""
    parts = [Document(part) for part in FILMS.split("\n") if part]
    return LangChainWords(documents=parts)


async def test_batches_dicts_chains_and_conditions() -> None:
    chain = SelfAsk(retriever(), MODEL)
    expected = chain.invoke(QUESTION)
    assert chain.batch([QUESTION, {"question": QUESTION}]) == [expected, expected]
    assert await chain.abatch([QUESTION], config={"max_concurrency": 1}) == [expected]
    assert (
        RunnableLambda(lambda text: {"question": text})
        | chain
        | (lambda r: r["answer"])
    ).invoke(QUESTION) == "Bergen"
    assert list(chain.stream(QUESTION)) == [expected]
    nothing = chain.invoke(QUESTION, where={"doc_id": "other"})
    assert nothing["answer"] == "Unanswerable"
    assert nothing == chain.invoke({"question": QUESTION, "where": {"doc_id": "other"}})
    assert {d.metadata["doc_id"] for d in nothing["evidence"]} == {"other"}
    with pytest.raises(InvalidParameter, match="where"):
        SelfAsk(other(), MODEL).invoke(QUESTION, where={"doc_id": "other"})


@pytest.mark.parametrize("make", [retriever, other])
async def test_calls_and_searches_are_child_runs(make: Any) -> None:
    runs: dict[str, list[Any]] = {"chain": [], "model": [], "retriever": []}

    class Recorder(BaseCallbackHandler):
        def on_chain_start(self, *args: Any, run_id: Any, **kwargs: Any) -> None:
            runs["chain"].append(run_id)

        def on_chat_model_start(
            self, *args: Any, parent_run_id: Any = None, **kwargs: Any
        ) -> None:
            runs["model"].append(parent_run_id)

        def on_retriever_start(
            self, *args: Any, parent_run_id: Any = None, **kwargs: Any
        ) -> None:
            runs["retriever"].append(parent_run_id)

    chain = SelfAsk(make(), MODEL)
    chain.invoke(QUESTION, config={"callbacks": [Recorder()]})
    await chain.ainvoke(QUESTION, config={"callbacks": [Recorder()]})
    assert runs["model"] == [run for run in runs["chain"] for _ in range(5)]
    assert runs["retriever"] == (
        [run for run in runs["chain"] for _ in range(2)] if make is other else []
    )
