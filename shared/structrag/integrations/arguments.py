"""Arguments of both frameworks: the embedding model by any of its names, and errors that call
parameters as the host does."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from structrag.errors import InvalidParameter, ModelFailed, warn_user

LSA = "lsa"  # the name that selects LSA
NO_MODEL = "No embedding model was given"
# Names of the model that embeds, in the hosts and the core.
EMBEDDER_NAMES = ("embedding", "embeddings", "embed_model", "embedder")


def chosen_embedding(argument: str, embedding: Any) -> Any:
    """The embedding for the core, None for LSA.

    A warning says so once, unless LSA was asked for by its name.

    Args:
        argument: What the host calls it.

    Raises:
        InvalidParameter: it is a list or a dict, such as the documents.
    """
    if isinstance(embedding, list | tuple | dict):
        raise InvalidParameter(
            f"{argument} must be an embedding model, the name of one, a function or {LSA!r}; got "
            f"{type(embedding).__name__}. Are the documents and {argument} swapped?"
        )
    if embedding is None:
        warn_user(
            f"{NO_MODEL}, so LSA makes vectors from the words of your documents. Pass a model as "
            f"{argument}=..., or {argument}={LSA!r} to choose LSA.",
        )
    return None if isinstance(embedding, str) and embedding == LSA else embedding


@contextmanager
def in_host_words(**names: str) -> Iterator[None]:
    """Have errors call parameters as the host does, by the core's names."""
    try:
        yield
    except InvalidParameter as error:
        core = "|".join(names)
        said = re.sub(
            rf"^(?:{core})\b|\b(?:{core})(?==)",
            lambda name: names[name[0]],
            str(error),
        )
        raise type(error)(said) from error.__cause__


@contextmanager
def errors_of_models() -> Iterator[None]:
    """Let what a caller's model or store raises at a question pass as it is. So the retries and
    fallbacks of the host, which name the errors they are for, know it."""
    try:
        yield
    except ModelFailed as error:
        cause = error.__cause__
        if cause is None:
            raise
        if hasattr(cause, "add_note"):  # which says who raised it, from Python 3.11 on
            cause.add_note(str(error))
        raise cause from None


def with_one_embedder(options: Mapping[str, Any], own: str) -> dict[str, Any]:
    """The options with the embedding model under the host's `own` name for it."""
    others = {name: own for name in EMBEDDER_NAMES if name != own}
    said = {
        name: value
        for name, value in options.items()
        if name not in EMBEDDER_NAMES or value is not None
    }
    return resolve_aliases(said, others)


def resolve_aliases(options: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """The options with another name that means the same as its own.

    Example:
        >>> resolve_aliases({"k": 3}, {"k": "similarity_top_k"})
        {'similarity_top_k': 3}

    Raises:
        InvalidParameter: both names are given.
    """
    renamed = dict(options)
    for other, name in names.items():
        if other not in renamed:
            continue
        value = renamed.pop(other)
        if name in renamed:
            raise InvalidParameter(
                f"{name} and {other} mean the same; got both. Leave one out."
            )
        renamed[name] = value
    return renamed
