"""How models are asked: settings that many classes share, as one record; and how far a run is, said
on standard error."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import Parameter, signature
from time import monotonic
from typing import Any, TypedDict, TypeVar

from structrag.errors import (
    InvalidParameter,
    check_arguments,
    check_at_least,
    check_optional,
)
from structrag.model_calls.cache import Cache
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
        check_optional("max_calls", self.max_calls, 0)
        check_optional("timeout", self.timeout, 0.001)
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


T = TypeVar("T")

DOCUMENTS = "documents"  # the stage of which the others are steps
SECONDS_BETWEEN_LINES = 10  # where no line is written over


class TellDocuments:
    """Tells a `progress` how many of several documents are done.

    Example:
        >>> tell = TellDocuments(print, 400)
        documents 0 400
        >>> tell(32)
        documents 32 400
    """

    def __init__(self, progress: Any, total: int) -> None:
        self.progress: Callable[..., object] | None = (
            progress if callable(progress) and total > 1 else None
        )
        self.total = total
        self.told: int = -1
        self(0)

    def __call__(self, done: int) -> None:
        """Tell it, once for each number."""
        if self.progress is not None and done != self.told:
            self.told = done
            self.progress(DOCUMENTS, done, self.total)


class ProgressLine:
    """Says how far a run is on standard error.

    On a terminal and in a notebook it is one line that is written over, no wider than the terminal.
    Elsewhere, such as in a log, a line says so now and then, and at the end of a stage.

    Example:
        >>> line = ProgressLine()
        >>> line("documents", 0, 400)
        >>> line("embedding chunks", 64, 180)
        >>> line("documents", 32, 400)  # before, a terminal showed both stages
    """

    says_ends = True  # where no line is written over

    def __init__(self) -> None:
        # The stages that others are steps of, each with how far it is.
        self.outer: dict[str, str] = {}
        self.stage: str = ""
        self.since: float = 0.0  # when the stage began, or its last line was written
        self.width: int = 0  # of the line that will be written over

    def __call__(self, what: str, done: int, total: int) -> None:
        """A stage that is reported with 0 done contains the following stages as its steps."""
        line, is_last = f"{what}: {done:,} of {total:,}", done >= total
        is_outer = done == 0 or what in self.outer
        while what in self.outer:  # its steps have ended with it
            self.outer.popitem()
        shown = ", ".join([*self.outer.values(), line])
        stage = next(iter(self.outer), what)
        is_last = is_last and not self.outer
        if is_outer and done < total:
            self.outer[what] = line
        self.show(shown, stage, is_last=is_last)

    def show(self, line: str, stage: str, *, is_last: bool) -> None:
        """Show a line of a stage; the last one stays."""
        if _is_live():
            line = line[: _columns() - 1]
            _write(line.ljust(self.width) + ("\n" if is_last else "\r"))
            self.width = 0 if is_last else len(line)
            return
        now = monotonic()
        if stage != self.stage:
            self.stage, self.since = stage, now
        if now - self.since >= SECONDS_BETWEEN_LINES or (is_last and self.says_ends):
            self.since = now
            _write(f"{line}\n")

    def say(self, text: str) -> None:
        """Write a line on standard error, in place of the progress."""
        _write(f"{' ' * self.width}\r{text}\n" if self.width else f"{text}\n")
        self.width = 0


def _is_live() -> bool:
    """Whether a line on standard error can be written over."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def _columns() -> int:
    """The width of the terminal, 80 where nobody knows."""
    try:
        return os.get_terminal_size(sys.stderr.fileno()).columns or 80
    except (OSError, ValueError):
        return 80


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def counted(
    progress: Callable[[str, int, int], object] | None, what: str, items: Sequence[T]
) -> Iterator[T]:
    """The items. `progress` is called before the first item and after each, with the number of
    finished items.

    Example:
        >>> list(counted(lambda *told: print(told), "files", ["a.md"]))
        ('files', 0, 1)
        ('files', 1, 1)
        ['a.md']
    """
    if progress is not None and items:
        progress(what, 0, len(items))
    for number, item in enumerate(items, start=1):
        yield item
        if progress is not None:
            progress(what, number, len(items))
