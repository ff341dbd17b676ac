"""A deterministic embedding model, a scripted language model and stores of LlamaIndex, without any
network."""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import Field
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata
from llama_index.core.schema import TextNode
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    VectorStoreQueryResult,
)


class HashEmbedding(BaseEmbedding):
    """Bags of hashed words. Records how it was called."""

    model_name: str = "hash"
    api_key: str = "sk-secret"
    dimensions: int = 64
    calls: list[str] = Field(default_factory=list)

    def _vector(self, text: str) -> list[float]:
        vector = np.full(self.dimensions, 1e-6)
        for word in text.lower().split():
            vector[zlib.crc32(word.strip(".,#").encode()) % self.dimensions] += 1
        return vector.tolist()

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._vector(text)

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(f"batch of {len(texts)}")
        return [self._vector(text) for text in texts]

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(f"async batch of {len(texts)}")
        await asyncio.sleep(0.01)
        return [self._vector(text) for text in texts]

    def _get_query_embedding(self, query: str) -> list[float]:
        self.calls.append("query")
        return self._vector(query)

    async def _aget_query_embedding(self, query: str) -> list[float]:
        self.calls.append("async query")
        await asyncio.sleep(0.01)
        return self._vector(query)


class ScriptedLLM(CustomLLM):
    """Answers by a script, by default always the same. Records the prompts."""

    answer: str = (
        '{"summary": "A scripted summary.", "keywords": ["scripted", "zebra"]}'
    )
    script: Callable[[str], str] | None = None
    api_key: str = "sk-secret"
    temperature: float = 0.0
    prompts: list[str] = Field(default_factory=list)
    async_calls: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted-1")

    def complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        self.prompts.append(prompt)
        text = self.script(prompt) if self.script else self.answer
        return CompletionResponse(text=text)

    async def acomplete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> CompletionResponse:
        self.async_calls += 1
        await asyncio.sleep(0.01)
        return self.complete(prompt)

    def stream_complete(
        self, prompt: str, formatted: bool = False, **kwargs: Any
    ) -> Any:
        raise NotImplementedError


class ListStore(BasePydanticVectorStore):
    """A store that keeps nodes, answers asynchronously, and gives at most `most` results at
    once."""

    stores_text: bool = True
    nodes: dict[str, TextNode] = Field(default_factory=dict)
    most: int = 100
    queries: list[str] = Field(default_factory=list)

    @property
    def client(self) -> Any:
        return None

    def add(self, nodes: Any, **kwargs: Any) -> list[str]:
        self.nodes.update({node.node_id: node for node in nodes})
        return [node.node_id for node in nodes]

    def delete(self, ref_doc_id: str, **kwargs: Any) -> None:
        self.nodes = {
            key: node
            for key, node in self.nodes.items()
            if node.ref_doc_id != ref_doc_id
        }

    def query(self, query: Any, **kwargs: Any) -> VectorStoreQueryResult:
        self.queries.append("sync")
        wanted = {f.key: f.value for f in query.filters.filters}
        found = [
            n
            for n in self.nodes.values()
            if all(n.metadata.get(k) == v for k, v in wanted.items())
        ]
        scored = [
            (
                sum(
                    a * b
                    for a, b in zip(query.query_embedding, n.embedding, strict=True)
                ),
                n,
            )
            for n in found
        ]
        scored = sorted(scored, key=lambda pair: -pair[0])[
            : min(query.similarity_top_k, self.most)
        ]
        return VectorStoreQueryResult(
            nodes=[n for _, n in scored],
            similarities=[s for s, _ in scored],
            ids=[n.node_id for _, n in scored],
        )

    async def aquery(self, query: Any, **kwargs: Any) -> VectorStoreQueryResult:
        await asyncio.sleep(0)
        result = self.query(query)
        self.queries[-1] = "async"
        return result
