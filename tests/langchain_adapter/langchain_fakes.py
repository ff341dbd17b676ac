"""Deterministic models of LangChain without any network, and what several tests here look at."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any
from zlib import crc32

from langchain_core.documents import Document
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.vectorstores import InMemoryVectorStore

from langchain_structrag import ContentAwareTextSplitter, MultiViewRetriever


class BagOfWords(Embeddings):
    """Words hashed into 256 places."""

    model = "words"

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.embed_query(text) for text in texts]

    def embed_query(self, text: str) -> list[float]:
        places = [
            crc32(word.encode()) % 256 for word in re.findall(r"\w+", text.lower())
        ]
        return [0.01 + places.count(place) for place in range(256)]


class Scripted(FakeListChatModel):
    """Answers a prompt by a function of it."""

    responses: list[str] = []  # noqa: RUF012
    script: Callable[[str], str]

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return ChatResult(
            generations=[
                ChatGeneration(
                    message=AIMessage(content=self.script(str(messages[-1].content)))
                )
            ]
        )


PETS = (
    "# Pets\n\nAnimals at home.\n\n## Cats\n\nCats purr when they are content.\n\n## "
    "Dogs\n\nDogs bark at strangers.\n"
)
SKY = "# Sky\n\nStars shine.\n\n## Moon\n\nThe moon is bright.\n"
DOCUMENTS = [
    Document(
        page_content=PETS,
        metadata={"source": "pets.md", "year": 2020, "seen": date(2020, 1, 2)},
    ),
    Document(page_content=SKY, metadata={"source": "sky.md", "year": 2021}),
]
EMBEDDING = BagOfWords()


def multiview(kind: str, **options: Any) -> MultiViewRetriever:
    """A retriever over DOCUMENTS by "lsa", an "embedding" or a "vectorstore"."""
    models: dict[str, dict[str, Any]] = {
        "lsa": {},
        "embedding": {"embedding": EMBEDDING},
        "vectorstore": {"vectorstore": InMemoryVectorStore(EMBEDDING)},
    }
    return MultiViewRetriever.from_documents(DOCUMENTS, **models[kind], **options)


def facts(documents: Sequence[Document]) -> list[Any]:
    """All of the documents, to be compared."""
    return [(d.id, d.page_content, d.metadata) for d in documents]


def count_words(text: str) -> int:
    return len(text.split())


def split(text: str, **options: Any) -> list[Document]:
    return ContentAwareTextSplitter(**options).create_documents([text])


def assert_exact(text: str, chunks: list[Document]) -> None:
    """Chunks are slices of the text at the places they tell, in order, none of them blank."""
    assert [
        text[c.metadata["start_index"] : c.metadata["end_index"]] for c in chunks
    ] == [c.page_content for c in chunks]
    starts = [c.metadata["start_index"] for c in chunks]
    assert starts == sorted(set(starts))
    assert all(c.page_content.strip() for c in chunks)


class Chat(BaseChatModel):
    """Answers with `content`, a string or content blocks, and reports its usage."""

    model: str = "chat-1"
    temperature: float = 0.2
    api_key: str = "sk-secret"
    content: Any = "an answer"

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: Any = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        usage = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}
        message = AIMessage(content=self.content, usage_metadata=usage)
        return ChatResult(generations=[ChatGeneration(message=message)])
