"""LlamaIndex's embedding models and language models as the core's."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from typing import Any

from llama_index.core.base.embeddings.base import BaseEmbedding
from llama_index.core.llms import LLM, ChatMessage, ChatResponse

from llama_index_structrag.embedding import StructragEmbedding
from structrag.asking.counted import CallTokens, counted, reported_tokens
from structrag.asking.naming import setting_name
from structrag.asking.requests import Embedder, LanguageModel
from structrag.errors import InvalidParameter
from structrag.hosts.models import (
    JsonAnswers,
    LogProbabilities,
    answer_counter,
    attribute_text,
    class_path,
    margin_model,
    other_settings,
    reading_limit,
    setting_text,
    settings_of,
    settings_text,
    weights_held,
)
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.models.margins import Masses

# What changes the vectors or the answers of a model beside its name. Only these are read: a name
# never holds a secret.
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
# Those that are told by a digest: long, or full of a provider's own settings.
_OTHER_SETTINGS = (
    "additional_kwargs",
    "completion_to_prompt",
    "generate_kwargs",
    "messages_to_prompt",
    "model_kwargs",
    "query_wrapper_prompt",
    "reasoning_effort",
    "stop",
    "top_k",
)
_UNNAMED = ("", "unknown", None)  # what LlamaIndex's base classes call a model


class LlamaIndexEmbedder:
    """A `BaseEmbedding` as an embedder of the core.

    Queries use the model's query embedding, documents its batches.

    Example:
        >>> from llama_index.core import MockEmbedding
        >>> embedder = LlamaIndexEmbedder(MockEmbedding(embed_dim=2), max_tokens=512)
        >>> embedder.embed(["Rinse the filter."]), embedder.max_tokens
        ([[0.5, 0.5]], 512)

    Args:
        embed_model: The model.
        name: For cache keys and saved indexes; default: class, model name and the settings that
            change vectors, never a key. Of a model that is called "unknown", as LlamaIndex calls
            one that gives itself no name, module and class and its public settings. Give one where
            those do not tell two models apart.
        max_tokens: What the model reads of a text; longer texts are then embedded in windows
            instead of being truncated. None: what the object tells, as HuggingFaceEmbedding does by
            its `max_length`, else every text goes in whole.

    Raises:
        InvalidParameter: `embed_model` is none of LlamaIndex's, or `max_tokens` is below 1 (a
            ValueError).
    """

    name: str
    max_tokens: int | None

    def __init__(
        self, embed_model: BaseEmbedding, name: str = "", max_tokens: int | None = None
    ) -> None:
        if not isinstance(embed_model, BaseEmbedding):
            raise InvalidParameter(
                f"embed_model must be a LlamaIndex BaseEmbedding; got {type(embed_model).__name__}."
            )
        self.embed_model = embed_model
        self.name = name or _embedding_name(embed_model)
        self.max_tokens, self._counter = reading_limit(embed_model, max_tokens)

    def count_tokens(self, text: str) -> int:
        """The model's tokens of a text, for windows.

        An estimate where its tokenizer is not at hand.
        """
        return self._counter(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """One vector a text."""
        if query:
            return [self.embed_model.get_query_embedding(text) for text in texts]
        return self.embed_model.get_text_embedding_batch(list(texts))

    async def aembed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[list[float]]:
        """`embed` with the model's asynchronous calls."""
        if query:
            calls = [self.embed_model.aget_query_embedding(text) for text in texts]
            return list(await asyncio.gather(*calls))
        return await self.embed_model.aget_text_embedding_batch(list(texts))


class LlamaIndexModel:
    """An `LLM` as a language model of the core.

    Example:
        >>> from llama_index.core.llms import MockLLM
        >>> LlamaIndexModel(MockLLM()).complete("What moves water?")
        'What moves water?'

    Args:
        llm: The model.
        name: For cache keys and saved indexes; default: class, model name and sampling settings,
            never a key; of a model called "unknown" as in `LlamaIndexEmbedder`.
        normalised: Margins (pA - pB) / (pA + pB); False: pA - pB, as IDMS prints them.

    Raises:
        InvalidParameter: `llm` is none of LlamaIndex's (a ValueError).
    """

    name: str

    def __init__(self, llm: LLM, name: str = "", *, normalised: bool = True) -> None:
        if not isinstance(llm, LLM):
            raise InvalidParameter(
                f"llm must be a LlamaIndex LLM; got {type(llm).__name__}."
            )
        self.llm = llm
        self._log_probabilities = LogProbabilities(
            normalised=normalised, tokens=_tokens_of_answer
        )
        self._json_answers = JsonAnswers()
        self._weigher = margin_model(llm, normalised=normalised)
        self.count_tokens: Callable[[str], int] | None = answer_counter(
            llm
        )  # None where it has no tokenizer at hand
        self.name = (name or _llm_name(llm)) + ("" if normalised else "|not normalised")

    def complete(self, prompt: str) -> str:
        """The answer to a prompt; chat models get a user's message."""
        return _counted_text(self._ask(prompt, {}))

    async def acomplete(self, prompt: str) -> str:
        """`complete` with the model's asynchronous call."""
        return _counted_text(await self._aask(prompt, {}))

    def _ask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        if self.llm.metadata.is_chat_model:
            return self.llm.chat([ChatMessage(content=prompt)], **parameters)
        return self.llm.complete(prompt, **parameters)

    async def _aask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        if self.llm.metadata.is_chat_model:
            return await self.llm.achat([ChatMessage(content=prompt)], **parameters)
        return await self.llm.acomplete(prompt, **parameters)

    def complete_json(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """The answer to a prompt, held to a JSON schema.

        Models of OpenAI's kind do, by `response_format`; others answer as they do to `complete`.
        """
        if not self.llm.metadata.is_chat_model:
            return self.complete(prompt)
        return _counted_text(
            self._json_answers.answer(schema, partial(self._ask, prompt))
        )

    async def acomplete_json(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """`complete_json` with the model's asynchronous call."""
        if not self.llm.metadata.is_chat_model:
            return await self.acomplete(prompt)
        answer = await self._json_answers.aanswer(schema, partial(self._aask, prompt))
        return _counted_text(answer)

    @cached_property
    def unnormalised(self) -> LlamaIndexModel:
        """The same model with margins pA - pB. Both count in `masses`."""
        if not self._log_probabilities.normalised:
            return self
        other = LlamaIndexModel(self.llm, self.name, normalised=False)
        other._log_probabilities.masses = self._log_probabilities.masses
        if self._weigher is not None:
            other._weigher = self._weigher.unnormalised
        return other

    @property
    def masses(self) -> Masses:
        """The probability that the options of `choose` had together so far.

        Near 0 the model wanted to answer something else, and its margins say little.
        """
        return (self._weigher or self._log_probabilities).masses

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """The margin of the first option over the second.

        By the log-probabilities of the answer, or by the logits of a model of transformers that
        runs in this process; None for a model without them.
        """
        if self._weigher is not None:
            return self._weigher.choose(prompt, options)
        ask = partial(self._ask, prompt)
        return self._log_probabilities.margin(options, _top_of_answer, ask)

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """`choose` with the model's asynchronous call."""
        if self._weigher is not None:
            return await asyncio.to_thread(self._weigher.choose, prompt, options)
        ask = partial(self._aask, prompt)
        return await self._log_probabilities.amargin(options, _top_of_answer, ask)


def _counted_text(answer: Any) -> str:
    """The text of an answer, with the tokens that the provider reports."""
    is_chat = isinstance(answer, ChatResponse)
    text = (answer.message.content or "") if is_chat else answer.text
    return counted(text, _tokens_of_answer(answer))


def _tokens_of_answer(answer: Any) -> CallTokens | None:
    """The tokens of the call behind an answer.

    Providers report them beside the answer, or in it as it came.
    """
    raw = getattr(answer, "raw", None)
    usage = (
        raw.get("usage") if isinstance(raw, Mapping) else getattr(raw, "usage", None)
    )
    return reported_tokens(
        getattr(answer, "additional_kwargs", None)
    ) or reported_tokens(usage)


def _top_of_answer(answer: Any) -> list[tuple[str, float]]:
    """The most likely first tokens of an answer with their log-probabilities.

    [] if there are none.
    """
    tokens = getattr(answer, "logprobs", None) or [[]]
    return [(part.token, float(part.logprob)) for part in tokens[0]]


def _embedding_name(model: BaseEmbedding) -> str:
    return _name(model, model.model_name, _EMBEDDING_SETTINGS)


def _llm_name(model: LLM) -> str:
    return _name(model, model.metadata.model_name, _LLM_SETTINGS)


def _name(model: Any, model_name: str | None, settings: Sequence[str]) -> str:
    if model_name in _UNNAMED:
        return f"{class_path(model)}({settings_text(_attributes(model))})"
    kind = (
        model.class_name() if "class_name" in vars(type(model)) else class_path(model)
    )
    parts = [kind, str(model_name)]
    for name in settings:
        value = getattr(model, name, None)
        if value is not None:
            parts.append(f"{name}={_shown(value)}")
    for name in _OTHER_SETTINGS:
        value = getattr(model, name, None)
        if value and not _is_default(value):
            parts.append(f"{name}={setting_text(value)}")
    names_shown = {*settings, *_OTHER_SETTINGS, "model", "model_name"}
    others = {**other_settings(model, names_shown), **weights_held(model)}
    return ":".join([*parts, *(f"{name}={value}" for name, value in others.items())])


def _attributes(model: Any) -> dict[str, str]:
    """The settings of a model that has no name."""
    attributes = {}
    for name, value in settings_of(model).items():
        text = None if _is_default(value) else attribute_text(value)
        if isinstance(value, BaseEmbedding):
            text = _embedding_name(value)
        elif isinstance(value, LLM):
            text = _llm_name(value)
        if text is not None:
            attributes[name] = text
    return attributes


def _is_default(value: Any) -> bool:
    """Whether it is a function that LlamaIndex gives every model."""
    return callable(value) and str(getattr(value, "__module__", "")).startswith(
        "llama_index.core."
    )


def _shown(value: Any) -> str:
    return setting_name(value) if callable(value) else str(value)


def core_embedder(value: Any) -> Embedder | None:
    """A LlamaIndex embedding model, or what structrag takes, as an embedder.

    None stays None, a `StructragEmbedding` gives its own.
    """
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
    """A LlamaIndex LLM, or what structrag takes, as a language model.

    None stays None.
    """
    return (
        LlamaIndexModel(value) if isinstance(value, LLM) else as_language_model(value)
    )
