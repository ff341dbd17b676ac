"""A vector store in place of the index's own vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from fixture_cases import examples
from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.vectorstores import InMemoryVectorStore, VectorStore

from langchain_structrag import MultiViewRetriever
from langchain_structrag.stores import entry_id

EMBEDDING = DeterministicFakeEmbedding(size=8)
TEXT = "".join(f"# H{i}\n\nText number {i}.\n\n" for i in range(12))
DOCUMENTS = [
    Document(page_content=TEXT, metadata={"source": f"{name}.md", "name": name})
    for name in "ab"
]


class Distances(InMemoryVectorStore):
    """Gives distances instead of similarities, like FAISS."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        return [
            (d, 1 - s)
            for d, s in super().similarity_search_with_score(query, k, **kwargs)
        ]


class Scoreless(InMemoryVectorStore):
    """Gives neither scores nor documents by their ids; deletes blindly."""

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        raise NotImplementedError

    def similarity_search(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return [d for d, _ in super().similarity_search_with_score(query, k, **kwargs)]

    async def asimilarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        raise NotImplementedError

    async def asimilarity_search(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[Document]:
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
        DOCUMENTS,
        vectorstore=InMemoryVectorStore(EMBEDDING),
        routes=["dense"],
        views=["raw"],
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


class Unknown(VectorStore):
    """A store whose filters nobody knows; counts searches."""

    def __init__(self) -> None:
        self.inner, self.searches = InMemoryVectorStore(EMBEDDING), []  # type: ignore[var-annotated]

    def add_documents(self, documents: list[Document], **kwargs: Any) -> list[str]:
        return self.inner.add_documents(documents, **kwargs)

    def delete(self, ids: Any = None, **kwargs: Any) -> None:
        self.inner.delete(ids)

    def get_by_ids(self, ids: Any) -> list[Document]:
        return self.inner.get_by_ids(ids)

    def similarity_search_with_score(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[tuple[Document, float]]:
        assert not kwargs
        self.searches.append(k)
        return self.inner.similarity_search_with_score(query, k)

    def similarity_search(
        self, query: str, k: int = 4, **kwargs: Any
    ) -> list[Document]:
        return self.inner.similarity_search(query, k)

    @classmethod
    def from_texts(cls, *args: Any, **kwargs: Any) -> Unknown:
        raise NotImplementedError


def test_a_store_without_a_known_filter_is_asked_for_more_until_there_is_enough() -> (
    None
):
    store = Unknown()
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
    retriever.add_documents(
        [Document(page_content="# H\n\nnew\n", metadata=DOCUMENTS[0].metadata)]
    )
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


@examples
@pytest.mark.parametrize("n_others", [0, 300])
def test_a_question_asks_the_store_once_for_each_view(
    where: Any, n_others: int
) -> None:
    store = Strict(EMBEDDING)
    store.searches = []
    store.add_documents(
        [Document(f"Text number {i}.") for i in range(n_others)], ids=None
    )
    many = [
        Document(
            f"# A\n\nText {i}.\n\n# B\n\nMore {i}.",
            metadata={"source": f"a{i}", "name": f"a{i}"},
        )
        for i in range(150)
    ]
    retriever = MultiViewRetriever.from_documents(many, vectorstore=store)
    found = retriever.invoke("Text number 3.", where=where)
    assert store.searches == [100] * 3 and len(found) == (
        5 if where is None else len(found)
    )
    assert where is None or {d.metadata["name"] for d in found} <= {"a1", "a7"}
    store.searches.clear()
    retriever.pool = 20
    retriever.invoke("Text number 3.", where=where)
    assert store.searches == [20] * 3


def test_a_filter_of_ones_own() -> None:
    store = Unknown()
    asked = []

    def own(view: str, documents: Any) -> dict[str, Any]:
        asked.append((view, documents))
        return {}

    retriever = MultiViewRetriever.from_documents(
        DOCUMENTS, vectorstore=store, store_filter=own, views=["raw"], max_results=7
    )
    assert len(retriever.invoke("Text number 3.", where={"name": "b"})) == 5
    assert asked == [("raw", ["b.md"])] and max(store.searches) <= 7


@pytest.mark.parametrize("kind", [InMemoryVectorStore, Distances, Scoreless])
async def test_a_store_without_the_index_is_told(kind: Any, tmp_path: Path) -> None:
    store = kind(EMBEDDING)
    made = MultiViewRetriever.from_documents(DOCUMENTS, vectorstore=store, k=3)
    made.save(tmp_path / "index")
    assert made.invoke("Text number 3.", where={"name": "b"})
    other = kind(EMBEDDING)
    other.add_documents([Document("Text number 3.")])
    for wrong in (kind(EMBEDDING), other):
        opened = MultiViewRetriever.load(tmp_path / "index", vectorstore=wrong, k=3)
        with pytest.warns(UserWarning, match="only words were matched"):
            assert opened.invoke("Text number 3.")
        with pytest.warns(UserWarning, match="only words were matched"):
            assert await opened.ainvoke("Text number 3.", where={"name": "b"})
    emptied = MultiViewRetriever.load(tmp_path / "index", vectorstore=store, k=3)
    emptied.delete(emptied.index.document_ids)
    assert emptied.invoke("Text number 3.") == []  # as it should be
