"""LlamaIndex's embedding models and language models as the core's, and the core's embedders as
LlamaIndex embedding models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.bridge.pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)
from llama_index.core.llms import LLM, ChatMessage, ChatResponse
from typing_extensions import Self

from llama_index_structrag.settings import refuse_saved
from structrag.errors import InvalidParameter, check_arguments
from structrag.integrations.models import HostEmbedder, HostModel
from structrag.integrations.naming import host_name
from structrag.model_calls.calling import acall
from structrag.model_calls.calls import check_vectors
from structrag.model_calls.requests import Embedder, LanguageModel
from structrag.model_calls.usage import CallTokens, reported_tokens
from structrag.models.embedders import as_embedder, as_fixed_embedder
from structrag.models.llm import as_language_model


def _read_embedder(value: Any) -> Embedder:
    refuse_saved("embedder", value)
    if isinstance(value, BaseEmbedding):
        raise InvalidParameter(
            f"embedder must not be a LlamaIndex embedding model; got {value.class_name()}. Use it "
            "as it is."
        )
    return as_fixed_embedder(value)


def _name(embedder: Embedder) -> dict[str, str]:
    return {"name": embedder.name}


EmbedderField = Annotated[
    Any,
    BeforeValidator(_read_embedder),
    PlainSerializer(_name),
    WithJsonSchema({"type": "object"}),
]


class StructragEmbedding(BaseEmbedding):
    """A structrag embedder for everything in LlamaIndex that takes an embedding model.

    Example:
        >>> def lengths(texts):  # or structrag.minilm()
        ...     return [[len(text), 1.0] for text in texts]
        >>> embed_model = StructragEmbedding(lengths)
        >>> embed_model.get_query_embedding("cats")
        [4.0, 1.0]

    Texts are embedded in batches of `embed_batch_size`, and the vectors are checked. Asynchronous
    calls use the embedder's own; a function or a sentence-transformers model runs in a worker
    thread. `to_dict`, and thus the cache of an ingestion pipeline, identifies the embedder by its
    name, which is also `model_name`; pass it again to `from_dict`. It can be pickled if the
    embedder can. The node parsers and retrievers of llama_index_structrag use the embedder inside
    directly, with its windows, and do their own batching and counting; callbacks, `rate_limiter`
    and `embeddings_cache` apply only to callers of this model.

    Raises:
        InvalidParameter: none of what `embedder` may be; None and LSA, whose vectors change with
            the documents; a `model_name` that is not the embedder's. Pydantic gives it as a
            ValidationError, a ValueError, with the same sentence.
        InvalidAnswer: from the methods, if the embedder does not return one vector per text, or
            returns NaN.
    """

    embedder: EmbedderField = Field(
        description="structrag.minilm(), a StaticEmbedder, the name or folder of a "
        "sentence-transformers model on this machine, a SentenceTransformer, a function from a "
        "list of texts to an array, or any other embedder of structrag that is not fitted to its "
        "corpus."
    )
    embed_batch_size: int = Field(
        default=64,
        gt=0,
        le=2048,
        description="The largest number of texts in one call of the embedder.",
    )

    def __init__(self, embedder: Any, **options: Any) -> None:
        check_arguments(type(self).__name__, options, type(self).model_fields)
        super().__init__(**{"embedder": embedder, **options})

    @model_validator(mode="after")
    def _take_its_name(self) -> Self:
        if (
            "model_name" in self.model_fields_set
            and self.model_name != self.embedder.name
        ):
            raise InvalidParameter(
                f"model_name must be the embedder's own name or left out; got {self.model_name!r} "
                f"for {self.embedder.name!r}. To rename an embedder, use its own name=..."
            )
        self.model_name: str = self.embedder.name
        return self

    @classmethod
    def class_name(cls) -> str:
        return "StructragEmbedding"

    def _get_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._lists(self.embedder.embed(texts), texts)

    async def _aget_text_embeddings(self, texts: list[str]) -> list[list[float]]:
        return self._lists(await acall(self.embedder, "embed", texts), texts)

    def _get_text_embedding(self, text: str) -> list[float]:
        return self._get_text_embeddings([text])[0]

    async def _aget_text_embedding(self, text: str) -> list[float]:
        return (await self._aget_text_embeddings([text]))[0]

    def _get_query_embedding(self, query: str) -> list[float]:
        return self._lists(self.embedder.embed([query], query=True), [query])[0]

    async def _aget_query_embedding(self, query: str) -> list[float]:
        vectors = await acall(self.embedder, "embed", [query], query=True)
        return self._lists(vectors, [query])[0]

    def _lists(self, answer: Any, texts: Sequence[str]) -> list[list[float]]:
        vectors = check_vectors(answer, texts, f"embedder {self.embedder.name!r}")
        return vectors.tolist()  # type: ignore[no-any-return]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        if "embedder" not in state["__dict__"]:
            raise InvalidParameter(
                "embedder must be picklable when num_workers > 1, such as a module-level "
                f"function; got {self.model_name!r}."
            )
        return state


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

    Raises:
        InvalidParameter: `llm` is not a LlamaIndex `LLM` (a ValueError).
    """

    def __init__(self, llm: LLM, name: str = "") -> None:
        if not isinstance(llm, LLM):
            raise InvalidParameter(
                f"llm must be a LlamaIndex LLM; got {type(llm).__name__}."
            )
        self.llm = llm
        super().__init__(llm, name or _llm_name(llm))

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
