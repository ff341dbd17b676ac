"""What a saved index says about how it was built, against what it is opened with."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from structrag.errors import IndexDamaged, InvalidParameter

if TYPE_CHECKING:
    from structrag.index.index import Index

_SAVED = ("preset", "language", "dtype", "lexical")


def config_of(index: Index) -> dict[str, Any]:
    """What is saved with an index: the options that `load` restores, and the names of its models and settings."""
    return {
        "views": list(index.views),
        "preset": index.preset,
        "language": index.view_settings.language,
        "dtype": index.store.settings.dtype,
        "lexical": index.store.settings.bm25.method,
        "embedder": index.embedder.name,
        "llm": index.runner.llm.name if index.runner.llm else None,
        "settings": index.settings_name(),
    }


def saved_options(
    path: str | os.PathLike[str], config: Mapping[str, Any], options: Mapping[str, Any]
) -> dict[str, Any]:
    """The options of `Index` for an index saved with `config`: the saved ones, and `options` for the rest.

    Raises InvalidParameter where `options` contradict the saved ones, IndexDamaged where `config` is not that of an `Index`.
    """
    if not {"views", "embedder", *_SAVED} <= config.keys():
        raise IndexDamaged(
            f"{os.fspath(path)!r} was not saved by Index.save: its manifest lacks the configuration. Open it with Store.load."
        )
    saved = {"views": tuple(config["views"]), **{name: config[name] for name in _SAVED}}
    for name in saved.keys() & options.keys():
        given = tuple(options[name]) if name == "views" else options[name]
        if given is not None and given != saved[name]:
            raise InvalidParameter(
                f"{name} of the index at {os.fspath(path)!r} is {saved[name]!r}; got {options[name]!r}. Leave it out, or build a new index."
            )
    return {**options, **saved}


def check_embedder(path: str | os.PathLike[str], config: Mapping[str, Any], name: str) -> None:
    """Raise InvalidParameter unless `name` is the embedder the index was built with."""
    if name != config["embedder"]:
        raise InvalidParameter(
            f"embedder must be the one the index at {os.fspath(path)!r} was built with, {config['embedder']!r}; got {name!r}. "
            "Pass that one, or build a new index."
        )
