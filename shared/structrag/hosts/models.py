"""A host framework's models: their names, limits and log-probabilities.

A name is for cache keys and saved indexes: it tells two models apart, is equal in every process,
and holds no secret.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Generator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from structrag.asking.counted import CallTokens, counted
from structrag.asking.naming import digest, setting_name
from structrag.asking.steps import adrive, drive
from structrag.errors import check_at_least
from structrag.models.embedders import model_label
from structrag.models.margins import Masses, two_way_of_top
from structrag.models.transformers_margin import TransformersMargin
from structrag.models.weights import encoder_label, weights_label
from structrag.text.tokens import TokenCounter, count_tokens

# Words in the name of an attribute whose value is left out.
SECRETS = frozenset({
    "apikey", "auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials",
    "header", "headers", "key", "passwd", "password", "secret", "token",
})  # fmt: skip
# What changes no answer and no vector.
OPERATIONAL = frozenset({
    "async_client", "cache", "cache_folder", "callback_manager", "callbacks", "config_factories",
    "custom_get_token_ids", "default_request_timeout", "disable_streaming", "embed_batch_size",
    "embeddings_cache", "exception_key", "exceptions_to_handle", "http_async_client",
    "http_client", "max_retries", "metadata", "num_workers", "output_version", "profile",
    "rate_limiter", "request_timeout", "show_progress", "show_progress_bar", "stream",
    "streaming", "tags", "timeout", "verbose",
})  # fmt: skip
# Words in the name of a field in which a model keeps what it did.
RECORDS = frozenset({
    "answer", "answers", "async", "call", "calls", "count", "counter", "history", "last", "total",
    "usage", "used",
})  # fmt: skip


# -- what stands in a model's name


def class_path(value: Any) -> str:
    """Module and qualified name of the value's class."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def is_setting(name: str) -> bool:
    """Whether an attribute of this name belongs into a model's name.

    It is public, no secret, and can change what the model gives.
    """
    if name.startswith("_") or name in OPERATIONAL:
        return False
    return SECRETS.isdisjoint(_words(name))


def settings_of(value: Any) -> dict[str, Any]:
    """The public attributes of an object by name.

    Those that are None, secret or without effect are left out. Of a Pydantic model its fields. Of
    any other object what it holds, and what it holds of its constructor's arguments behind an
    underscore; numbers only if the constructor has them as arguments, since others may count calls.
    """
    fields = getattr(type(value), "model_fields", None)
    if isinstance(fields, Mapping):
        shown_fields = [name for name, field in fields.items() if not field.exclude]
        settings = {name: getattr(value, name, None) for name in shown_fields}
    else:
        settings = _settings_held(value)
    return {
        name: part
        for name, part in settings.items()
        if part is not None and is_setting(name)
    }


def other_settings(value: Any, shown_names: Collection[str]) -> dict[str, str]:
    """A digest of the settings that a model's name does not show.

    Where the server is, and how answers are drawn: all fields of plain types, and mappings of them,
    that are not as the class sets them, without counters and other records. Without any, nothing.
    """
    fields: Any = getattr(type(value), "model_fields", {})
    others = {
        name: part
        for name, part in settings_of(value).items()
        if name not in shown_names
        and RECORDS.isdisjoint(_words(name))
        and _is_changed(getattr(fields.get(name), "default", None), part)
    }
    return {"settings": digest(_described(others))} if others else {}


def _is_changed(default: Any, value: Any) -> bool:
    """Whether a plain setting or mapping differs from the default."""
    if isinstance(value, Mapping):
        return bool(value) and value != default
    return is_plain(value) and value != "" and value != default


def is_plain(value: Any) -> bool:
    """Whether it is a string, a number or a truth value."""
    return isinstance(value, str | int | float)


def setting_text(value: Any) -> str:
    """A setting as it stands in a name.

    A number as it is, anything else as a digest of all but its secrets.
    """
    return repr(value) if isinstance(value, int | float) else digest(_described(value))


def attribute_text(value: Any) -> str | None:
    """An attribute as the name made for a model has it.

    None for one that may change as the model works, such as a list of its calls.
    """
    if is_plain(value):
        return setting_text(value)
    # A SentenceTransformer.
    if hasattr(value, "encode") and hasattr(value, "max_seq_length"):
        return repr(model_label(value))
    is_function = hasattr(value, "__qualname__") or isinstance(value, partial)
    return setting_name(value) if is_function else None


def settings_text(settings: Mapping[str, str]) -> str:
    """Settings as they stand in a name: `a=1, b=#5f...`."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _settings_held(value: Any) -> dict[str, Any]:
    """What an object that is no Pydantic model holds, by name."""
    held = getattr(value, "__dict__", {})
    arguments = _arguments(type(value))
    settings = {}
    for name, part in held.items():
        # A number that is no argument may count calls.
        if name in arguments or not isinstance(part, int | float):
            settings[name] = part
    for name in arguments:
        if f"_{name}" in held:
            settings[name] = held[f"_{name}"]
    return settings


def _described(value: Any) -> str:
    """A setting as text without its secrets, equal for equal settings."""
    if value is None or is_plain(value):
        return repr(value)
    if isinstance(value, Mapping):
        settings = {
            str(name): part for name, part in value.items() if is_setting(str(name))
        }
        parts = [
            f"{name!r}: {_described(part)}" for name, part in sorted(settings.items())
        ]
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_described, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(_described, value)))}}}"
    if callable(value):
        return setting_name(value)
    return class_path(value) + _described(_parts_of(value))


def _parts_of(value: Any) -> dict[str, Any]:
    """The settings of an object within a setting."""
    settings = settings_of(value)
    if hasattr(type(value), "model_fields"):
        return settings
    # What is no Pydantic model may hold clients, records and itself.
    return {name: part for name, part in settings.items() if is_plain(part)}


def _words(name: str) -> set[str]:
    return set(
        re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower())
    )


def _arguments(kind: type) -> list[str]:
    """The names of the constructor's arguments, in their order."""
    try:
        return list(inspect.signature(kind).parameters)
    except (TypeError, ValueError):  # of some classes written in C nothing tells
        return []


def weights_held(model: Any) -> dict[str, str]:
    """What tells a model in this process from others of its name.

    As it stands in a name: the weights that the host's model or embedding model holds, and how it
    draws answers.
    """
    encoder, (transformer, _) = _encoder(model), transformer_of(model)
    if encoder is not None:
        return _filled({"weights": encoder_label(encoder)})
    if transformer is None:
        return {}
    drawing: Any = getattr(transformer, "generation_config", None)
    changed = drawing.to_diff_dict() if hasattr(drawing, "to_diff_dict") else {}
    changed.pop("transformers_version", None)
    settings = [changed, getattr(_pipeline(model), "_forward_params", None)]
    return _filled(
        {"weights": weights_label(transformer), "drawing": digest(_described(settings))}
    )


def _filled(settings: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in settings.items() if value}


# -- what an embedding model reads

_HELD = ("client", "_client", "model", "_model")  # where hosts keep the encoder


@dataclass(frozen=True, slots=True)
class EncoderCounter:
    """Counts tokens as a SentenceTransformer does, its special tokens included."""

    encoder: Any

    def __call__(self, text: str) -> int:
        # Tokenizers refuse lone surrogates.
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        return len(
            self.encoder.tokenizer(text, truncation=False, verbose=False)["input_ids"]
        )


def reading_limit(
    model: Any, max_tokens: int | None = None
) -> tuple[int | None, TokenCounter]:
    """How many tokens an embedding model reads, and what counts them.

    The limit is `max_seq_length` or `max_length` of the object itself, or `max_seq_length` of the
    SentenceTransformer that it holds; None if nothing tells. The counter is its tokenizer, or an
    estimate.

    Args:
        max_tokens: The limit in place of what the object tells.

    Raises:
        InvalidParameter: `max_tokens` is no number from 1.
    """
    encoder = _encoder(model)
    counter: TokenCounter = count_tokens if encoder is None else EncoderCounter(encoder)
    if max_tokens is not None:
        check_at_least("max_tokens", max_tokens, 1)
        return max_tokens, counter
    limits = [
        getattr(model, "max_seq_length", None),
        getattr(model, "max_length", None),
        getattr(encoder, "max_seq_length", None),
    ]
    return next((limit for limit in limits if _is_limit(limit)), None), counter


def _encoder(model: Any) -> Any:
    """The SentenceTransformer that the model holds, or None."""
    for name in _HELD:
        candidate = getattr(model, name, None)
        if hasattr(candidate, "encode") and _is_limit(
            getattr(candidate, "max_seq_length", None)
        ):
            return candidate
    return None


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


# -- a transformers model within a host's model


def margin_model(model: Any, *, normalised: bool = True) -> TransformersMargin | None:
    """Weighs options by the transformers model within the host's model.

    Such models are in HuggingFacePipeline, ChatHuggingFace and HuggingFaceLLM. None where there is
    none, or it is no causal one.
    """
    transformer, tokenizer = transformer_of(model)
    if transformer is None:
        return None
    return TransformersMargin(transformer, tokenizer, normalised=normalised)


def transformer_of(model: Any) -> tuple[Any, Any]:
    """The causal transformers model of a host's model, and its tokenizer.

    Both None where it holds none.
    """
    pipeline = _pipeline(model)
    pairs = [
        (getattr(model, "_model", None), getattr(model, "_tokenizer", None)),
        (getattr(pipeline, "model", None), getattr(pipeline, "tokenizer", None)),
    ]
    for transformer, tokenizer in pairs:
        is_encoder_decoder = getattr(
            getattr(transformer, "config", None), "is_encoder_decoder", True
        )
        if hasattr(transformer, "forward") and hasattr(tokenizer, "encode"):
            return (None, None) if is_encoder_decoder else (transformer, tokenizer)
    return None, None


def _pipeline(model: Any) -> Any:
    """The transformers pipeline in a host's model, or one level deeper."""
    holder = getattr(model, "llm", None)
    return getattr(model, "pipeline", None) or getattr(holder, "pipeline", None)


def answer_counter(model: Any) -> TokenCounter | None:
    """Counts tokens by the tokenizer of a host's language model.

    That is the tokenizer of a transformers model it holds, or its `tokenizer` with `encode`. None
    without either, or where `tokenizer` is a name, as in LlamaIndex's OpenAILike. What a host
    counts by itself is not asked, since some would download a tokenizer for it.
    """
    _, held = transformer_of(model)
    tokenizer = held or getattr(model, "tokenizer", None)
    has_tokenizer = hasattr(tokenizer, "encode") and not isinstance(tokenizer, str)
    return AnswerCounter(tokenizer) if has_tokenizer else None


@dataclass(frozen=True, slots=True)
class AnswerCounter:
    """Counts tokens by a tokenizer's `encode`."""

    tokenizer: Any

    def __call__(self, text: str) -> int:
        return len(self.tokenizer.encode(text))


# -- log-probabilities of a host's language model

# The most likely first tokens of an answer with their log-probabilities.
Top = Sequence[tuple[str, float]]

PARAMETERS: tuple[dict[str, Any], ...] = (
    {"logprobs": True, "top_logprobs": 20, "max_tokens": 1, "temperature": 0},
    {"logprobs": True, "top_logprobs": 20},  # for models that refuse one of the others
    {},  # what is refused then too was not refused for its parameters
)
REFUSED = {400, 404, 422}  # HTTP status codes for a parameter that is not known


@dataclass(slots=True)
class LogProbabilities:
    """Log-probabilities of one model object's answers (foundation, section 7).

    Which parameters the model takes is tried out once.

    Attributes:
        works: The number of the parameters in PARAMETERS that work; -1: none, None: not tried yet.
        masses: How much of the probability the options had together.
        normalised: As in `TransformersMargin`.
        tokens: Takes the tokens of a call out of the model's answer, None where it tells none.
    """

    works: int | None = None
    normalised: bool = True
    tokens: Callable[[Any], CallTokens | None] = field(
        default=lambda _: None, repr=False
    )
    masses: Masses = field(default_factory=Masses)

    def steps(
        self, options: tuple[str, str], read: Callable[[Any], Top]
    ) -> Generator[Mapping[str, Any], Any, float | None]:
        """Yield the parameters of calls, and return the margin.

        Each yield is sent the model's answer, or the exception that it raised.

        `read` takes the log-probabilities out of an answer, [] if there are none. The margin is
        None for a model without them, and where neither option is among them. A call that failed
        for another reason than its parameters is raised, and decides nothing: a prompt that is too
        long is refused without any parameter too.
        """
        if self.works == -1:
            return None
        numbers = range(len(PARAMETERS)) if self.works is None else [self.works]
        for number in numbers:
            answer = yield PARAMETERS[number]
            if isinstance(answer, Exception):
                is_last = number + 1 == len(PARAMETERS)
                if self.works is None and _is_refusal(answer) and not is_last:
                    continue
                raise answer
            top = read(answer)
            # The model takes the parameters, and gives no log-probabilities.
            if not top:
                break
            self.works = number
            weighed = two_way_of_top(top, options, normalised=self.normalised)
            if weighed is None:
                return None
            self.masses.add(weighed.mass)
            return counted(weighed.margin, self.tokens(answer))
        if self.works is None:
            self.works = -1
        return None

    def margin(
        self,
        options: tuple[str, str],
        read: Callable[[Any], Top],
        call: Callable[[Mapping[str, Any]], Any],
    ) -> float | None:
        """The margin as in `steps`, the model asked by `call(parameters)`."""
        return drive(self.steps(options, read), _caught(call))

    async def amargin(
        self,
        options: tuple[str, str],
        read: Callable[[Any], Top],
        call: Callable[[Mapping[str, Any]], Awaitable[Any]],
    ) -> float | None:
        """`margin` with calls that are awaited."""
        return await adrive(self.steps(options, read), _acaught(call))


@dataclass(slots=True)
class JsonAnswers:
    """Whether one model object can be held to a JSON schema.

    Servers of OpenAI's kind can.

    Attributes:
        takes: None: not tried yet.
    """

    takes: bool | None = None

    def steps(
        self, schema: Mapping[str, Any]
    ) -> Generator[Mapping[str, Any], Any, Any]:
        """Yield the parameters of calls, and return the answer.

        Each yield is sent the model's answer, or the exception that it raised. A model that refuses
        the schema, and not the prompt without it, is not given one again.
        """
        if self.takes is not False:
            of_schema = {"name": "answer", "schema": dict(schema), "strict": True}
            answer = yield {
                "response_format": {"type": "json_schema", "json_schema": of_schema}
            }
            if not isinstance(answer, Exception):
                self.takes = True
                return answer
            if self.takes or not _is_refusal(answer):
                raise answer
        answer = yield {}
        if isinstance(answer, Exception):
            raise answer
        self.takes = False
        return answer

    def answer(
        self, schema: Mapping[str, Any], call: Callable[[Mapping[str, Any]], Any]
    ) -> Any:
        """The answer as in `steps`, the model asked by `call(parameters)`."""
        return drive(self.steps(schema), _caught(call))

    async def aanswer(
        self,
        schema: Mapping[str, Any],
        call: Callable[[Mapping[str, Any]], Awaitable[Any]],
    ) -> Any:
        """`answer` with calls that are awaited."""
        return await adrive(self.steps(schema), _acaught(call))


def _caught(
    call: Callable[[Mapping[str, Any]], Any],
) -> Callable[[Mapping[str, Any]], Any]:
    def answer(parameters: Mapping[str, Any]) -> Any:
        try:
            return call(parameters)
        except Exception as error:  # noqa: BLE001 - the steps judge it
            return error

    return answer


def _acaught(
    call: Callable[[Mapping[str, Any]], Awaitable[Any]],
) -> Callable[[Mapping[str, Any]], Awaitable[Any]]:
    async def answer(parameters: Mapping[str, Any]) -> Any:
        try:
            return await call(parameters)
        except Exception as error:  # noqa: BLE001 - as in `_caught`
            return error

    return answer


def _is_refusal(error: Exception) -> bool:
    return (
        isinstance(error, TypeError | ValueError | NotImplementedError)
        or getattr(error, "status_code", None) in REFUSED
    )
