"""What tells two LangChain models apart: for cache keys and saved indexes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from langchain_core.embeddings import Embeddings
from langchain_core.language_models import BaseLanguageModel
from langchain_core.output_parsers import BaseOutputParser
from langchain_core.prompts import BasePromptTemplate
from langchain_core.runnables import Runnable, RunnableBinding, RunnableConfig, RunnableSequence
from langchain_core.runnables.retry import RunnableRetry
from pydantic import BaseModel

from structrag.asking.naming import digest, unnamed
from structrag.hosts.names import (
    class_path,
    is_plain,
    is_setting,
    listed,
    settings_of,
    shown,
    telling,
)

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
    "dimensions", "output_dimensionality", "task_type", "size", "query_instruction", "embed_instruction",
)  # fmt: skip
OTHER_FIELDS = (
    "model_kwargs",
    "encode_kwargs",
    "query_encode_kwargs",
    "stop",
    "stop_sequences",
)  # told by a digest
FUNCTION = "<function>"  # stands in a name for what cannot be told


def model_name(model: Any, config: RunnableConfig | None = None) -> str:
    """Class, model name and settings, such as `ChatOpenAI(model='gpt-4o', temperature=0)`; equal in
    every process.

    Chains are told by all their parts: bound arguments, fallbacks, steps, prompts. A model without
    a name is told by the module and name of its class and its public settings. A chain that holds a
    function, such as a RunnableLambda, gets a name that no other has, since nothing tells what the
    function calls. `config` is what it will be called with.
    """
    name = _told(model, _configured(config))
    return unnamed(model, name) if FUNCTION in name else name


def _told(value: Any, settings: Mapping[str, Any]) -> str:
    """A model, embeddings or chain, called with these settings."""
    if isinstance(value, RunnableBinding | RunnableRetry):  # bind, with_config, with_retry
        return _told(value.bound, {**value.kwargs, **_configured(value.config), **settings})
    if isinstance(value, BaseLanguageModel | Embeddings):
        return _model(value, settings)
    steps = value.steps if isinstance(value, RunnableSequence) else []
    name = " | ".join(_told(step, {}) for step in steps) or _composed(value)
    return f"({name}).bind({listed(_digests(settings))})" if settings else name


def _configured(config: RunnableConfig | None) -> dict[str, Any]:
    chosen = (config or {}).get("configurable")
    return {"configurable": chosen} if chosen else {}


def _model(model: Any, bound: Mapping[str, Any]) -> str:
    named = _fields(model, bound, MODEL_FIELDS)
    told = {
        name: repr(value)
        for name, value in {**named, **_fields(model, bound, SETTING_FIELDS)}.items()
    }
    identifying = getattr(
        model, "_identifying_params", None
    )  # what LangChain's classes say tells their instances apart
    own = dict(identifying) if isinstance(identifying, Mapping) else {}
    rest = {**{name: getattr(model, name, None) for name in OTHER_FIELDS}, **own, **bound}
    told |= _digests({name: value for name, value in rest.items() if name not in told})
    if named:
        return f"{type(model).__name__}({listed(told)})"
    return f"{class_path(model)}({listed({**({} if own else _attributes(model)), **told})})"


def _fields(model: Any, bound: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    found = {name: bound[name] if name in bound else getattr(model, name, None) for name in names}
    return {name: value for name, value in found.items() if is_plain(value) and value != ""}


def _digests(settings: Mapping[str, Any]) -> dict[str, str]:
    given = {
        name: value for name, value in settings.items() if is_setting(name) and value is not None
    }
    return {
        name: shown(value)
        for name, value in given.items()
        if not isinstance(value, Mapping | list) or value
    }


def _attributes(model: Any) -> dict[str, str]:
    """The settings of a model that has no name."""
    found = {}
    for name, value in settings_of(model).items():
        told = _told(value, {}) if isinstance(value, Embeddings | Runnable) else telling(value)
        if told is not None:
            found[name] = told
    return found


def _composed(value: Any) -> str:
    """A chain, a prompt or a parser by all its parts."""
    kind = (
        type(value).__name__
        if type(value).__module__.startswith("langchain_core.")
        else class_path(value)
    )
    held = [] if isinstance(value, BaseModel) else getattr(value, "__dict__", {}).values()
    if any(map(_is_function, held)):
        return f"{kind}({FUNCTION})"
    settings = settings_of(value)
    if "config" in settings:  # of what can be configured
        settings |= {"config": _configured(value.config)}
    parts = listed({name: _part(part) for name, part in settings.items()})
    if parts and isinstance(value, BasePromptTemplate | BaseOutputParser) and FUNCTION not in parts:
        parts = digest(parts)
    return f"{kind}({parts})"


def _part(value: Any) -> str:
    if isinstance(value, Embeddings | Runnable):
        return _told(value, {})
    if _is_function(value):
        return FUNCTION
    if isinstance(value, Mapping):
        return f"{{{listed({str(name): _part(part) for name, part in value.items()})}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_part, value))}]"
    return _composed(value) if isinstance(value, BaseModel) else shown(value)


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, type | Embeddings | Runnable | BaseModel)
