"""MultiViewRetriever as a LangChain retriever."""

from __future__ import annotations

import pytest
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import DOCUMENTS, EMBEDDING

from langchain_structrag import (
    MultiViewRetriever,
)
from structrag.errors import InvalidParameter


def test_other_bad_arguments() -> None:
    with pytest.raises(InvalidParameter, match="embedding"):
        MultiViewRetriever.from_documents(
            DOCUMENTS, EMBEDDING, vectorstore=InMemoryVectorStore(EMBEDDING)
        )
    with pytest.raises(InvalidParameter, match="vectorstore"):
        MultiViewRetriever.from_documents(DOCUMENTS, vectorstore="chroma")
