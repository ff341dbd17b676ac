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
    TwoHopRetriever,
)
from langchain_structrag.retrieving import core_documents, make_index
from structrag.retrieval.d3.index import D3Index

TEXT = (
    "# Pets\n\nIntro.\n\n## Cats\n\nCats purr.\n\n## Dogs\n\nDogs bark.\n\n## Birds\n\nBirds "
    "sing.\n"
)


class Standard(RetrieversIntegrationTests):
    options: dict[str, Any] = {}  # noqa: RUF012

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return MultiViewRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        index = make_index(**self.options)
        index.add(
            core_documents(
                [Document(page_content=TEXT, metadata={"source": "pets.md"})], "auto"
            )
        )
        return {"index": index}

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
        index = D3Index()
        index.add(
            core_documents(
                [Document(page_content=TEXT, metadata={"source": "pets.md"})], "auto"
            )
        )
        return {"index": index}


class TestTwoHop(Standard):
    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return TwoHopRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retriever": MultiViewRetriever(**super().retriever_constructor_params)}


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
