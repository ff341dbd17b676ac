"""structrag's embedders as LangChain embeddings: the standard tests, batches, async, what is
refused, pickling."""

from __future__ import annotations

import asyncio
import pickle
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from doubles import HashEmbedder
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import EmbeddingsIntegrationTests
from langchain_tests.unit_tests import EmbeddingsUnitTests

from langchain_structrag import MultiViewRetriever, StructragEmbeddings
from structrag.errors import InvalidParameter
from structrag.models import LsaEmbedder


def lengths(texts: list[str]) -> list[list[float]]:
    """A function as an embedder, at the top level so that it can be pickled."""
    return [[1.0, float(len(text))] for text in texts]


class CallSettings(HashEmbedder):
    """Tells queries from documents, remembers its batches and whether it was awaited."""

    def __init__(self) -> None:
        super().__init__(dimensions=8)
        self.batches: list[int] = []
        self.awaited = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        self.batches.append(len(texts))
        return super().embed(texts) * (2 if query else 1)

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> np.ndarray:
        self.awaited += 1
        assert threading.current_thread() is threading.main_thread()
        await asyncio.sleep(0)
        return self.embed(texts, query=query)


class TestUnit(EmbeddingsUnitTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return StructragEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": HashEmbedder()}


class TestIntegration(EmbeddingsIntegrationTests):
    @property
    def embeddings_class(self) -> type[Embeddings]:
        return StructragEmbeddings

    @property
    def embedding_model_params(self) -> dict[str, Any]:
        return {"embedder": lengths}


async def test_vectors_are_the_embedders_own_and_queries_are_told_apart() -> None:
    embeddings = StructragEmbeddings(CallSettings())
    expected = HashEmbedder(dimensions=8).embed(["a pump", "a valve"])
    assert np.allclose(embeddings.embed_documents(["a pump", "a valve"]), expected)
    assert np.allclose(embeddings.embed_query("a pump"), 2 * expected[0])
    assert await embeddings.aembed_documents(
        ["a pump", "a valve"]
    ) == embeddings.embed_documents(["a pump", "a valve"])
    assert await embeddings.aembed_query("a pump") == embeddings.embed_query("a pump")
    assert embeddings.embedder.awaited == 2
    assert embeddings.embed_documents([]) == [] == await embeddings.aembed_documents([])


async def test_a_function_is_awaited_in_a_worker_thread() -> None:
    seen: list[threading.Thread] = []

    def embed(texts: list[str]) -> list[list[float]]:
        seen.append(threading.current_thread())
        return lengths(texts)

    assert await StructragEmbeddings(embed).aembed_documents(["a"]) == [[1.0, 1.0]]
    assert seen[0] is not threading.main_thread()


def test_it_is_pickled_with_its_settings(tmp_path: Path) -> None:
    path = tmp_path / "vectors.sqlite"
    again = pickle.loads(
        pickle.dumps(StructragEmbeddings(lengths, batch_size=2, cache=path))
    )
    assert again.embed_documents(["a", "bb", "ccc"]) == [
        [1.0, 1.0],
        [1.0, 2.0],
        [1.0, 3.0],
    ]
    assert again.model_name == StructragEmbeddings(lengths).model_name and repr(
        again
    ).startswith("StructragEmbeddings(")
    assert StructragEmbeddings(lengths, cache=path).embed_query("a") == [1.0, 1.0]
    with pytest.raises((AttributeError, pickle.PicklingError)):
        pickle.dumps(StructragEmbeddings(lambda texts: lengths(texts)))


def test_a_vector_store_takes_it() -> None:
    store = InMemoryVectorStore.from_texts(
        ["the pump moves water", "the valve closes"],
        StructragEmbeddings(HashEmbedder()),
    )
    assert (
        store.similarity_search("valve closes", k=1)[0].page_content
        == "the valve closes"
    )


def test_our_retrievers_use_the_embedder_inside() -> None:
    embedder = HashEmbedder(max_tokens=20)
    retriever = MultiViewRetriever.from_texts(
        [" ".join(f"Pump {i} moves." for i in range(40))],
        StructragEmbeddings(embedder),
        views=("raw",),
    )
    assert retriever.index.embedder is embedder
    assert len(embedder.texts) > len(retriever.index)  # windows, not truncation


@pytest.mark.parametrize(
    ("embedder", "sentence"),
    [
        (
            None,
            "stay the same when documents are added; LSA.*, which None stands for, is fitted",
        ),
        (LsaEmbedder(), "stay the same when documents are added; LSA"),
        (3, "embedder must be None .LSA., the name or folder"),
        (DeterministicFakeEmbedding(size=4), "Objects of LangChain"),
        ("no/such-model", "cannot be loaded"),
    ],
)
def test_what_is_no_embedder_is_refused(embedder: Any, sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        StructragEmbeddings(embedder)
