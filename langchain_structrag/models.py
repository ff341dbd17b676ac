"""LangChain's models as structrag's, by their own sync and async calls."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig

from langchain_structrag.answering import check_answers, gives_strings
from langchain_structrag.callbacks import inner_config
from langchain_structrag.embedding import StructragEmbeddings
from langchain_structrag.naming import model_name
from structrag.asking.requests import Embedder, LanguageModel
from structrag.errors import InvalidParameter
from structrag.hosts.limits import reading_limit
from structrag.hosts.margins import LogProbabilities
from structrag.text.tokens import TokenCounter, count_tokens


@dataclass(frozen=True)
class LangChainEmbedder:
    """LangChain `Embeddings` as a structrag embedder.

    Attributes:
        embeddings: Asked through `embed_documents` and, one text a call, `embed_query`; async
            through their async forms.
        name: For cache keys and saved indexes; default: the class and the model's name and
            settings, never a key; of a class without a model's name its module and public settings.
            Give one where those do not tell two models apart.
        max_tokens: What the model reads of a text; longer texts are then embedded in windows
            instead of being truncated. None: what the object tells, as HuggingFaceEmbeddings does,
                else every text goes in whole.

    Raises:
        InvalidParameter: `embeddings` is none of LangChain's, or `max_tokens` is below 1 (a
            ValueError).
    """

    embeddings: Embeddings
    name: str = ""
    max_tokens: int | None = None
    _counter: TokenCounter = field(default=count_tokens, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.embeddings, Embeddings):
            raise InvalidParameter(
                "embeddings must be a langchain_core Embeddings; got "
                f"{type(self.embeddings).__name__}."
            )
        if not self.name:
            object.__setattr__(self, "name", model_name(self.embeddings))
        limit, counter = reading_limit(self.embeddings, self.max_tokens)
        object.__setattr__(self, "max_tokens", limit)
        object.__setattr__(self, "_counter", counter)

    def count_tokens(self, text: str) -> int:
        """The model's tokens of a text, for windows; an estimate where its tokenizer is not at
        hand."""
        return self._counter(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """One vector a text."""
        if query:
            return [self.embeddings.embed_query(text) for text in texts]
        return self.embeddings.embed_documents(list(texts))

    async def aembed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """`embed` by the model's own async calls."""
        if query:
            return list(
                await asyncio.gather(*(self.embeddings.aembed_query(text) for text in texts))
            )
        return await self.embeddings.aembed_documents(list(texts))


@dataclass(frozen=True)
class LangChainModel:
    """A LangChain chat model, LLM or chain as a structrag language model.

    Attributes:
        model: Called by `invoke` and `ainvoke` with a string. Its answer is a string, or the text
            of a message, text blocks joined. A model, one with fallbacks, retries or bound
                arguments, or any other Runnable whose types allow that: `prompt | model` where
            the prompt has one place, `model | StrOutputParser()`, a RunnableLambda.
        name: For cache keys and saved indexes; default: the class and the model's name and
            settings, of a chain those of all its parts, never a key. A chain that holds a function,
                as a RunnableLambda does, does not tell what it calls: without a `name` no cache
            entry is shared with it, not even by a later run, and an index that was saved makes its
            views anew. Give it one, and another when the function changes.
        config: A `RunnableConfig` for every call; inside a retriever its callbacks reach the call
            as well.

    Raises:
        InvalidParameter: `model` is no Runnable, or takes no string, or gives neither a string nor
            a message (a ValueError).
    """

    model: Runnable[Any, Any]
    name: str = ""
    config: RunnableConfig | None = None
    _known: LogProbabilities = field(
        default_factory=LogProbabilities, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_answers(self.model)
        if not self.name:
            object.__setattr__(self, "name", model_name(self.model, self.config))
        if gives_strings(self.model):
            self._known.works = -1  # no log-probabilities come with a plain string

    def complete(self, prompt: str) -> str:
        """The answer's text."""
        return answer_text(self.model.invoke(prompt, self._config()))

    async def acomplete(self, prompt: str) -> str:
        """The answer's text."""
        return answer_text(await self.model.ainvoke(prompt, self._config()))

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """The margin of the first option over the second by the log-probabilities of the answer;
        None for a model without them."""

        def call(wanted: Mapping[str, Any]) -> Any:
            return self.model.bind(**wanted).invoke(prompt, self._config())

        return self._known.margin(options, top_of_message, call)

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """`choose` by the model's own async call."""

        async def call(wanted: Mapping[str, Any]) -> Any:
            return await self.model.bind(**wanted).ainvoke(prompt, self._config())

        return await self._known.amargin(options, top_of_message, call)

    def _config(self) -> RunnableConfig | None:
        return inner_config(self.config)


def answer_text(answer: Any) -> str:
    """The text of a chat model's message or of an LLM's answer; other values are returned for the
    caller to refuse."""
    return str(answer.text) if isinstance(answer, BaseMessage) else answer


def top_of_message(answer: Any) -> list[tuple[str, float]]:
    """The most likely first tokens of a message with their log-probabilities, as providers report
    them; [] if there are none."""
    told = getattr(answer, "response_metadata", None) or {}
    tokens = told.get("logprobs") or told.get("logprobs_result")
    if isinstance(tokens, Mapping):
        tokens = tokens.get("content")
    if not isinstance(tokens, list) or not tokens or not isinstance(tokens[0], Mapping):
        return []
    listed = [*(tokens[0].get("top_logprobs") or ()), tokens[0]]
    unique = {
        part["token"]: float(part["logprob"])
        for part in listed
        if isinstance(part.get("token"), str) and isinstance(part.get("logprob"), int | float)
    }
    return list(unique.items())


def as_embedder(value: Any) -> Embedder | Any:
    """LangChain `Embeddings` wrapped, of `StructragEmbeddings` the embedder; anything else as it
    is, for structrag to judge."""
    if isinstance(value, StructragEmbeddings):
        return value.embedder
    return LangChainEmbedder(value) if isinstance(value, Embeddings) else value


def as_language_model(value: Any) -> LanguageModel | Any:
    """A LangChain model or chain wrapped; anything else as it is, for structrag to judge."""
    return LangChainModel(value) if isinstance(value, Runnable) else value
