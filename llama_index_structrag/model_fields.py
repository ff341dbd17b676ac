"""Pydantic field types for models: named in `to_dict`, so that cache keys tell them apart, and
never loaded by name."""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

from llama_index.core.bridge.pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from llama_index_structrag.models import core_embedder, core_model
from llama_index_structrag.settings import refuse_saved
from structrag.asking.cache import Cache
from structrag.chunks.asking_splitter import STATIC, read_boundary_embedder
from structrag.errors import InvalidParameter


def _read_embed_model(value: Any) -> Any:
    refuse_saved("embed_model", value)
    core_embedder(value)
    return value


def _read_llm(value: Any) -> Any:
    refuse_saved("llm", value)
    core_model(value)
    return value


def boundary_model(value: Any) -> Any:
    """What compares sentences in place of the embedding model, as the core takes it; a folder or a
    name is loaded once."""
    if value is None or value == STATIC:
        return value
    return _static_model(value) if isinstance(value, str) else core_embedder(value)


@lru_cache(maxsize=4)
def _static_model(name: str) -> Any:
    return read_boundary_embedder(name)


def _read_boundary_embedder(value: Any) -> Any:
    refuse_saved("boundary_embedder", value)
    boundary_model(value)
    return value


def _boundary_embedder_name(value: Any) -> Any:
    return value if isinstance(value, str) else _embed_model_name(value)


def _embed_model_name(value: Any) -> dict[str, str] | None:
    embedder = core_embedder(value)
    return None if embedder is None else {"name": embedder.name}


def _llm_name(value: Any) -> dict[str, str] | None:
    model = core_model(value)
    return None if model is None else {"name": model.name}


_SCHEMA = WithJsonSchema({"type": "object"})
EmbedModel = Annotated[
    Any, BeforeValidator(_read_embed_model), PlainSerializer(_embed_model_name), _SCHEMA
]
BoundaryEmbedder = Annotated[
    Any, BeforeValidator(_read_boundary_embedder), PlainSerializer(_boundary_embedder_name), _SCHEMA
]
LanguageModelField = Annotated[Any, BeforeValidator(_read_llm), PlainSerializer(_llm_name), _SCHEMA]


def checked_cache(cache: Any) -> Cache | None:
    """The cache; InvalidParameter if it is none of structrag's."""
    if cache is not None and not isinstance(cache, Cache):
        raise InvalidParameter(
            f"cache must be a structrag Cache or None; got {type(cache).__name__}."
        )
    return cache
