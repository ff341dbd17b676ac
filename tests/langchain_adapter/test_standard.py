"""LangChain's own suite for retrievers, offline."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_structrag import (
    D3Retriever,
    HiQARetriever,
    MultiViewRetriever,
)

TEXT = (
    "# Pets\n\nIntro.\n\n## Cats\n\nCats purr.\n\n## Dogs\n\nDogs bark.\n\n## Birds\n\nBirds "
    "sing.\n"
)
DOCUMENTS = [Document(page_content=TEXT, metadata={"source": "pets.md"})]


class Standard(RetrieversIntegrationTests):
    options: dict[str, Any] = {"embedding": "lsa"}  # noqa: RUF012

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MultiViewRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        made = MultiViewRetriever.from_documents(DOCUMENTS, **self.options)
        return {"index": made.index}

    @property
    def retriever_query_example(self) -> str:
        return "Which animals purr?"


class TestWithoutModel(Standard):
    pass


class TestHiQA(Standard):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return HiQARetriever


class TestD3(Standard):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return D3Retriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"index": D3Retriever.from_documents(DOCUMENTS, "lsa").index}


class TestWithEmbeddings(Standard):
    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        self.options = {"embedding": DeterministicFakeEmbedding(size=8)}
        return super().retriever_constructor_params


class TestWithVectorStore(Standard):
    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        self.options = {
            "vectorstore": InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        }
        return super().retriever_constructor_params


del Standard
