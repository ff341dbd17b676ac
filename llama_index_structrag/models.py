"""LlamaIndex's embedding models and language models as the core's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM, ChatMessage, ChatResponse

from llama_index_structrag.embedding import StructragEmbedding
from structrag.errors import InvalidParameter
from structrag.integrations.models import HostEmbedder, HostModel
from structrag.integrations.naming import host_name
from structrag.model_calls.requests import Embedder, LanguageModel
from structrag.model_calls.usage import CallTokens, reported_tokens
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model


class LlamaIndexEmbedder(HostEmbedder):
    """A `BaseEmbedding` as an embedder of the core.

    Queries use the model's query embedding, documents its batches.

    Example:
        >>> from llama_index.core import MockEmbedding
        >>> embedder = LlamaIndexEmbedder(MockEmbedding(embed_dim=2), max_tokens=512)
        >>> embedder.embed(["Rinse the filter."]), embedder.max_tokens
        ([[0.5, 0.5]], 512)

    Args:
        embed_model: The model.
        name: For cache keys and saved indexes; default: the class with the model's name and
            settings, never an API key. An object that names no model and holds other objects, such
            as a client, needs a name to share a cache.
        max_tokens: The model's input limit; longer texts are then embedded in windows instead of
            being truncated. None: the limit that the object reports, as HuggingFaceEmbedding does
            with `max_length`, or else no limit.

    Raises:
        InvalidParameter: `embed_model` is not a LlamaIndex `BaseEmbedding`, or `max_tokens` is
            below 1 (a ValueError).
    """

    def __init__(
        self, embed_model: BaseEmbedding, name: str = "", max_tokens: int | None = None
    ) -> None:
        if not isinstance(embed_model, BaseEmbedding):
            raise InvalidParameter(
                f"embed_model must be a LlamaIndex BaseEmbedding; got {type(embed_model).__name__}."
            )
        self.embed_model = embed_model
        super().__init__(embed_model, name, max_tokens)

    def _documents(self, texts: list[str]) -> list[list[float]]:
        return self.embed_model.get_text_embedding_batch(texts)

    def _query(self, text: str) -> list[float]:
        return self.embed_model.get_query_embedding(text)

    async def _adocuments(self, texts: list[str]) -> list[list[float]]:
        return await self.embed_model.aget_text_embedding_batch(texts)

    async def _aquery(self, text: str) -> list[float]:
        return await self.embed_model.aget_query_embedding(text)


class LlamaIndexModel(HostModel):
    """An `LLM` as a language model of the core; chat models get a user message.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> LlamaIndexModel(MockLLM()).complete("What moves water?")
        'What moves water?'

    Args:
        llm: The model.
        name: For cache keys and saved indexes, as in `LlamaIndexEmbedder`.
        normalised: Margins (pA - pB) / (pA + pB); False: pA - pB, as IDMS prints them.

    Raises:
        InvalidParameter: `llm` is not a LlamaIndex `LLM` (a ValueError).
    """

    def __init__(self, llm: LLM, name: str = "", *, normalised: bool = True) -> None:
        if not isinstance(llm, LLM):
            raise InvalidParameter(
                f"llm must be a LlamaIndex LLM; got {type(llm).__name__}."
            )
        self.llm = llm
        super().__init__(llm, name or _llm_name(llm), normalised=normalised)

    def _ask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        if self.llm.metadata.is_chat_model:
            return self.llm.chat([ChatMessage(content=prompt)], **parameters)
        _check_completion(parameters)
        return self.llm.complete(prompt, **parameters)

    async def _aask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        if self.llm.metadata.is_chat_model:
            return await self.llm.achat([ChatMessage(content=prompt)], **parameters)
        _check_completion(parameters)
        return await self.llm.acomplete(prompt, **parameters)

    @staticmethod
    def _text(answer: Any) -> str:
        is_chat = isinstance(answer, ChatResponse)
        return (answer.message.content or "") if is_chat else str(answer.text)

    @staticmethod
    def _tokens(answer: Any) -> CallTokens | None:
        """Providers report them beside the answer, or in it as it came."""
        raw: Any = getattr(answer, "raw", None)
        beside = reported_tokens(getattr(answer, "additional_kwargs", None))
        is_mapping = isinstance(raw, Mapping)
        usage = raw.get("usage") if is_mapping else getattr(raw, "usage", None)
        return beside or reported_tokens(usage)

    @staticmethod
    def _top(answer: Any) -> list[tuple[str, float]]:
        tokens = getattr(answer, "logprobs", None) or [[]]
        return [(part.token, float(part.logprob)) for part in tokens[0]]


def _check_completion(parameters: Mapping[str, Any]) -> None:
    """A model that is no chat model is not held to a schema."""
    if "response_format" in parameters:
        raise TypeError("complete() takes no response_format")


def _llm_name(llm: LLM) -> str:
    """The name made for a model, with what makes its prompts."""
    extra: dict[str, Any] = {"model_name": llm.metadata.model_name}
    for name in ("messages_to_prompt", "completion_to_prompt", "query_wrapper_prompt"):
        part = getattr(llm, name, None)
        module = str(getattr(part, "__module__", ""))
        is_default = callable(part) and module.startswith("llama_index.core.")
        if part is not None and not is_default:
            extra[name] = part
    return host_name(llm, extra)


def core_embedder(value: Any) -> Embedder | None:
    """A LlamaIndex embedding model, or what structrag takes, as an embedder. None stays None, a
    `StructragEmbedding` gives its own."""
    if value is None:
        return None
    if isinstance(value, StructragEmbedding):
        return value.embedder  # type: ignore[no-any-return]
    return (
        LlamaIndexEmbedder(value)
        if isinstance(value, BaseEmbedding)
        else as_embedder(value)
    )


def core_model(value: Any) -> LanguageModel | None:
    """A LlamaIndex LLM, or what structrag takes, as a language model. None stays None."""
    return (
        LlamaIndexModel(value) if isinstance(value, LLM) else as_language_model(value)
    )
