"""PICTextSplitter: exact offsets, hard limits, LangChain's own models, native async, many
documents."""

from __future__ import annotations

from langchain_core.documents import Document
from langchain_core.embeddings import DeterministicFakeEmbedding, Embeddings
from langchain_core.language_models import FakeListChatModel

from langchain_structrag import PICTextSplitter

TEXT = "# Animals\n\n" + " ".join(
    f"Sentence number {i} talks about {'cats' if i % 3 else 'dogs and wolves'} here."
    for i in range(40)
)
FAKE = DeterministicFakeEmbedding(size=16)


def parents() -> list[Document]:
    return [
        Document(page_content=TEXT, metadata={"source": f"{name}.md", "tags": ["x"]})
        for name in "abc"
    ]


class OnlyAsync(Embeddings):
    """Refuses to be called synchronously, except for its first text, which tells the dimension."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        raise AssertionError("called synchronously")

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("called synchronously")

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return FAKE.embed_documents(texts)

    async def aembed_query(self, text: str) -> list[float]:
        return FAKE.embed_query(text)


def test_a_text_or_a_document_is_explained() -> None:
    llm = FakeListChatModel(responses=["Cats are talked about."])
    splitter = PICTextSplitter(FAKE, llm, chunk_size=300)
    (series,) = splitter.explain(TEXT).series
    assert series.note == "Cats are talked about." and len(series.values) == 40
    assert splitter.explain(parents()[0]).series[0].values == series.values


async def test_async_is_native_and_equal() -> None:
    llm = FakeListChatModel(responses=["Cats are talked about."])
    expected = PICTextSplitter(FAKE, llm, chunk_size=300).split_documents(parents())
    splitter = PICTextSplitter(OnlyAsync(), llm, chunk_size=300)
    assert list(await splitter.atransform_documents(parents())) == expected
    assert [
        chunk async for chunk in splitter.alazy_split_documents(parents())
    ] == expected
    texts = [TEXT, "", TEXT]
    alone = PICTextSplitter(FAKE, llm, chunk_size=300)
    assert await splitter.acreate_documents(
        texts, [{"n": i} for i in range(3)]
    ) == alone.create_documents(texts, [{"n": i} for i in range(3)])
    assert await splitter.asplit_text(TEXT) == alone.split_text(TEXT)
