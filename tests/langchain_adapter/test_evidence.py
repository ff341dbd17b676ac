"""Evidence within a token budget in LangChain."""

from __future__ import annotations

from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests

from langchain_structrag import (
    EvidenceRetriever,
)

PUMP = "# Pump\n\nIt moves water.\n\n## Cleaning\n\nRinse the filter every week.\n"
CATS = "# Cats\n\nCats sleep all day.\n\n## Food\n\nThey eat fish at noon.\n"
DOCUMENTS = [
    Document(PUMP, metadata={"source": "pump.md", "year": 2020}),
    Document(CATS, metadata={"source": "cats.md", "year": 2021}),
]


class TestStandard(RetrieversIntegrationTests):
    """LangChain's own tests of retrievers."""

    @property
    def retriever_constructor(self) -> type[BaseRetriever]:
        return EvidenceRetriever

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        texts = [document.page_content for document in DOCUMENTS]
        return {"index": EvidenceRetriever.from_texts(texts * 3).index}

    @property
    def retriever_query_example(self) -> str:
        return "filter water cats fish day week"
