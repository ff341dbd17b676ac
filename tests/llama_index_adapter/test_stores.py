"""A vector store in place of the index's own vectors: what is asked of it, and what it must do."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from llama_index.core import Document
from llama_index.core.vector_stores import SimpleVectorStore
from llama_index_fakes import HashEmbedding, ListStore

from llama_index_structrag import MultiViewRetriever
from structrag.errors import InvalidParameter, ModelFailed


def documents(n: int) -> list[Document]:
    return [
        Document(
            text=f"# A\n\nText {i}.\n\n# B\n\nMore {i}.",
            id_=f"d{i}",
            metadata={"name": i},
        )
        for i in range(n)
    ]


@pytest.mark.parametrize("where", [None, {"name": 3}])
def test_a_question_asks_the_store_once_for_each_view(where: Any) -> None:
    store = ListStore(nodes={}, queries=[])
    retriever = MultiViewRetriever.from_documents(
        documents(150), embed_model=HashEmbedding(), vector_store=store, where=where
    )
    store.queries.clear()
    found = retriever.retrieve("Text number 3.")
    assert store.queries == ["sync"] * 3
    assert where is None or {node.node.ref_doc_id for node in found} == {"d3"}


class Unfiltered(SimpleVectorStore):
    """Takes no filters, like FAISS."""

    def query(self, query: Any, **kwargs: Any) -> Any:
        if query.filters is not None:
            raise ValueError("Metadata filters not implemented for this store yet.")
        return super().query(query, **kwargs)


def test_a_store_that_cannot_filter_is_refused_when_the_retriever_is_made() -> None:
    with pytest.raises(
        InvalidParameter,
        match=r"vector_store must filter by metadata; Unfiltered cannot\. Use",
    ):
        MultiViewRetriever.from_documents(
            documents(2), embed_model=HashEmbedding(), vector_store=Unfiltered()
        )


class WithoutAsync(SimpleVectorStore):
    """A store whose client was made for calls that are not awaited, as Qdrant's can be."""

    async def aquery(self, query: Any, **kwargs: Any) -> Any:
        raise ValueError("pass in aclient")


async def test_an_error_of_the_store_names_the_store() -> None:
    store = WithoutAsync()
    retriever = MultiViewRetriever.from_documents(
        documents(2), embed_model=HashEmbedding(), vector_store=store
    )
    assert retriever.retrieve("part 1")
    with pytest.raises(ValueError, match="pass in aclient") as caught:
        await retriever.aretrieve("part 1")
    if sys.version_info >= (3, 11):
        (note,) = caught.value.__notes__
        assert "vector store WithoutAsync raised ValueError" in note


class WithoutDelete(SimpleVectorStore):
    """A store whose `delete` is broken, as that of LanceDB's package is with lancedb 0.40."""

    def delete(self, ref_doc_id: str, **delete_kwargs: Any) -> None:
        raise ValueError("No field named structrag.")


def test_a_store_that_cannot_delete_is_named_and_nothing_is_deleted() -> None:
    retriever = MultiViewRetriever.from_documents(
        documents(2), embed_model=HashEmbedding(), vector_store=WithoutDelete()
    )
    broken = "vector store WithoutDelete raised ValueError"
    with pytest.raises(ModelFailed, match=broken):
        retriever.delete("d0")
    assert {node.node.ref_doc_id for node in retriever.retrieve("Text")} == {"d0", "d1"}
    with pytest.raises(ModelFailed, match=broken):
        retriever.add([Document(text="# A\n\nNew.", id_="d0")])


def test_a_store_without_the_index_is_told(tmp_path: Path) -> None:
    embedding = HashEmbedding()
    made = MultiViewRetriever.from_documents(
        documents(2), embed_model=embedding, vector_store=SimpleVectorStore()
    )
    made.save(tmp_path / "index")
    opened = MultiViewRetriever.load(
        tmp_path / "index", embed_model=embedding, vector_store=SimpleVectorStore()
    )
    with pytest.warns(UserWarning, match="only words were matched"):
        assert opened.retrieve("More 1.")
