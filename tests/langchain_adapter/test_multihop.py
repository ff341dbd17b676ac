"""SelfAsk as a Runnable and TwoHopRetriever: over the retrievers here and any other, traced, sync
and async."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langchain_fakes import Scripted

from langchain_structrag import (
    D3Retriever,
    HiQARetriever,
    MultiViewRetriever,
    SelfAsk,
    TwoHopRetriever,
)
from structrag.errors import InvalidParameter

TEXTS = {
    "x100": "# X100\n\nThe X100 is made by Acme.\n",
    "acme": "# Acme\n\nAcme was founded by Jane Doe.\n",
    "zeta": "# Zeta\n\nZeta makes lamps.\n",
}
DOCUMENTS = [
    Document(page_content=text, metadata={"source": f"{name}.md"})
    for name, text in TEXTS.items()
]
QUESTION = "Who founded the maker of the X100?"


def two_hops(prompt: str) -> str:
    """Asks for the maker, then for its founder; answers from the evidence."""
    if "follow-up questions" in prompt:
        told = prompt.rpartition("Question:")[2]
        if "Intermediate answer: Jane Doe" in told:
            return "So the final answer is: Jane Doe"
        return (
            "Follow up: Who founded Acme?"
            if "Intermediate answer: Acme" in told
            else "Follow up: Who makes the X100?"
        )
    evidence = prompt.partition("Evidence:")[2]
    if "Who founded Acme?" in prompt:
        return "Jane Doe" if "Jane Doe" in evidence else "Unanswerable"
    return "Acme" if "made by Acme" in evidence else "Unanswerable"


class Words(BaseRetriever):
    """Another package's retriever: documents with a word of the question."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: Any
    ) -> list[Document]:
        wanted = set(re.findall(r"\w{4,}", query)) | set(re.findall(r"X\d+", query))
        return [
            d for d in DOCUMENTS if wanted & set(re.findall(r"\w+", d.page_content))
        ]


MODEL = Scripted(script=two_hops)
RETRIEVERS: dict[str, Callable[[], BaseRetriever]] = {
    "d3": lambda: D3Retriever.from_documents(DOCUMENTS),
    "multiview": lambda: MultiViewRetriever.from_documents(DOCUMENTS, k=1),
    "hiqa": lambda: HiQARetriever.from_documents(DOCUMENTS, k=1),
    "other": lambda: Words(),
    "twohop": lambda: TwoHopRetriever(
        retriever=MultiViewRetriever.from_documents(DOCUMENTS, k=1)
    ),
}


async def test_batches_dicts_chains_and_conditions() -> None:
    chain = SelfAsk(RETRIEVERS["multiview"](), MODEL)
    expected = chain.invoke(QUESTION)
    assert chain.batch([QUESTION, {"question": QUESTION}]) == [expected, expected]
    assert await chain.abatch([QUESTION], config={"max_concurrency": 1}) == [expected]
    assert (
        RunnableLambda(lambda text: {"question": text})
        | chain
        | (lambda r: r["answer"])
    ).invoke(QUESTION) == "Jane Doe"
    assert list(chain.stream(QUESTION)) == [expected]
    nothing = chain.invoke(QUESTION, where={"doc_id": "zeta.md"})
    assert nothing["answer"] == "Unanswerable"
    assert nothing == chain.invoke(
        {"question": QUESTION, "where": {"doc_id": "zeta.md"}}
    )
    assert {d.metadata["doc_id"] for d in nothing["evidence"]} == {"zeta.md"}
    with pytest.raises(InvalidParameter, match="where"):
        SelfAsk(Words(), MODEL).invoke(QUESTION, where={"doc_id": "zeta.md"})


@pytest.mark.parametrize("kind", ["d3", "other"])
async def test_calls_and_searches_are_child_runs(kind: str) -> None:
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

    chain = SelfAsk(RETRIEVERS[kind](), MODEL)
    chain.invoke(QUESTION, config={"callbacks": [Recorder()]})
    await chain.ainvoke(QUESTION, config={"callbacks": [Recorder()]})
    assert runs["model"] == [run for run in runs["chain"] for _ in range(5)]
    assert runs["retriever"] == (
        [run for run in runs["chain"] for _ in range(2)] if kind == "other" else []
    )
