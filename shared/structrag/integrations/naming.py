"""Names of a host framework's models, for cache keys and saved indexes. A name tells two models
apart, is equal in every process, and holds no secret. A model or chain that holds what nothing
tells from others, such as a function, gets one that no other has."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from os import PathLike
from typing import Any

from structrag.integrations.encoders import encoder_of, pipeline_of, transformer_of
from structrag.model_calls.naming import digest, setting_name, unnamed
from structrag.models.embedders import model_label
from structrag.models.loading import encoder_label, weights_label

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
