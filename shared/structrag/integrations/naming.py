"""Encoders, transformers models and tokenizers inside a host framework's models, and the names of
those models for cache keys and saved indexes. A name tells two models apart, is equal in every
process, and holds no secret. A model or chain that holds what nothing tells from others, such as a
function, gets one that no other has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from os import PathLike
from typing import Any

from structrag.errors import check_at_least
from structrag.model_calls.naming import digest, setting_name, unnamed
from structrag.models.embedders import SentenceTransformerEmbedder, model_label
from structrag.models.loading import encoder_label, weights_label
from structrag.models.transformers_model import TransformersMargin
from structrag.text.tokens import TokenCounter, count_tokens, without_surrogates

# Words in the name of a setting whose value is left out.
SECRETS = frozenset({
    "apikey", "auth", "authorization", "bearer", "cookie", "cookies", "credential", "credentials",
    "header", "headers", "key", "passwd", "password", "secret", "token",
})  # fmt: skip
# Words in the name of a field in which a model keeps what it did.
RECORDS = frozenset({
    "answered", "async", "call", "calls", "count", "counter", "history", "last", "total", "usage",
    "used",
})  # fmt: skip
# Settings that change no answer and no vector.
OPERATIONAL = frozenset({
    "async_client", "cache", "cache_folder", "callback_manager", "callbacks", "config_factories",
    "custom_get_token_ids", "default_request_timeout", "disable_streaming", "embed_batch_size",
    "embeddings_cache", "exception_key", "exceptions_to_handle", "http_async_client",
    "http_client", "max_retries", "metadata", "num_workers", "output_version", "profile",
    "rate_limiter", "request_timeout", "show_progress", "show_progress_bar", "stream",
    "streaming", "tags", "timeout", "verbose",
})  # fmt: skip
# Fields that name the model itself.
MODEL_FIELDS = (
    "model", "model_name", "model_id", "repo_id", "deployment_name", "azure_deployment",
    "endpoint_name",
)  # fmt: skip
# Fields shown in a name as they are; all others become one digest.
SHOWN_FIELDS = (*MODEL_FIELDS, "temperature", "max_tokens", "dimensions", "size")
_UNNAMED = ("", "unknown")  # model names of LlamaIndex's base classes
_UNTOLD = "<untold>"  # stands for what nothing tells from others
_DEEPEST = 40  # levels of nested settings


def host_name(model: Any, extra: Mapping[str, Any] | None = None) -> str:
    """The class and settings of a host's model or chain, such as `ChatOpenAI(model='gpt-4o')`.

    Args:
        extra: Settings that its fields do not tell.
    """
    name = _object(model, extra or {}, 0)
    return unnamed(model, name.replace(_UNTOLD, "")) if _UNTOLD in name else name


def is_setting(name: str) -> bool:
    """Whether a setting of this name is not a secret, and can change a model's output."""
    return name not in OPERATIONAL and SECRETS.isdisjoint(words_of(name))


def weights_held(model: Any) -> Iterator[tuple[str, str]]:
    """Yield the weights that a host's model in this process holds, and how it draws answers. They
    tell models of the same name apart."""
    encoder, (transformer, _) = encoder_of(model), transformer_of(model)
    if encoder is not None:
        yield "weights", encoder_label(encoder)
    elif transformer is not None:
        yield "weights", weights_label(transformer)
        drawing: Any = getattr(transformer, "generation_config", None)
        changed = drawing.to_diff_dict() if hasattr(drawing, "to_diff_dict") else {}
        changed.pop("transformers_version", None)
        forward = getattr(pipeline_of(model), "_forward_params", None)
        yield "drawing", digest(_described([changed, forward], 0))


def _object(value: Any, extra: Mapping[str, Any], depth: int) -> str:
    """An object by its class and settings. One that names its model may hold what is untold, such
    as a client."""
    settings = {**_settings_of(value), **extra}
    if depth and not hasattr(type(value), "model_fields"):
        settings = _without_objects(settings)
    shown = {
        name: settings[name] for name in SHOWN_FIELDS if _is_shown(settings.get(name))
    }
    rest = {name: part for name, part in settings.items() if name not in shown}
    text = _described(rest, depth + 1)
    parts = {name: repr(part) for name, part in shown.items()}
    if text != "{}":
        parts["settings"] = digest(text)
    parts |= {name: part for name, part in weights_held(value) if part}
    listed = ", ".join(f"{name}={part}" for name, part in parts.items())
    is_told = _UNTOLD not in text or not shown.keys().isdisjoint(MODEL_FIELDS)
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    return f"{kind}({listed})" + ("" if is_told else _UNTOLD)


def _without_objects(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without what they hold, which may be clients, records and the object itself."""
    return {
        name: part if isinstance(part, str | int | float) else _UNTOLD
        for name, part in settings.items()
    }


def _is_shown(part: Any) -> bool:
    return isinstance(part, str | int | float) and part not in _UNNAMED


def _settings_of(value: Any) -> dict[str, Any]:
    """Settings of an object: the changed fields of a Pydantic model, attributes of any other."""
    kind: Any = type(value)
    fields = getattr(kind, "model_fields", None)
    if fields is None:
        settings = {name: getattr(kind, name, None) for name in SHOWN_FIELDS}
        settings |= {
            name.lstrip("_"): part for name, part in _attributes(value).items()
        }
    else:
        settings = {name: getattr(value, name, None) for name in fields}
        for name, field in fields.items():
            is_shown = name in SHOWN_FIELDS
            if field.exclude or (_is_default(field, settings[name]) and not is_shown):
                del settings[name]
    # LangChain's classes list what distinguishes their instances.
    identifying = getattr(value, "_identifying_params", None)
    settings |= identifying if isinstance(identifying, Mapping) else {}
    return {
        name: part
        for name, part in settings.items()
        if not _is_empty(part) and is_setting(name) and not _is_record(name, part)
    }


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object, those in `__slots__` too."""
    names = [*getattr(value, "__dict__", ())]
    for base in type(value).__mro__:
        slots = vars(base).get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    plain = (name for name in names if not name.startswith("__"))
    return {name: getattr(value, name, None) for name in plain}


def _is_record(name: str, part: Any) -> bool:
    is_data = isinstance(part, str | int | float | Mapping | list)
    return is_data and not RECORDS.isdisjoint(words_of(name))


def _is_default(field: Any, part: Any) -> bool:
    return type(part) is type(field.default) and bool(part == field.default)


def _is_empty(part: Any) -> bool:
    return part is None or (isinstance(part, str | list | Mapping) and not part)


def _described(value: Any, depth: int) -> str:
    """A setting as text without its secrets, equal for equal settings."""
    if value is None or isinstance(value, str | bytes | int | float | PathLike):
        return repr(value)
    if depth > _DEEPEST:
        return _UNTOLD
    if isinstance(value, Mapping):
        parts = [
            f"{name!r}: {_described(part, depth + 1)}"
            for name, part in sorted(value.items(), key=lambda item: str(item[0]))
            if _is_told(str(name), part)
        ]
        return f"{{{', '.join(parts)}}}"
    if isinstance(value, list | tuple | set | frozenset):
        parts = [_described(part, depth + 1) for part in value]
        is_ordered = isinstance(value, list | tuple)
        return (
            f"[{', '.join(parts)}]" if is_ordered else f"{{{', '.join(sorted(parts))}}}"
        )
    return _described_object(value, depth)


def _described_object(value: Any, depth: int) -> str:
    if isinstance(value, type):
        return setting_name(value)
    if hasattr(value, "__qualname__") or isinstance(value, partial):
        return setting_name(value) + _UNTOLD
    if hasattr(value, "encode") and hasattr(value, "max_seq_length"):
        return f"{model_label(value)}|{encoder_label(value)}"
    is_told = hasattr(value, "__dict__") or _attributes(value)
    return _object(value, {}, depth) if is_told else _UNTOLD


def _is_told(name: str, part: Any) -> bool:
    """Whether a part of a mapping goes into the name. A secret is text, or holds some."""
    may_be_secret = isinstance(part, str | bytes | Mapping | list | tuple | set)
    return is_setting(name) or (name not in OPERATIONAL and not may_be_secret)


def words_of(name: str) -> set[str]:
    """The words in the name of a field or setting, in lower case."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
    return set(re.split(r"[^a-z0-9]+", parted))


_HELD = (
    "client",
    "_client",
    "model",
    "_model",
)  # attributes in which hosts keep the encoder


@dataclass(frozen=True, slots=True)
class EncoderCounter:
    """Counts tokens as a SentenceTransformer does, its special tokens included."""

    encoder: Any

    def __call__(self, text: str) -> int:
        read = without_surrogates(text)
        return len(
            self.encoder.tokenizer(read, truncation=False, verbose=False)["input_ids"]
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
        InvalidParameter: `max_tokens` is not a number from 1.
    """
    encoder = encoder_of(model)
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


def encoder_of(model: Any) -> Any:
    """The SentenceTransformer that the model holds, or None."""
    for name in _HELD:
        candidate = getattr(model, name, None)
        if hasattr(candidate, "encode") and _is_limit(
            getattr(candidate, "max_seq_length", None)
        ):
            return candidate
    return None


def token_reader(model: Any, name: str) -> SentenceTransformerEmbedder | None:
    """The vectors of tokens of the SentenceTransformer that the model holds, with the model's
    instructions; None where it holds none with a fast tokenizer."""
    encoder = encoder_of(model)
    if not hasattr(encoder, "tokenizer") or not hasattr(encoder, "modules"):
        return None
    settings = getattr(model, "encode_kwargs", None) or {}
    of_query = getattr(model, "query_encode_kwargs", None) or settings
    embedder = SentenceTransformerEmbedder(
        encoder,
        getattr(model, "query_instruction", None) or of_query.get("prompt"),
        getattr(model, "text_instruction", None) or settings.get("prompt"),
        name,
    )
    return embedder if embedder.gives_tokens else None


def _is_limit(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value > 0


def margin_model(model: Any) -> TransformersMargin | None:
    """Weighs options by the transformers model within the host's model.

    Such models are in HuggingFacePipeline, ChatHuggingFace and HuggingFaceLLM. None where there is
    none, or it is no causal one.
    """
    transformer, tokenizer = transformer_of(model)
    if transformer is None:
        return None
    return TransformersMargin(transformer, tokenizer)


def transformer_of(model: Any) -> tuple[Any, Any]:
    """The causal transformers model of a host's model, and its tokenizer. Both None where it holds
    none."""
    pipeline = pipeline_of(model)
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


def pipeline_of(model: Any) -> Any:
    """The transformers pipeline in a host's model, or one level deeper."""
    holder = getattr(model, "llm", None)
    return getattr(model, "pipeline", None) or getattr(holder, "pipeline", None)


def answer_counter(model: Any) -> TokenCounter | None:
    """Counts tokens by the tokenizer of a host's language model.

    The tokenizer is that of a transformers model it holds, or its `tokenizer` with `encode`. None
    without either, or if `tokenizer` is a name, as in LlamaIndex's OpenAILike. Counting functions
    of the host are not used, since some would download a tokenizer.
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
