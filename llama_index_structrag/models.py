"""LlamaIndex's embedding models and language models as the core's."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM, ChatMessage

from llama_index_structrag.embedding import StructragEmbedding
from structrag.errors import InvalidParameter
from structrag.models.embedders import as_embedder
from structrag.models.host_margins import LogProbabilities
from structrag.models.llm import as_language_model
from structrag.steps import Embedder, LanguageModel
from structrag.tokens import counter_name

# What changes the vectors or the answers of a model beside its name. Only these are read: a name never holds a secret.
_EMBEDDING_SETTINGS = (
    "dimensions",
    "embed_dim",
    "max_length",
    "mode",
    "normalize",
    "pooling",
    "query_instruction",
    "text_instruction",
    "truncate_dim",
)
_LLM_SETTINGS = ("max_tokens", "seed", "system_prompt", "temperature", "top_p")


class LlamaIndexEmbedder:
    """A `BaseEmbedding` as an embedder of the core.

    `name`, which goes into cache keys and saved indexes, is made of class, model name and the settings that change
    vectors; never of keys. Queries use the model's query embedding, documents its batches.
    """

    name: str

    def __init__(self, embed_model: BaseEmbedding) -> None:
        if not isinstance(embed_model, BaseEmbedding):
            raise InvalidParameter(f"embed_model must be a LlamaIndex BaseEmbedding; got {type(embed_model).__name__}.")
        self.embed_model = embed_model
        self.name = _name(embed_model, embed_model.model_name, _EMBEDDING_SETTINGS)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """One vector a text."""
        if query:
            return [self.embed_model.get_query_embedding(text) for text in texts]
        return self.embed_model.get_text_embedding_batch(list(texts))

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """`embed` with the model's asynchronous calls."""
        if query:
            return list(await asyncio.gather(*(self.embed_model.aget_query_embedding(text) for text in texts)))
        return await self.embed_model.aget_text_embedding_batch(list(texts))


class LlamaIndexModel:
    """An `LLM` as a language model of the core; `name` is made of class, model name and sampling settings, never of keys."""

    name: str

    def __init__(self, llm: LLM) -> None:
        if not isinstance(llm, LLM):
            raise InvalidParameter(f"llm must be a LlamaIndex LLM; got {type(llm).__name__}.")
        self.llm = llm
        self._known = LogProbabilities()
        self.name = _name(llm, llm.metadata.model_name, _LLM_SETTINGS)

    def complete(self, prompt: str) -> str:
        """The model's answer to a prompt."""
        return self.llm.complete(prompt).text

    async def acomplete(self, prompt: str) -> str:
        """`complete` with the model's asynchronous call."""
        return (await self.llm.acomplete(prompt)).text

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """The margin of the first option over the second by the log-probabilities of the answer; None for a model without them."""

        def call(wanted: Mapping[str, Any]) -> Any:
            if self.llm.metadata.is_chat_model:
                return self.llm.chat([ChatMessage(content=prompt)], **wanted)
            return self.llm.complete(prompt, **wanted)

        return self._known.margin(options, _top_of_answer, call)

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """`choose` with the model's asynchronous call."""

        async def call(wanted: Mapping[str, Any]) -> Any:
            if self.llm.metadata.is_chat_model:
                return await self.llm.achat([ChatMessage(content=prompt)], **wanted)
            return await self.llm.acomplete(prompt, **wanted)

        return await self._known.amargin(options, _top_of_answer, call)


def _top_of_answer(answer: Any) -> list[tuple[str, float]]:
    """The most likely first tokens of an answer with their log-probabilities; [] if there are none."""
    tokens = getattr(answer, "logprobs", None) or [[]]
    return [(part.token, float(part.logprob)) for part in tokens[0]]


def _name(model: Any, model_name: str, settings: Sequence[str]) -> str:
    values = [f"{name}={_shown(value)}" for name in settings if (value := getattr(model, name, None)) is not None]
    return ":".join([model.class_name(), model_name, *values])


def _shown(value: Any) -> str:
    return counter_name(value) if callable(value) else str(value)


def core_embedder(value: Any) -> Embedder | None:
    """A LlamaIndex embedding model, or what structrag takes, as an embedder; None stays None, a `StructragEmbedding` gives its own."""
    if value is None:
        return None
    if isinstance(value, StructragEmbedding):
        return value.embedder  # type: ignore[no-any-return]
    return LlamaIndexEmbedder(value) if isinstance(value, BaseEmbedding) else as_embedder(value)


def core_model(value: Any) -> LanguageModel | None:
    """A LlamaIndex LLM, or what structrag takes, as a language model; None stays None."""
    return LlamaIndexModel(value) if isinstance(value, LLM) else as_language_model(value)
