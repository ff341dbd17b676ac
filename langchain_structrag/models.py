"""LangChain's models as structrag's, by their own sync and async calls, and structrag's embedders
as LangChain embeddings."""

from __future__ import annotations

import os
import types
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableConfig, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase

from structrag.errors import InvalidParameter
from structrag.integrations.arguments import errors_of_models
from structrag.integrations.models import HostEmbedder, HostModel
from structrag.integrations.naming import host_name
from structrag.model_calls.cache import Cache
from structrag.model_calls.flow import ask
from structrag.model_calls.requests import Embed, Embedder, Flow, LanguageModel
from structrag.model_calls.runner import Runner
from structrag.model_calls.settings import ASKING, CallSettings
from structrag.model_calls.usage import CallTokens, Usage, reported_tokens
from structrag.models.embedders import as_embedder as core_embedder
from structrag.models.embedders import as_fixed_embedder
from structrag.models.llm import as_language_model as core_language_model
from structrag.text.arrays import Array

_callbacks: ContextVar[BaseCallbackManager | None] = ContextVar(
    "structrag_callbacks", default=None
)


@contextmanager
def inner_callbacks(callbacks: BaseCallbackManager | None) -> Iterator[None]:
    """Let language models that are called through `LangChainModel` within it, also from threads and
    tasks, report to `callbacks`."""
    token = _callbacks.set(callbacks)
    try:
        yield
    finally:
        _callbacks.reset(token)


@contextmanager
def answering(run: Any) -> Iterator[None]:
    """What goes on at a question is part of its run. The errors of models pass as they are."""
    with errors_of_models(), inner_callbacks(run.get_child()):
        yield


def inner_config(config: RunnableConfig | None = None) -> RunnableConfig | None:
    """The config for a call made within `inner_callbacks`. Its callbacks, unless `config` has its
    own."""
    callbacks = _callbacks.get()
    if callbacks is None or (config and config.get("callbacks")):
        return config
    return RunnableConfig(**{**(config or {}), "callbacks": callbacks})


class StructragEmbeddings(Embeddings):
    """A structrag embedder for everything in LangChain that takes `Embeddings`.

    Example:
        >>> def lengths(texts):  # or structrag.minilm()
        ...     return [[len(text), 1.0] for text in texts]
        >>> embeddings = StructragEmbeddings(lengths)
        >>> embeddings.embed_query("cats")
        [4.0, 1.0]

    Equal texts are embedded once per call, and the vectors are checked. Asynchronous calls use the
    embedder's own; a function or a sentence-transformers model runs in a worker thread. It can be
    pickled if the embedder can. The splitters and retrievers of langchain_structrag use the
    embedder inside directly, with its windows, and do their own batching and counting.

    Args:
        embedder: `structrag.minilm()`, a `StaticEmbedder`, the name or folder of a
            sentence-transformers model on this machine, a SentenceTransformer, a function
            `list[str] -> array`, or any other embedder of structrag that is not fitted to its
            corpus.
        batch_size: The largest number of texts in one call of the embedder.
        cache: A structrag `Cache` or its path: cached documents cost nothing. None: no cache.

    Raises:
        InvalidParameter: `embedder` is none of these, or it is None or LSA, whose vectors change
            with the documents.
        InvalidAnswer: from the methods, if the embedder does not return one vector per text, or
            returns NaN.
    """

    def __init__(
        self,
        embedder: Any,
        *,
        batch_size: int = 64,
        cache: Cache | str | os.PathLike[str] | None = None,
    ) -> None:
        self.embedder: Embedder = as_fixed_embedder(embedder)
        self._runner = Runner(
            embedder=self.embedder,
            cache=cache,
            batch_size=batch_size,
        )

    @property
    def model_name(self) -> str:
        """The embedder's name."""
        return self.embedder.name

    @property
    def usage(self) -> Usage:
        """The cost of these embeddings so far: texts, their estimated tokens, and cache hits."""
        return self._runner.usage

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """One vector per text; [] for no texts."""
        return _lists(self._runner.run(_flow(texts)))

    def embed_query(self, text: str) -> list[float]:
        """The query's vector, with the model's query prompt, if any."""
        return _lists(self._runner.run(_flow([text], query=True)))[0]

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """`embed_documents` by the embedder's asynchronous call."""
        return _lists(await self._runner.arun(_flow(texts)))

    async def aembed_query(self, text: str) -> list[float]:
        """`embed_query` by the embedder's asynchronous call."""
        return _lists(await self._runner.arun(_flow([text], query=True)))[0]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.model_name!r})"

    def __reduce__(self) -> tuple[Any, ...]:
        cache = None if self._runner.cache is None else self._runner.cache.path
        make = partial(
            type(self), batch_size=self._runner.call_settings.batch_size, cache=cache
        )
        return make, (self.embedder,)


def _flow(texts: list[str], *, query: bool = False) -> Flow[Array]:
    vectors = yield from ask(Embed(tuple(texts), query=query))
    return vectors  # type: ignore[no-any-return]


def _lists(vectors: Array) -> list[list[float]]:
    return vectors.tolist()  # type: ignore[no-any-return]


class LangChainEmbedder(HostEmbedder):
    """LangChain `Embeddings` as a structrag embedder.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=8), max_tokens=512)
        >>> len(embedder.embed(["Rinse the filter."])[0]), embedder.max_tokens
        (8, 512)

    Args:
        embeddings: Called through `embed_documents` and, one text per call, `embed_query`, or their
            async forms.
        name: For cache keys and saved indexes; default: the class with the model's name and
            settings, never an API key; of CacheBackedEmbeddings that of the embeddings behind it.
            An object that names no model and holds other objects, such as a client, needs a name to
            share a cache.
        max_tokens: The model's input limit; longer texts are then embedded in windows instead of
            being truncated. None: the limit that the object reports, as HuggingFaceEmbeddings does,
            or else no limit.

    Raises:
        InvalidParameter: `embeddings` is not a LangChain `Embeddings`, or `max_tokens` is below 1
            (a ValueError).
    """

    def __init__(
        self, embeddings: Embeddings, name: str = "", max_tokens: int | None = None
    ) -> None:
        if not isinstance(embeddings, Embeddings):
            raise InvalidParameter(
                f"embeddings must be a langchain_core Embeddings; got {type(embeddings).__name__}."
            )
        self.embeddings = embeddings
        # CacheBackedEmbeddings keeps the vectors of others, and is called for them.
        model = getattr(embeddings, "underlying_embeddings", embeddings)
        if isinstance(model, StructragEmbeddings):
            name, model = name or model.embedder.name, model.embedder
        super().__init__(model, name, max_tokens)

    def _documents(self, texts: list[str]) -> list[list[float]]:
        return self.embeddings.embed_documents(texts)

    def _query(self, text: str) -> list[float]:
        return self.embeddings.embed_query(text)

    async def _adocuments(self, texts: list[str]) -> list[list[float]]:
        return await self.embeddings.aembed_documents(texts)

    async def _aquery(self, text: str) -> list[float]:
        return await self.embeddings.aembed_query(text)


class LangChainModel(HostModel):
    """A LangChain chat model, LLM or chain as a structrag language model.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = LangChainModel(FakeListChatModel(responses=["A pump."]))  # or ChatOpenAI()
        >>> model.complete("What moves water?")
        'A pump.'

    Args:
        model: Called through `invoke` and `ainvoke` with a string; answers with a string or a
            message, whose text blocks are joined. A model, a model with fallbacks, retries or bound
            arguments, or any other Runnable of these types: `prompt | model` if the prompt has one
            placeholder, `model | StrOutputParser()`, a RunnableLambda.
        name: For cache keys and saved indexes; default: the class with the model's name and
            settings (for a chain, those of all its parts), never an API key. A chain that holds a
            function, such as a RunnableLambda, needs a name to share a cache, and a new name when
            the function changes.
        config: A `RunnableConfig` for every call; inside a retriever, the retriever's callbacks
            reach the call as well.

    Raises:
        InvalidParameter: `model` is not a Runnable, does not accept a string, or returns neither a
            string nor a message (a ValueError).
    """

    def __init__(
        self,
        model: Runnable[Any, Any],
        name: str = "",
        config: RunnableConfig | None = None,
    ) -> None:
        check_answers(model)
        self.model = model
        self.config = config
        super().__init__(model, name or model_name(model, config))
        if gives_strings(model):
            self._weighing.works = -1  # none come with a plain string
        if not isinstance(model, BaseChatModel):
            self._json.takes = False

    def _ask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        return self._bound(parameters).invoke(prompt, inner_config(self.config))

    async def _aask(self, prompt: str, parameters: Mapping[str, Any]) -> Any:
        return await self._bound(parameters).ainvoke(prompt, inner_config(self.config))

    def _bound(self, parameters: Mapping[str, Any]) -> Runnable[Any, Any]:
        """The model with the parameters of a call.

        ChatOpenAI raises where it reads a `response_format` of its own and the answer is cut off;
        in the body of the request it passes unread.
        """
        if "response_format" in parameters and hasattr(self.model, "extra_body"):
            parameters = {"extra_body": {**(self.model.extra_body or {}), **parameters}}
        return self.model.bind(**parameters) if parameters else self.model

    @staticmethod
    def _text(answer: Any) -> Any:
        return answer_text(answer)

    @staticmethod
    def _tokens(answer: Any) -> CallTokens | None:
        return reported_tokens(getattr(answer, "usage_metadata", None))

    @staticmethod
    def _top(answer: Any) -> list[tuple[str, float]]:
        """The most likely first tokens of a message, as providers report them."""
        metadata = getattr(answer, "response_metadata", None) or {}
        tokens = metadata.get("logprobs") or metadata.get("logprobs_result")
        if isinstance(tokens, Mapping):
            tokens = tokens.get("content")
        first = next(iter(tokens), None) if isinstance(tokens, list) else None
        if not isinstance(first, Mapping):
            return []
        unique = {}  # the token itself may be among the most likely ones
        for entry in [*(first.get("top_logprobs") or ()), first]:
            token, value = entry.get("token"), entry.get("logprob")
            if isinstance(token, str) and isinstance(value, int | float):
                unique[token] = float(value)
        return list(unique.items())


def model_name(model: Any, config: RunnableConfig | None = None) -> str:
    """The name of a model or chain called with `config`; see `LangChainModel`."""
    chosen = (config or {}).get("configurable")
    return host_name(model, {"configurable": chosen} if chosen else None)


def answer_text(answer: Any) -> Any:
    """The text of a chat model's message or of an LLM's answer. Other values are returned for the
    caller to refuse."""
    return str(answer.text) if isinstance(answer, BaseMessage) else answer


def as_embedder(value: Any) -> Embedder | Any:
    """LangChain `Embeddings` wrapped, of `StructragEmbeddings` the embedder. Anything else stays as
    it is, for structrag to judge."""
    if isinstance(value, StructragEmbeddings):
        return value.embedder
    return LangChainEmbedder(value) if isinstance(value, Embeddings) else value


def as_language_model(value: Any) -> LanguageModel | Any:
    """A LangChain model or chain wrapped. Anything else stays as it is, for structrag to judge."""
    return LangChainModel(value) if isinstance(value, Runnable) else value


NEEDED = "a Runnable from a string to a string or a message"


def check_answers(model: Any, *, takes_text: bool = True) -> None:
    """Raise InvalidParameter for what cannot stand for a language model.

    Its types must allow it to take a string and to answer with a string or a message. A model that
    declares no types, or Any, is allowed. `takes_text=False` leaves out what it takes.
    """
    if not isinstance(model, Runnable):
        raise InvalidParameter(
            f"model must be a LangChain chat model or LLM, or {NEEDED}; got "
            f"{type(model).__name__}. Pass a plain function directly as llm=."
        )
    if isinstance(model, BaseLanguageModel):
        return
    output = _declared(model, "OutputType")
    if not _allows(output, str, BaseMessage):
        raise InvalidParameter(
            f"model must be {NEEDED}; {model.get_name()} gives {_shown(output)}. End the chain in "
            "the model or in a StrOutputParser."
        )
    if takes_text:
        _check_input(model)


def gives_strings(model: Any) -> bool:
    """Whether its answers are plain strings, without anything else."""
    return _declared(model, "OutputType") is str


def _check_input(model: Runnable[Any, Any]) -> None:
    first = _first(model)
    if isinstance(first, BasePromptTemplate):
        names = first.input_variables
        if len(names) != 1 or not _allows(first.input_types.get(names[0], str), str):
            raise InvalidParameter(
                f"model must be {NEEDED}; the prompt that starts the chain has the placeholders "
                f"{sorted(names)}. It must have exactly one, for a string; set the others with "
                "prompt.partial(...)."
            )
        return
    taken = _declared(model, "InputType")
    if not _allows(taken, str):
        raise InvalidParameter(
            f"model must be {NEEDED}; {model.get_name()} takes {_shown(taken)}."
        )


def _first(model: Any) -> Any:
    """The part of a chain that gets the input."""
    while isinstance(model, RunnableSequence | RunnableBindingBase):
        model = model.first if isinstance(model, RunnableSequence) else model.bound
    return model


def _declared(model: Runnable[Any, Any], side: str) -> Any:
    """The type that a Runnable declares; Any where it declares none."""
    try:
        return getattr(model, side)
    except (AttributeError, TypeError):
        return Any


def _allows(declared: Any, *accepted: type) -> bool:
    """Whether a declared type allows a value of one of the types."""
    origin = get_origin(declared)
    if origin is Annotated:
        return _allows(get_args(declared)[0], *accepted)
    if origin in {Union, types.UnionType}:
        return any(_allows(part, *accepted) for part in get_args(declared))
    # Open types, and annotations as text, may be anything.
    if declared is Any or declared is object or isinstance(declared, str | TypeVar):
        return True
    return (
        isinstance(declared, type) and origin is None and issubclass(declared, accepted)
    )


def _shown(declared: Any) -> str:
    if get_origin(declared) is None:
        return getattr(declared, "__name__", str(declared))
    return str(declared)


def models_of(embedding: Any, llm: Any, **options: Any) -> dict[str, Any]:
    """Return the arguments of a `Runner` for a user's models.

    Args:
        options: Settings of `CallSettings`. They are checked, and a cache is opened once for all
            runners.
    """
    settings = CallSettings(**options)
    return {
        "embedder": None
        if embedding is None
        else core_embedder(as_embedder(embedding)),
        "llm": core_language_model(as_language_model(llm)),
        **{name: getattr(settings, name) for name in ASKING},
    }
