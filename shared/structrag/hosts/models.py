"""What tells two models of a host framework apart, for cache keys and saved indexes: equal in every
process, and never a secret."""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from structrag.asking.naming import digest, setting_name
from structrag.asking.steps import adrive, drive
from structrag.errors import check_at_least
from structrag.models.embedders import model_label
from structrag.models.margins import two_way_of_top
from structrag.text.tokens import TokenCounter, count_tokens

# Words in the name of an attribute whose value is left out.
SECRETS = frozenset({
    "apikey", "auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials", "header", "headers", "key", "passwd",
    "password", "secret", "token",
})  # fmt: skip
# What changes no answer and no vector.
OPERATIONAL = frozenset({
    "async_client", "cache", "cache_folder", "callback_manager", "callbacks", "config_factories", "custom_get_token_ids",
    "default_request_timeout", "disable_streaming", "embed_batch_size", "embeddings_cache", "exception_key", "exceptions_to_handle",
    "http_async_client", "http_client", "max_retries", "metadata", "num_workers", "output_version", "profile", "rate_limiter",
    "request_timeout", "show_progress", "show_progress_bar", "stream", "streaming", "tags", "timeout", "verbose",
})  # fmt: skip


def class_path(value: Any) -> str:
    """Module and qualified name of the value's class."""
    return f"{type(value).__module__}.{type(value).__qualname__}"


def is_setting(name: str) -> bool:
    """Whether an attribute of this name is public, may be told and can change what a model gives."""
    return not name.startswith("_") and name not in OPERATIONAL and SECRETS.isdisjoint(_words(name))


def settings_of(value: Any) -> dict[str, Any]:
    """The public attributes of an object by name, those that are None, secret or without effect
    left out.

    Of a Pydantic model its fields. Of any other object what it holds, and what it holds of its
    constructor's arguments behind an underscore; numbers only if the constructor has them as
    arguments, since others may count calls.
    """
    fields = getattr(type(value), "model_fields", None)
    if isinstance(fields, Mapping):
        found = {
            name: getattr(value, name, None) for name, field in fields.items() if not field.exclude
        }
    else:
        held = getattr(value, "__dict__", {})
        arguments = _arguments(type(value))
        found = {
            name: part
            for name, part in held.items()
            if name in arguments or not isinstance(part, int | float)
        }
        found |= {name: held[f"_{name}"] for name in arguments if f"_{name}" in held}
    return {name: part for name, part in found.items() if part is not None and is_setting(name)}


def is_plain(value: Any) -> bool:
    """Whether it is a string, a number or a truth value."""
    return isinstance(value, str | int | float)


def shown(value: Any) -> str:
    """A setting in a name: numbers as they are, anything else by a digest of all but its secrets."""
    return repr(value) if isinstance(value, int | float) else digest(_told(value))


def telling(value: Any) -> str | None:
    """An attribute of a model that has no name; None for one that may change as the model works,
    such as a list of its calls."""
    if is_plain(value):
        return shown(value)
    if hasattr(value, "encode") and hasattr(value, "max_seq_length"):  # a SentenceTransformer
        return repr(model_label(value))
    return (
        setting_name(value)
        if hasattr(value, "__qualname__") or isinstance(value, partial)
        else None
    )


def listed(settings: Mapping[str, str]) -> str:
    """Settings as they stand in a name: `a=1, b=#5f...`."""
    return ", ".join(f"{name}={value}" for name, value in settings.items())


def _told(value: Any) -> str:
    if isinstance(value, Mapping):
        kept = {str(name): part for name, part in value.items() if is_setting(str(name))}
        return f"{{{_joined(f'{name!r}: {_told(part)}' for name, part in sorted(kept.items()))}}}"
    if isinstance(value, list | tuple):
        return f"[{_joined(map(_told, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{_joined(sorted(map(_told, value)))}}}"
    if value is None or is_plain(value):
        return repr(value)
    if callable(value):
        return setting_name(value)
    whole = hasattr(type(value), "model_fields")  # others may hold clients, records and themselves
    return class_path(value) + _told(
        {name: part for name, part in settings_of(value).items() if whole or is_plain(part)}
    )


def _joined(parts: Iterable[str]) -> str:
    return ", ".join(parts)


def _words(name: str) -> set[str]:
    return set(re.split(r"[^a-z0-9]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()))


def _arguments(kind: type) -> set[str]:
    """The names of the constructor's arguments."""
    try:
        return set(inspect.signature(kind).parameters)
    except (TypeError, ValueError):
        return set()


_HELD = ("client", "_client", "model", "_model")  # where hosts keep the encoder


@dataclass(frozen=True, slots=True)
class EncoderCounter:
    """Counts tokens as a SentenceTransformer does, its special tokens included."""

    encoder: Any

    def __call__(self, text: str) -> int:
        text = text.encode("utf-16", "surrogatepass").decode(
            "utf-16", "replace"
        )  # tokenizers refuse lone surrogates
        return len(self.encoder.tokenizer(text, truncation=False, verbose=False)["input_ids"])


def reading_limit(model: Any, given: int | None = None) -> tuple[int | None, TokenCounter]:
    """The tokens that the model reads of a text, None if nothing tells, and what counts them: its
    tokenizer, or an estimate.

    Told by `max_seq_length` or `max_length` of the object itself, or `max_seq_length` of the
    SentenceTransformer that it holds. `given` is taken instead; it raises InvalidParameter unless
    it is a number from 1.
    """
    encoder = _encoder(model)
    counter: TokenCounter = count_tokens if encoder is None else EncoderCounter(encoder)
    if given is not None:
        check_at_least("max_tokens", given, 1)
        return given, counter
    told = [getattr(model, "max_seq_length", None), getattr(model, "max_length", None)]
    told.append(getattr(encoder, "max_seq_length", None))
    return next((limit for limit in told if _is_limit(limit)), None), counter


def _encoder(model: Any) -> Any:
    """The SentenceTransformer that the model holds, or None."""
    held = [getattr(model, name, None) for name in _HELD]
    return next(
        (
            each
            for each in held
            if hasattr(each, "encode") and _is_limit(getattr(each, "max_seq_length", None))
        ),
        None,
    )


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


Top = Sequence[
    tuple[str, float]
]  # the most likely first tokens of an answer with their log-probabilities

WANTED: tuple[dict[str, Any], ...] = (
    {"logprobs": True, "top_logprobs": 20, "max_tokens": 1, "temperature": 0},
    {"logprobs": True, "top_logprobs": 20},  # for models that refuse one of the others
)
REFUSED = {400, 404, 422}  # HTTP status codes for a parameter that is not known


@dataclass(slots=True)
class LogProbabilities:
    """What is known of one model object: the number of the parameters in WANTED that work, -1 for
    none, None before the first call."""

    works: int | None = None

    def steps(
        self, options: tuple[str, str], read: Callable[[Any], Top]
    ) -> Generator[Mapping[str, Any], Any, float | None]:
        """Yields the parameters of a call, receives the model's answer or what it raised; ends with
        the margin.

        `read` takes the log-probabilities out of an answer, [] if there are none. The margin is
        None for a model without them, and where neither option is among them. A call that failed
        for another reason than its parameters is raised, and decides nothing.
        """
        if self.works == -1:
            return None
        for number in range(len(WANTED)) if self.works is None else [self.works]:
            answer = yield WANTED[number]
            if isinstance(answer, Exception):
                if self.works is None and _is_refusal(answer):
                    continue
                raise answer
            top = read(answer)
            if top:
                self.works = number
                weighed = two_way_of_top(top, options)
                return None if weighed is None else weighed.margin
            break
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

        def answer(parameters: Mapping[str, Any]) -> Any:
            try:
                return call(parameters)
            except Exception as error:  # noqa: BLE001 - the steps judge it
                return error

        return drive(self.steps(options, read), answer)

    async def amargin(
        self,
        options: tuple[str, str],
        read: Callable[[Any], Top],
        call: Callable[[Mapping[str, Any]], Awaitable[Any]],
    ) -> float | None:
        """`margin` with calls that are awaited."""

        async def answer(parameters: Mapping[str, Any]) -> Any:
            try:
                return await call(parameters)
            except Exception as error:  # noqa: BLE001 - as in `margin`
                return error

        return await adrive(self.steps(options, read), answer)


def _is_refusal(error: Exception) -> bool:
    return (
        isinstance(error, TypeError | ValueError | NotImplementedError)
        or getattr(error, "status_code", None) in REFUSED
    )
