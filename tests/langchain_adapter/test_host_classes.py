"""LangChain's own retrievers, compressors, chains and caches around ours."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.retrievers import BaseRetriever
from langchain_core.stores import InMemoryByteStore, InMemoryStore
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import DOCUMENTS, PETS, BagOfWords, Scripted

from langchain_structrag import (
    ContentAwareTextSplitter,
    D3Retriever,
    EvidenceCompressor,
    EvidenceRetriever,
    FixedTextSplitter,
    HiQARetriever,
    MultiViewRetriever,
    PICTextSplitter,
)

classic = pytest.importorskip("langchain_classic.retrievers")
compressors = pytest.importorskip("langchain_classic.retrievers.document_compressors")

QUESTION = "Which animals purr when content?"
ANSWER = "Cats purr when they are content."
BIRDS = Document("Birds sing at dawn.", metadata={"source": "birds.md"})
RETRIEVERS = [MultiViewRetriever, HiQARetriever, EvidenceRetriever, D3Retriever]
SPLITTERS = [ContentAwareTextSplitter, FixedTextSplitter, PICTextSplitter]


def birds() -> BaseRetriever:
    return InMemoryVectorStore.from_documents([BIRDS], BagOfWords()).as_retriever()


def pipeline() -> Any:
    return compressors.DocumentCompressorPipeline(
        transformers=[
            ContentAwareTextSplitter(chunk_size=50),
            EvidenceCompressor(max_tokens=10),
        ]
    )


def reorder(found: list[Document]) -> list[Document]:
    transformers = pytest.importorskip("langchain_community.document_transformers")
    return list(transformers.LongContextReorder().transform_documents(found))


WITH_OTHERS: dict[str, Any] = {
    "ensemble": lambda made: classic.EnsembleRetriever(
        retrievers=[made, birds()], weights=[0.7, 0.3]
    ),
    "merger": lambda made: classic.MergerRetriever(retrievers=[made, birds()]),
}
AROUND: dict[str, Any] = {
    **WITH_OTHERS,
    "compression": lambda made: classic.ContextualCompressionRetriever(
        base_compressor=pipeline(), base_retriever=made
    ),
    "multi query": lambda made: classic.MultiQueryRetriever.from_llm(
        made, FakeListChatModel(responses=["Do cats purr?\nIs the moon bright?"])
    ),
    "reorder": lambda made: made | reorder,
}


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("name", AROUND)
def test_retrievers_around_ours_find_its_chunks_with_their_places(
    name: str, retriever: Any
) -> None:
    around = AROUND[name](retriever.from_documents(DOCUMENTS, BagOfWords()))
    found = around.invoke(QUESTION)
    texts = {
        document.metadata["source"]: document.page_content for document in DOCUMENTS
    }
    ours = [document for document in found if document.metadata["source"] in texts]
    assert any(ANSWER in document.page_content for document in ours)
    for document in ours:
        place = slice(document.metadata["start_index"], document.metadata["end_index"])
        assert texts[document.metadata["source"]][place] == document.page_content
    assert (BIRDS.page_content in [d.page_content for d in found]) == (
        name in WITH_OTHERS
    )
    if name == "multi query":
        assert any("The moon is bright." in document.page_content for document in ours)
    if name == "compression":
        (only,) = found
        assert only.page_content == ANSWER
        assert only.metadata["heading_path"] == "Pets > Cats"
    awaited = asyncio.run(around.ainvoke(QUESTION))
    assert [d.page_content for d in awaited] == [d.page_content for d in found]


@pytest.mark.parametrize("splitter", SPLITTERS)
@pytest.mark.parametrize("with_parents", [False, True])
def test_children_of_our_splitters_lead_to_their_parents(
    splitter: Any, with_parents: bool
) -> None:
    store = InMemoryVectorStore(BagOfWords())
    retriever = classic.ParentDocumentRetriever(
        vectorstore=store,
        docstore=InMemoryStore(),
        child_splitter=splitter(chunk_size=45),
        parent_splitter=splitter(chunk_size=100) if with_parents else None,
        search_kwargs={"k": 1},
    )
    retriever.add_documents(DOCUMENTS)
    (found,) = retriever.invoke(QUESTION)
    assert "Cats purr" in found.page_content and found.metadata["source"] == "pets.md"
    (child,) = store.similarity_search(QUESTION, k=1)
    assert child.page_content in found.page_content
    place = slice(child.metadata["start_index"], child.metadata["end_index"])
    assert PETS[place] == child.page_content
    assert asyncio.run(retriever.ainvoke(QUESTION)) == [found]


class Counting(BagOfWords):
    """Counts the texts it is given."""

    def __init__(self) -> None:
        self.texts = 0

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        self.texts += len(texts)
        return super().embed_documents(texts)


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_second_index_is_embedded_from_langchains_cache(retriever: Any) -> None:
    embeddings = pytest.importorskip("langchain_classic.embeddings")
    model, store = Counting(), InMemoryByteStore()
    found, calls = [], []
    for _ in range(2):
        cached = embeddings.CacheBackedEmbeddings.from_bytes_store(
            model, store, namespace="words", key_encoder="blake2b"
        )
        found.append(retriever.from_documents(DOCUMENTS, cached).invoke(QUESTION))
        calls.append(model.texts)
    assert found[0] and found[0] == found[1]
    assert calls[0] == calls[1] > 0


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_chat_with_history_is_answered_from_what_ours_finds(retriever: Any) -> None:
    chains = pytest.importorskip("langchain_classic.chains")
    stuffing = pytest.importorskip("langchain_classic.chains.combine_documents")
    call_settings = ChatPromptTemplate.from_messages(
        [("placeholder", "{chat_history}"), "Ask: {input}"]
    )
    rewritten = Scripted(script=lambda prompt: QUESTION)
    aware = chains.create_history_aware_retriever(
        rewritten, retriever.from_documents(DOCUMENTS, BagOfWords(), k=1), call_settings
    )
    answering = stuffing.create_stuff_documents_chain(
        Scripted(script=lambda prompt: prompt),
        ChatPromptTemplate.from_template("{context}"),
    )
    chain = chains.create_retrieval_chain(aware, answering)
    asked = {"input": "And the others?", "chat_history": [("human", "Do dogs bark?")]}
    result = chain.invoke(asked)
    assert ANSWER in result["answer"]
    assert len(result["context"]) == 1
    assert asyncio.run(chain.ainvoke(asked))["answer"] == result["answer"]
