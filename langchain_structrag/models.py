"""LangChain's models as structrag's, by their own sync and async calls."""

from __future__ import annotations

import asyncio
import types
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseChatModel, BaseLanguageModel
from langchain_core.messages import BaseMessage
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import (
    Runnable,
    RunnableBinding,
    RunnableConfig,
    RunnableSequence,
)
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.retry import RunnableRetry
from pydantic import BaseModel

from langchain_structrag.embedding import StructragEmbeddings
from structrag.asking.counted import CallTokens, counted, reported_tokens
from structrag.asking.naming import digest, unnamed
from structrag.asking.requests import Embedder, LanguageModel
from structrag.errors import InvalidParameter
from structrag.hosts.models import (
    JsonAnswers,
    LogProbabilities,
    answer_counter,
    attribute_text,
    class_path,
    is_plain,
    is_setting,
    margin_model,
    other_settings,
    reading_limit,
    setting_text,
    settings_of,
    settings_text,
    weights_held,
)
from structrag.models.margins import Masses
from structrag.models.transformers_margin import TransformersMargin
from structrag.text.tokens import TokenCounter, count_tokens

_callbacks: ContextVar[BaseCallbackManager | None] = ContextVar(
    "structrag_callbacks", default=None
)


@contextmanager
def inner_callbacks(callbacks: BaseCallbackManager | None) -> Iterator[None]:
    """Let language models called within it report to `callbacks`.

    Those called through `LangChainModel`, also from threads and tasks.
    """
    token = _callbacks.set(callbacks)
    try:
        yield
    finally:
        _callbacks.reset(token)


def inner_config(config: RunnableConfig | None = None) -> RunnableConfig | None:
    """The config for a call made within `inner_callbacks`.

    Its callbacks, unless `config` has its own.
    """
    callbacks = _callbacks.get()
    if callbacks is None or (config and config.get("callbacks")):
        return config
    return RunnableConfig(**{**(config or {}), "callbacks": callbacks})


@dataclass(frozen=True)
class LangChainEmbedder:
    """LangChain `Embeddings` as a structrag embedder.

    Example:
        >>> from langchain_core.embeddings import DeterministicFakeEmbedding
        >>> embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=8), max_tokens=512)
        >>> len(embedder.embed(["Rinse the filter."])[0]), embedder.max_tokens
        (8, 512)

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
    _counter: TokenCounter = field(
        default=count_tokens, init=False, repr=False, compare=False
    )

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
        """The model's tokens of a text, for windows.

        An estimate where its tokenizer is not at hand.
        """
        return self._counter(text)

    def embed(self, texts: Sequence[str], *, query: bool = False) -> list[list[float]]:
        """One vector a text."""
        if query:
            return [self.embeddings.embed_query(text) for text in texts]
        return self.embeddings.embed_documents(list(texts))

    async def aembed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[list[float]]:
        """`embed` by the model's own async calls."""
        if query:
            calls = [self.embeddings.aembed_query(text) for text in texts]
            return list(await asyncio.gather(*calls))
        return await self.embeddings.aembed_documents(list(texts))


@dataclass(frozen=True)
class LangChainModel:
    """A LangChain chat model, LLM or chain as a structrag language model.

    Example:
        >>> from langchain_core.language_models import FakeListChatModel
        >>> model = LangChainModel(FakeListChatModel(responses=["A pump."]))  # or ChatOpenAI()
        >>> model.complete("What moves water?")
        'A pump.'

    Attributes:
        model: Called by `invoke` and `ainvoke` with a string. Its answer is a string, or the text
            of a message, text blocks joined. A model, one with fallbacks, retries or bound
            arguments, or any other Runnable whose types allow that: `prompt | model` where the
            prompt has one place, `model | StrOutputParser()`, a RunnableLambda.
        name: For cache keys and saved indexes; default: the class and the model's name and
            settings, of a chain those of all its parts, never a key. A chain that holds a function,
            as a RunnableLambda does, does not tell what it calls: without a `name` no cache entry
            is shared with it, not even by a later run, and an index that was saved makes its views
            anew. Give it one, and another when the function changes.
        normalised: Margins (pA - pB) / (pA + pB); False: pA - pB, as IDMS prints them.
        config: A `RunnableConfig` for every call; inside a retriever its callbacks reach the call
            as well.

    Raises:
        InvalidParameter: `model` is no Runnable, or takes no string, or gives neither a string nor
            a message (a ValueError).
    """

    model: Runnable[Any, Any]
    name: str = ""
    config: RunnableConfig | None = None
    normalised: bool = True
    _log_probabilities: LogProbabilities = field(
        default_factory=LogProbabilities, init=False, repr=False, compare=False
    )

    _json_answers: JsonAnswers = field(
        default_factory=JsonAnswers, init=False, repr=False, compare=False
    )

    # by the model's own tokenizer; None where it has none at hand
    count_tokens: TokenCounter | None = field(
        default=None, init=False, repr=False, compare=False
    )
    _weigher: TransformersMargin | None = field(
        default=None, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        check_answers(self.model)
        if not self.name:
            object.__setattr__(self, "name", model_name(self.model, self.config))
        if not self.normalised:
            object.__setattr__(self, "name", f"{self.name}|not normalised")
        self._log_probabilities.normalised = self.normalised
        self._log_probabilities.tokens = tokens_of_message
        weigher = margin_model(self.model, normalised=self.normalised)
        object.__setattr__(self, "_weigher", weigher)
        object.__setattr__(self, "count_tokens", answer_counter(self.model))
        if gives_strings(self.model):
            self._log_probabilities.works = -1  # none come with a plain string
        if not isinstance(self.model, BaseChatModel):
            self._json_answers.takes = False

    def complete(self, prompt: str) -> str:
        """The answer's text."""
        return counted_text(self.model.invoke(prompt, self._config()))

    async def acomplete(self, prompt: str) -> str:
        """The answer's text."""
        return counted_text(await self.model.ainvoke(prompt, self._config()))

    def complete_json(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """The answer's text, held to a JSON schema.

        Models of OpenAI's kind do, by `response_format`; others answer as they do to `complete`.
        """

        def call(parameters: Mapping[str, Any]) -> Any:
            return self._bound(parameters).invoke(prompt, self._config())

        return counted_text(self._json_answers.answer(schema, call))

    async def acomplete_json(self, prompt: str, schema: Mapping[str, Any]) -> str:
        """`complete_json` by the model's own async call."""

        async def call(parameters: Mapping[str, Any]) -> Any:
            return await self._bound(parameters).ainvoke(prompt, self._config())

        return counted_text(await self._json_answers.aanswer(schema, call))

    def _bound(self, parameters: Mapping[str, Any]) -> Runnable[Any, Any]:
        """The model with the parameters of a JSON answer.

        ChatOpenAI raises where it reads a `response_format` of its own and the answer is cut off;
        in the body of the request it passes unread.
        """
        if parameters and hasattr(self.model, "extra_body"):
            parameters = {"extra_body": {**(self.model.extra_body or {}), **parameters}}
        return self.model.bind(**parameters)

    @cached_property
    def unnormalised(self) -> LangChainModel:
        """The same model with margins pA - pB. Both count in `masses`."""
        if not self._log_probabilities.normalised:
            return self
        other = replace(self, normalised=False)
        other._log_probabilities.masses = self._log_probabilities.masses
        if self._weigher is not None:
            object.__setattr__(other, "_weigher", self._weigher.unnormalised)
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

        def call(parameters: Mapping[str, Any]) -> Any:
            return self.model.bind(**parameters).invoke(prompt, self._config())

        return self._log_probabilities.margin(options, top_of_message, call)

    async def achoose(self, prompt: str, options: tuple[str, str]) -> float | None:
        """`choose` by the model's own async call."""
        if self._weigher is not None:
            return await asyncio.to_thread(self._weigher.choose, prompt, options)

        async def call(parameters: Mapping[str, Any]) -> Any:
            return await self.model.bind(**parameters).ainvoke(prompt, self._config())

        return await self._log_probabilities.amargin(options, top_of_message, call)

    def _config(self) -> RunnableConfig | None:
        return inner_config(self.config)


def answer_text(answer: Any) -> str:
    """The text of a chat model's message or of an LLM's answer.

    Other values are returned for the caller to refuse.
    """
    return str(answer.text) if isinstance(answer, BaseMessage) else answer


def counted_text(answer: Any) -> str:
    """`answer_text` with the tokens that the provider reports."""
    return counted(answer_text(answer), tokens_of_message(answer))


def tokens_of_message(answer: Any) -> CallTokens | None:
    """The tokens that the provider reports with a message."""
    return reported_tokens(getattr(answer, "usage_metadata", None))


def top_of_message(answer: Any) -> list[tuple[str, float]]:
    """The most likely first tokens of a message with their log-probabilities.

    As providers report them; [] if there are none.
    """
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


def as_embedder(value: Any) -> Embedder | Any:
    """LangChain `Embeddings` wrapped, of `StructragEmbeddings` the embedder.

    Anything else stays as it is, for structrag to judge.
    """
    if isinstance(value, StructragEmbeddings):
        return value.embedder
    return LangChainEmbedder(value) if isinstance(value, Embeddings) else value


def as_language_model(value: Any) -> LanguageModel | Any:
    """A LangChain model or chain wrapped.

    Anything else stays as it is, for structrag to judge.
    """
    return LangChainModel(value) if isinstance(value, Runnable) else value


NEEDED = "a Runnable that takes a string and gives a string or a message"


def check_answers(model: Any, *, takes_text: bool = True) -> None:
    """Raise InvalidParameter for what cannot stand for a language model.

    Its types must allow it to take a string and to answer with a string or a message. What declares
    no types, or Any, is allowed. `takes_text=False` leaves out what it takes.
    """
    if not isinstance(model, Runnable):
        raise InvalidParameter(
            f"model must be a LangChain chat model or LLM, or {NEEDED}; got "
            f"{type(model).__name__}. A plain function is passed as llm= as it is."
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
                f"model must be {NEEDED}; the prompt that the chain begins with has the places "
                f"{sorted(names)}. It must have exactly one, for a string: set others by "
                "prompt.partial(...)."
            )
        return
    taken = _declared(model, "InputType")
    if not _allows(taken, str):
        raise InvalidParameter(
            f"model must be {NEEDED}; {model.get_name()} takes {_shown(taken)}."
        )


def _first(model: Any) -> Any:
    """What of a chain is given the input."""
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
    # What is left open, or is an annotation as text, may be anything.
    if declared is Any or declared is object or isinstance(declared, str | TypeVar):
        return True
    return (
        isinstance(declared, type) and origin is None and issubclass(declared, accepted)
    )


def _shown(declared: Any) -> str:
    if get_origin(declared) is None:
        return getattr(declared, "__name__", str(declared))
    return str(declared)


# What tells two models or settings apart, and never a secret.
MODEL_FIELDS = (
    "model",
    "model_name",
    "model_id",
    "repo_id",
    "deployment_name",
    "azure_deployment",
    "endpoint_name",
)
SETTING_FIELDS = (
    "temperature", "top_p", "top_k", "max_tokens", "seed", "reasoning_effort",
    "dimensions", "output_dimensionality", "task_type", "size",
    "query_instruction", "embed_instruction",
)  # fmt: skip
# Those that stand in a name as a digest.
OTHER_FIELDS = (
    "model_kwargs",
    "encode_kwargs",
    "query_encode_kwargs",
    "stop",
    "stop_sequences",
)
FUNCTION = "<function>"  # stands in a name for what cannot be told


def model_name(model: Any, config: RunnableConfig | None = None) -> str:
    """What tells two models or chains apart, equal in every process.

    Class, model name and settings, such as `ChatOpenAI(model='gpt-4o', temperature=0)`. A chain's
    name has all its parts: bound arguments, fallbacks, steps, prompts. That of a model without a
    name has the module and name of its class and its public settings. A chain that holds a
    function, such as a RunnableLambda, gets a name that no other has, since nothing tells what the
    function calls. `config` is what it will be called with.
    """
    name = _described(model, _configured(config))
    return unnamed(model, name) if FUNCTION in name else name


def _described(value: Any, settings: Mapping[str, Any]) -> str:
    """A model, embeddings or chain, called with these settings."""
    # What `bind`, `with_config` and `with_retry` give.
    if isinstance(value, RunnableBinding | RunnableRetry):
        return _described(
            value.bound, {**value.kwargs, **_configured(value.config), **settings}
        )
    if isinstance(value, BaseLanguageModel | Embeddings):
        return _model(value, settings)
    steps = value.steps if isinstance(value, RunnableSequence) else []
    name = " | ".join(_described(step, {}) for step in steps) or _composed(value)
    return f"({name}).bind({settings_text(_digests(settings))})" if settings else name


def _configured(config: RunnableConfig | None) -> dict[str, Any]:
    chosen = (config or {}).get("configurable")
    return {"configurable": chosen} if chosen else {}


def _model(model: Any, bound: Mapping[str, Any]) -> str:
    """A model that is called with these bound arguments."""
    names = _fields(model, bound, MODEL_FIELDS)
    settings = {**names, **_fields(model, bound, SETTING_FIELDS)}
    shown_settings = {name: repr(value) for name, value in settings.items()}
    # What LangChain's classes say tells their instances apart.
    identifying = getattr(model, "_identifying_params", None)
    parameters = dict(identifying) if isinstance(identifying, Mapping) else {}
    others = {name: getattr(model, name, None) for name in OTHER_FIELDS}
    rest = {**others, **parameters, **bound}
    shown_settings |= _digests(
        {name: rest[name] for name in rest if name not in shown_settings}
    )
    if names:
        rest_of_fields = {
            **other_settings(model, {*settings, *rest}),
            **weights_held(model),
        }
        return f"{type(model).__name__}({settings_text({**shown_settings, **rest_of_fields})})"
    if not parameters:
        shown_settings = {**_attributes(model), **shown_settings}
    return f"{class_path(model)}({settings_text(shown_settings)})"


def _fields(
    model: Any, bound: Mapping[str, Any], names: tuple[str, ...]
) -> dict[str, Any]:
    """The plain values of these fields; bound arguments come first."""
    values = {
        name: bound[name] if name in bound else getattr(model, name, None)
        for name in names
    }
    return {
        name: value for name, value in values.items() if is_plain(value) and value != ""
    }


def _digests(settings: Mapping[str, Any]) -> dict[str, str]:
    """The settings as they stand in a name, without empty ones."""
    digests = {}
    for name, value in settings.items():
        is_empty = isinstance(value, Mapping | list) and not value
        if is_setting(name) and value is not None and not is_empty:
            digests[name] = setting_text(value)
    return digests


def _attributes(model: Any) -> dict[str, str]:
    """The settings of a model that has no name."""
    attributes = {}
    for name, value in settings_of(model).items():
        is_model = isinstance(value, Embeddings | Runnable)
        text = _described(value, {}) if is_model else attribute_text(value)
        if text is not None:
            attributes[name] = text
    return attributes


def _composed(value: Any) -> str:
    """A chain, a prompt or a parser by all its parts."""
    is_of_langchain = type(value).__module__.startswith("langchain_core.")
    kind = type(value).__name__ if is_of_langchain else class_path(value)
    held = (
        [] if isinstance(value, BaseModel) else getattr(value, "__dict__", {}).values()
    )
    if any(map(_is_function, held)):
        return f"{kind}({FUNCTION})"
    settings = settings_of(value)
    if "config" in settings:  # of what can be configured
        settings |= {"config": _configured(value.config)}
    parts = settings_text({name: _part(part) for name, part in settings.items()})
    if (
        parts
        and isinstance(value, BasePromptTemplate | BaseOutputParser)
        and FUNCTION not in parts
    ):
        parts = digest(parts)
    return f"{kind}({parts})"


def _part(value: Any) -> str:
    """A part of a chain, of any type."""
    if isinstance(value, Embeddings | Runnable):
        return _described(value, {})
    if _is_function(value):
        return FUNCTION
    if isinstance(value, Mapping):
        parts = {str(name): _part(part) for name, part in value.items()}
        return f"{{{settings_text(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_part, value))}]"
    return _composed(value) if isinstance(value, BaseModel) else setting_text(value)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(
        value, type | Embeddings | Runnable | BaseModel
    )
