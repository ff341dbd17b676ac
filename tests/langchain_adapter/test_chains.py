"""MultiViewRetriever in chains: batches, tracing, callbacks, models, the event loop."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import FakeListChatModel
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnablePassthrough
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import DOCUMENTS, multiview
from ticking import ticking

from langchain_structrag import D3Retriever, MultiViewRetriever

# -- as a Runnable


async def test_batch_chain_and_config() -> None:
    retriever = multiview("embedding", k=1)
    both = retriever.batch(["moon", "cats purr"])
    assert [d[0].id for d in both] == [
        retriever.invoke("moon")[0].id,
        retriever.invoke("cats purr")[0].id,
    ]
    assert await retriever.abatch(["moon", "cats purr"]) == both
    assert [len(d) for d in retriever.batch(["moon", "cats"], k=2)] == [2, 2]
    chain = (
        {
            "context": retriever.with_config(tags=["r"]),
            "question": RunnablePassthrough(),
        }
        | ChatPromptTemplate.from_template("{context} {question}")
        | FakeListChatModel(responses=["answer"])
        | StrOutputParser()
    )
    assert chain.invoke("moon") == "answer"
    assert await chain.ainvoke("moon") == "answer"


def test_tracing_names_and_no_serialisation() -> None:
    started: dict[str, Any] = {}

    class Tracer(BaseCallbackHandler):
        def on_retriever_start(
            self, serialized: Any, query: str, **kwargs: Any
        ) -> None:
            started.update(kwargs["metadata"])

    multiview("embedding").invoke("moon", config={"callbacks": [Tracer()]})
    assert started["ls_retriever_name"] == "multiview"
    assert started["ls_embedding_provider"] == "BagOfWords"
    retriever = multiview("vectorstore")
    assert (
        retriever._get_ls_params()["ls_vector_store_provider"] == "InMemoryVectorStore"
    )
    assert not retriever.is_lc_serializable()
    assert retriever.to_json()["type"] == "not_implemented"


class Counting(FakeListChatModel):
    """Answers every prompt with the same summary and keywords."""

    responses: list[str] = [  # noqa: RUF012
        json.dumps({"summary": "About whales.", "keywords": ["whale", "krill"]})
    ]


async def test_callbacks_reach_model_calls_made_while_searching() -> None:
    runs: dict[str, list[Any]] = {"retriever": [], "model": []}

    class Recorder(BaseCallbackHandler):
        def on_retriever_start(self, *args: Any, run_id: Any, **kwargs: Any) -> None:
            runs["retriever"].append(run_id)

        def on_chat_model_start(
            self, *args: Any, parent_run_id: Any = None, **kwargs: Any
        ) -> None:
            runs["model"].append(parent_run_id)

    retriever = D3Retriever.from_documents(
        DOCUMENTS, "lsa", llm=Counting(), summariser=None, router="llm"
    )
    retriever.invoke("q", config={"callbacks": [Recorder()]})
    await retriever.ainvoke("q", config={"callbacks": [Recorder()]})
    retriever.invoke("q")
    assert len(runs["model"]) == 2
    assert runs["model"] == runs["retriever"]


class SlowEmbedding(DeterministicFakeEmbedding):
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        time.sleep(0.1)
        return super().embed_documents(texts)

    def embed_query(self, text: str) -> list[float]:
        time.sleep(0.1)
        return super().embed_query(text)


@pytest.mark.parametrize("with_store", [False, True])
async def test_the_loop_keeps_running(with_store: bool) -> None:
    slow = SlowEmbedding(size=8)
    models: dict[str, Any] = (
        {"vectorstore": InMemoryVectorStore(slow)}
        if with_store
        else {"embedding": slow}
    )
    async with ticking(0.01) as ticks:
        retriever = await MultiViewRetriever.afrom_documents(DOCUMENTS, **models)
    assert ticks() >= 5
    async with ticking(0.01) as ticks:
        await retriever.ainvoke("moon")
    assert ticks() >= 5
