"""A deterministic embedding model and a scripted language model of LlamaIndex, without any network."""

from __future__ import annotations

import asyncio
import zlib
from typing import Any

import numpy as np
from llama_index.core.bridge.pydantic import Field
from llama_index.core.embeddings import BaseEmbedding
from llama_index.core.llms import CompletionResponse, CustomLLM, LLMMetadata


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
    """Always gives the same answer. Records the prompts."""

    answer: str = '{"summary": "A scripted summary.", "keywords": ["scripted", "zebra"]}'
    api_key: str = "sk-secret"
    temperature: float = 0.0
    prompts: list[str] = Field(default_factory=list)
    async_calls: int = 0

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name="scripted-1")

    def complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.prompts.append(prompt)
        return CompletionResponse(text=self.answer)

    async def acomplete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> CompletionResponse:
        self.async_calls += 1
        await asyncio.sleep(0.01)
        return self.complete(prompt)

    def stream_complete(self, prompt: str, formatted: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError
