"""Errors that stop an ingestion, with the files that it was preparing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from structrag.errors import StructragError
from structrag.model_calls.calling import cause_of
from structrag.reading.opening import shown
from structrag.text.plurals import pluralise

E = TypeVar("E", bound=StructragError)


def while_preparing(error: E, paths: Sequence[str]) -> E:
    """The same error, naming files and what to do.

    Example:
        >>> from structrag.errors import ModelFailed
        >>> print(while_preparing(ModelFailed("The server is down."), ["a.md", "b.md"]))
        The server is down. This stopped the ingestion while it prepared 'a.md' and 1 more file; \
finished documents are saved. Fix the cause and run the same ingestion again: it continues where \
it stopped.

    Without a path it stays as it is.
    """
    if not paths:
        return error
    return _reworded(
        error,
        f"{cause_of(error)} This stopped the ingestion while it prepared {_named(paths)}; finished "
        "documents are saved. Fix the cause and run the same ingestion again: it continues where "
        "it stopped.",
    )


def refusal(path: str, error: StructragError) -> str:
    """Why a file was left out whose text a model refuses.

    Example:
        >>> from structrag.errors import ModelFailed
        >>> print(refusal("a.md", ModelFailed("It raised ValueError: too long.")))
        'a.md' cannot be embedded: It raised ValueError: too long. The model accepts other texts.
    """
    place, cause = shown(Path(path)), cause_of(error)
    return f"{place} cannot be embedded: {cause} The model accepts other texts."


def _named(paths: Sequence[str]) -> str:
    first, more = shown(Path(paths[0])), len(paths) - 1
    return f"{first} and {pluralise(more, 'more file')}" if more else first


def _reworded(error: E, sentence: str) -> E:
    error.args = (sentence,)
    if isinstance(error, ImportError):
        error.msg = sentence  # which it shows, not its arguments
    return error
