"""How models are asked: settings that many classes share, as one record."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from typing import Any, TypedDict

from structrag.errors import InvalidParameter, check_arguments, check_at_least
from structrag.model_calls.cache import Cache
from structrag.model_calls.progress import ProgressLine
from structrag.model_calls.requests import Progress


@dataclass(frozen=True, slots=True)
class CallSettings:
    """How models are asked: cache, batches, calls at once and in all.

    Example:
        >>> CallSettings(batch_size=16).max_concurrency
        8

    Whatever calls models takes these settings by name, such as `Index(batch_size=16)`; its runner
    has them as `runner.call_settings`.

    Attributes:
        cache: A `Cache` or the path of one. It keeps the answers of language models, usable or not,
            vectors and scores, by model name and request; a model without a name (a lambda, a
            function inside another, a chain that holds one) has no place in it. None: nothing is
            kept.
        batch_size: Most texts in one call of an embedder or scorer, and most prompts or choices in
            one call of a language model with `complete_many` or `choose_many`.
        max_concurrency: Most language-model calls in flight.
        max_calls: Most language-model calls in all. Those are made, and the next one raises
            BudgetExceeded. None: no limit.
        progress: Called with (what, done, total) as work is done, such as ("embedding chunks", 64,
            900), and of several documents with ("documents", done, total). A stage that is reported
            with 0 done contains the following stages as its steps. True: a line on standard error.
        timeout: Most seconds of one call of a language model, an embedder or a scorer. A language
            model's call that takes longer has failed, as one that raised; of the others it raises
            TimedOut. A call that is awaited is cancelled. The thread of one that is not cannot be
            stopped: it stays until the process ends. None: no limit.

    Raises:
        InvalidParameter: a number is too small, or the cache cannot be opened.
    """

    cache: Cache | str | os.PathLike[str] | None = None
    batch_size: int = 64
    max_concurrency: int = 8
    max_calls: int | None = None
    progress: Progress | bool | None = None
    timeout: float | None = None

    def __post_init__(self) -> None:
        check_at_least("batch_size", self.batch_size, 1)
        check_at_least("max_concurrency", self.max_concurrency, 1)
        if self.max_calls is not None:
            check_at_least("max_calls", self.max_calls, 0)
        if self.timeout is not None:
            check_at_least("timeout", self.timeout, 0.001)
        object.__setattr__(self, "progress", as_progress(self.progress))
        # Opened once, so that all who share the record share the file.
        object.__setattr__(self, "cache", as_cache(self.cache))


class CallOptions(TypedDict, total=False):
    """The settings of `CallSettings` as keywords of whatever calls models."""

    cache: Cache | str | os.PathLike[str] | None
    batch_size: int
    max_concurrency: int
    max_calls: int | None
    progress: Progress | bool | None
    timeout: float | None


ASKING = tuple(CallOptions.__annotations__)  # their names


_HINTS = {"store": "Index, D3Index and EvidenceRetriever take it."}


def check_call_options(options: Mapping[str, Any], owner: type) -> None:
    """Raise UnknownArgument if an option of `owner` is not a setting of `CallSettings`."""
    check_arguments(owner.__name__, options, arguments_of(owner), _HINTS)


@cache
def arguments_of(owner: Callable[..., Any]) -> tuple[str, ...]:
    """The names of the arguments of a method or class. If a class takes the settings of
    `CallSettings` by name, these are included."""
    parameters = signature(owner).parameters.values()
    names = [p.name for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
    takes_more = isinstance(owner, type) and len(names) < len(parameters)
    more = ASKING if takes_more else ()
    return tuple(name for name in (*names, *more) if name != "self")


def as_progress(progress: Any) -> Progress | None:
    """Return the function that reports progress. True makes a line on standard error."""
    if progress is None or progress is False:
        return None
    if progress is True:
        return ProgressLine()
    if not callable(progress):
        raise InvalidParameter(
            "progress must be a function (what, done, total), or True for a line on standard "
            f"error; got {type(progress).__name__}."
        )
    return progress  # type: ignore[no-any-return]


def as_cache(cache: Cache | str | os.PathLike[str] | None) -> Cache | None:
    """The cache, opened where its path is given."""
    return Cache(cache) if isinstance(cache, str | os.PathLike) else cache
