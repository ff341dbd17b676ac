"""A vector store in place of the index's own vectors."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_structrag import MultiViewRetriever
from langchain_structrag.stores import LangChainDenseStore, entry_id
from structrag.errors import InvalidParameter

EMBEDDING = DeterministicFakeEmbedding(size=8)
TEXT = "".join(f"# H{i}\n\nText number {i}.\n\n" for i in range(12))
DOCUMENTS = [
    Document(page_content=TEXT, metadata={"source": f"{name}.md", "name": name}) for name in "ab"
]


class Distances(InMemoryVectorStore):
    """Gives distances instead of similarities, like FAISS."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return [(d, 1 - s) for d, s in super().similarity_search_with_score(query, k, **kwargs)]


class Scoreless(InMemoryVectorStore):
    """Gives neither scores nor documents by their ids; deletes blindly."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        raise NotImplementedError

    def similarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return [d for d, _ in super().similarity_search_with_score(query, k, **kwargs)]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        raise NotImplementedError

    async def asimilarity_search(self, query: str, k: int = 4, **kwargs: Any) -> list[Document]:
        return self.similarity_search(query, k, **kwargs)

    def get_by_ids(self, ids: Any) -> list[Document]:
        raise NotImplementedError


class Strict(InMemoryVectorStore):
    """Refuses to add what it has and to delete what it does not have, like FAISS; counts
    searches."""

    searches: list[int]

    def delete(self, ids: Any = None, **kwargs: Any) -> None:
        if not set(ids) <= set(self.store):
            raise ValueError("unknown ids")
        super().delete(ids, **kwargs)

    def add_documents(
        self, documents: list[Document], ids: list[str] | None = None, **kwargs: Any
    ) -> list[str]:
        if set(ids or ()) & set(self.store):
            raise ValueError("ids exist")
        return super().add_documents(documents, ids, **kwargs)

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        self.searches.append(k)
        return super().similarity_search_with_score(query, k, **kwargs)


def order(store: Any, query: str = "Text number 3.") -> list[str]:
    retriever = MultiViewRetriever.from_documents(
        DOCUMENTS, vectorstore=store, routes=["dense"], views=["raw", "keywords"]
    )
    return [str(d.id) for d in retriever.invoke(query, k=24)]


async def test_distances_and_ranks_order_like_similarities() -> None:
    by_similarity = order(InMemoryVectorStore(EMBEDDING))
    assert order(Distances(EMBEDDING)) == by_similarity
    assert len(set(by_similarity)) == 24
    retriever = MultiViewRetriever.from_documents(
        DOCUMENTS, vectorstore=Scoreless(EMBEDDING), routes=["dense"], views=["raw"]
    )
    similar = MultiViewRetriever.from_documents(
        DOCUMENTS, vectorstore=InMemoryVectorStore(EMBEDDING), routes=["dense"], views=["raw"]
    )
    expected = [d.id for d in similar.invoke("Text number 3.", k=9)]
    assert [d.id for d in retriever.invoke("Text number 3.", k=9)] == expected
    assert [d.id for d in await retriever.ainvoke("Text number 3.", k=9)] == expected
    assert retriever.delete("a.md")
    assert retriever.delete("b.md")


def test_one_document_per_chunk_and_view_is_kept_and_deleted() -> None:
    store = InMemoryVectorStore(EMBEDDING)
    store.add_documents([Document(page_content="mine", id="other")])
    retriever = MultiViewRetriever.from_documents(DOCUMENTS[:1], vectorstore=store)
    first = retriever.invoke("Text", k=1)[0]
    kept = store.get_by_ids([entry_id(f"{first.id}", "raw")])[0]
    assert kept.metadata == {
        "structrag_chunk": first.id,
        "structrag_document": "a.md",
        "structrag_view": "raw",
    }
    assert len(store.store) == 1 + len(retriever.index) * 3
    assert all(d.page_content != "mine" for d in retriever.invoke("mine", k=99))
    retriever.delete("a.md")
    assert list(store.store) == ["other"]


def test_filtered_searches_ask_for_more_until_there_is_enough() -> None:
    store = Strict(EMBEDDING)
    store.searches = []
    retriever = MultiViewRetriever.from_documents(DOCUMENTS, vectorstore=store)
    hits = retriever.index.search("Text number 3.", 5, where={"name": "b"})
    assert [hit.chunk.doc_id for hit in hits] == ["b.md"] * 5
    assert store.searches[0] == 10
    assert all(
        after == 2 * before
        for before, after in zip(store.searches, store.searches[1:], strict=False)
    )
    plain = MultiViewRetriever.from_documents(DOCUMENTS)
    assert len(plain.index.search("Text number 3.", 5, where={"name": "b"})) == 5
    retriever.add_documents([Document(page_content="# H\n\nnew\n", metadata=DOCUMENTS[0].metadata)])
    assert retriever.delete("a.md")


def test_a_store_that_is_full_already_is_taken_over() -> None:
    store = Strict(EMBEDDING)
    store.searches = []
    first = MultiViewRetriever.from_documents(DOCUMENTS, vectorstore=store)
    again = MultiViewRetriever.from_documents(DOCUMENTS, vectorstore=store)
    assert len(store.store) == 3 * len(again.index)
    assert [d.id for d in again.invoke("Text number 3.")] == [
        d.id for d in first.invoke("Text number 3.")
    ]


def test_a_service_limit_is_kept() -> None:
    store = Strict(EMBEDDING)
    store.searches = []
    retriever = MultiViewRetriever.from_documents(
        DOCUMENTS, vectorstore=LangChainDenseStore(store, max_results=20)
    )
    assert len(retriever.invoke("Text number 3.", k=5)) == 5
    assert max(store.searches) <= 20


def test_wrong_store_is_named() -> None:
    with pytest.raises(InvalidParameter, match="vectorstore"):
        LangChainDenseStore(object())  # type: ignore[arg-type]
