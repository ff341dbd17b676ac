"""Callbacks of a chain or retriever, which reach the models and retrievers called inside it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.runnables import RunnableConfig

_callbacks: ContextVar[BaseCallbackManager | None] = ContextVar("structrag_callbacks", default=None)


@contextmanager
def inner_callbacks(callbacks: BaseCallbackManager | None) -> Iterator[None]:
    """Within it, language models called through `LangChainModel` report to `callbacks`, also from
    threads and tasks."""
    token = _callbacks.set(callbacks)
    try:
        yield
    finally:
        _callbacks.reset(token)


def inner_config(config: RunnableConfig | None = None) -> RunnableConfig | None:
    """The config for a call made within `inner_callbacks`: its callbacks unless `config` has its
    own."""
    callbacks = _callbacks.get()
    if callbacks is None or (config and config.get("callbacks")):
        return config
    return RunnableConfig(**{**(config or {}), "callbacks": callbacks})
