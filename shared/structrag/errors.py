"""The errors a user can cause, and checks that raise most.

    StructragError
    ├── InvalidParameter (ValueError)   a setting or an argument is not allowed
    │   └── UnknownDocument             an index holds no document of this id
    ├── UnknownArgument  (TypeError)    an argument has an unknown name
    ├── InvalidDocument  (ValueError)   a file or a text cannot be read as a document
    ├── InvalidAnswer    (ValueError)   a model returned something unusable, such as NaN vectors
    ├── ModelFailed      (RuntimeError) a model raised, and there is no fallback for what was asked
    │   ├── NoModel      (RuntimeError) something was asked of a model that was not given
    │   └── TimedOut     (RuntimeError) a call of a model took longer than `timeout`
    ├── BudgetExceeded   (RuntimeError) the run reached the call budget it was given
    ├── IndexDamaged     (RuntimeError) a saved index is incomplete, altered or not ours
    │   └── NoIndex      (FileNotFoundError) there is none
    ├── SaveFailed       (OSError)      a full volume, or another has changed the folder
    └── MissingExtra     (ImportError)  an optional package is not installed

A message names the parameter, what is allowed, what came, and what to do next.
"""

from __future__ import annotations

import re
import reprlib
import sys
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from difflib import get_close_matches
from importlib import import_module
from string import Formatter
from types import FrameType, ModuleType
from typing import cast

# Packages that a warning never points into.
_INNER = frozenset({
    "structrag", "langchain_structrag", "llama_index_structrag", "langchain_core",
    "langchain_classic", "langchain_text_splitters", "llama_index", "llama_index_instrumentation",
    "pydantic", "asyncio", "concurrent", "contextlib", "functools", "threading",
})  # fmt: skip


class StructragError(Exception):
    """Base of every error raised on purpose.

    Example:
        >>> from structrag import Index
        >>> from structrag.errors import StructragError
        >>> try:
        ...     Index(preset="fast")
        ... except StructragError as error:
        ...     print(error)
        preset must be one of 'default', 'paper'; got 'fast'.
    """


class InvalidParameter(StructragError, ValueError):
    """A setting or an argument is not allowed."""


class UnknownDocument(InvalidParameter):
    """An index does not hold a document, or no longer."""

    @classmethod
    def named(cls, doc_id: object) -> UnknownDocument:
        """The error for an id that no document has."""
        return cls(
            f"doc_id must be the id of a document in the index; got {doc_id!r}. `document_ids` "
            "lists them."
        )


class UnknownArgument(StructragError, TypeError):
    """An argument has an unknown name."""


class InvalidDocument(StructragError, ValueError):
    """A file or a text cannot be read as a document."""


class InvalidAnswer(StructragError, ValueError):
    """A model returned something that cannot be used."""


class ModelFailed(StructragError, RuntimeError):
    """A model raised, and nothing can take the answer's place."""


class NoModel(ModelFailed):
    """Something was asked of a model that was not given."""


class TimedOut(ModelFailed):
    """A call of a model took longer than `timeout` seconds."""


class BudgetExceeded(StructragError, RuntimeError):
    """The run reached its call budget; finished calls are cached."""


class IndexDamaged(StructragError, RuntimeError):
    """A saved index is incomplete, altered or not one of ours."""


class NoIndex(IndexDamaged, FileNotFoundError):
    """There is no saved index at a path."""


class SaveFailed(StructragError, OSError):
    """The system refused to write, or another has changed the folder since it was opened; what was
    there before is unchanged."""


class MissingExtra(StructragError, ImportError):
    """An optional package is not installed."""


def check_choice(name: str, value: str, allowed: Iterable[str]) -> str:
    """Return `value` if it is one of `allowed`, else raise InvalidParameter."""
    options = sorted(allowed)
    if value not in options:
        raise InvalidParameter(
            f"{name} must be one of {', '.join(map(repr, options))}; got {value!r}."
        )
    return value


# Arguments that are no more -> what to do instead.
REMOVED_ARGUMENTS = {
    "cross_encoder": "Pass it as selection=Selection(strategy='cross_encoder', ...).",
    "join_adjacent": "Omit it: the offsets of adjacent hits touch.",
    "choose_views": "Omit it: views are extracted, or written by llm=.",
    "dimensions": "Omit it: vectors keep all their dimensions.",
    "function_words": "Omit it: the vectors of all words are kept.",
}


def check_arguments(
    what: str,
    names: Iterable[str],
    known: Iterable[str],
    hints: Mapping[str, str] | None = None,
) -> None:
    """Raise UnknownArgument for the first of `names` that is not known.

    Args:
        what: What they are arguments of, such as "Index".
        hints: Of names that come from elsewhere, a sentence that says what to pass.
    """
    allowed = list(dict.fromkeys(known))
    for name in names:
        if name in allowed:
            continue
        nearest = get_close_matches(name, allowed, 1)
        hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
        instructions = {**REMOVED_ARGUMENTS, **(hints or {})}
        if name in instructions:
            advice = instructions[name]
            advised = re.match(r"Pass (\w+)=", advice)
            if advised and advised[1] not in allowed:  # it says what to do instead
                advice = instructions.get(advised[1], advice)
            hint = f" {advice}"
        raise UnknownArgument(
            f"{what} has no argument {name!r}.{hint} Known: {', '.join(allowed)}."
        )


def check_ids(name: str, ids: object) -> list[str]:
    """One id or several as a list. Raise InvalidParameter for anything but strings."""
    # A pydantic model, such as a document, is iterable too.
    is_several = isinstance(ids, Collection | Iterator) and not isinstance(ids, str)
    values: Iterable[object] = cast(Iterable[object], ids) if is_several else [ids]
    names: list[str] = []
    for value in values:
        if not isinstance(value, str):
            raise InvalidParameter(
                f"{name} must be a document id or a list of them; got {reprlib.repr(value)}. "
                "`document_ids` lists them."
            )
        names.append(value)
    return names


def check_at_least(name: str, value: float, minimum: float) -> None:
    """Raise InvalidParameter unless `value` is a number >= `minimum`."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | float)
        or not value >= minimum
    ):
        raise InvalidParameter(
            f"{name} must be a number of at least {minimum}; got {value!r}."
        )


def check_optional(name: str, value: float | None, minimum: float) -> None:
    """Raise InvalidParameter unless `value` is None or a number >= `minimum`."""
    if value is not None:
        check_at_least(name, value, minimum)


def check_template(
    name: str,
    template: object,
    required: Collection[str],
    optional: Collection[str] = (),
) -> None:
    """Raise InvalidParameter unless a prompt is a template with these places.

    Example:
        >>> check_template("prompt", "Summarise {text}", ["text"], optional=["title"])

    Every required place must be there and no other than the optional ones. A place is plain, such
    as `{text}`: no attributes, indices, conversions or formats. Other braces are doubled. `name` is
    the parameter that the message speaks of.
    """
    if not isinstance(template, str):
        raise InvalidParameter(
            f"{name} must be a string; got {type(template).__name__}."
        )
    allowed = [*required, *optional]
    places = _listed(allowed)
    rule = f"{name} must be a template with the plain placeholders {places}, other braces doubled"
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InvalidParameter(f"{rule}; {error}.") from error
    present = set()
    for _, place, form, conversion in parts:
        if place is None:  # the text behind the last place
            continue
        if place not in allowed or form or conversion:
            raise InvalidParameter(f"{rule}; got the placeholder {{{place}}}.")
        present.add(place)
    if not present.issuperset(required):
        raise InvalidParameter(
            f"{name} must contain {_listed(required)}; got {template!r}."
        )


def _listed(places: Collection[str]) -> str:
    *others, last = [f"{{{place}}}" for place in places]
    return f"{', '.join(others)} and {last}" if others else last


def require(module: str, *, extra: str) -> ModuleType:
    """Import an optional module, or say which extra of structrag brings it."""
    try:
        return import_module(module)
    except ModuleNotFoundError as error:
        if error.name not in {module, module.partition(".")[0]}:
            raise  # it is installed but broken: show the real cause
        raise MissingExtra(
            f"The package {module!r} is missing. Install it with: pip install 'structrag[{extra}]'"
        ) from error


def check_whole(name: str, value: float, minimum: int) -> None:
    """Raise InvalidParameter unless `value` is a whole number >= `minimum`."""
    check_at_least(name, value, minimum)
    if value == float("inf") or value != int(value):
        raise InvalidParameter(f"{name} must be a whole number; got {value!r}.")


def checked_k(k: float) -> int:
    """`k` as an integer. Raises InvalidParameter unless it is a whole number from 1."""
    check_whole("k", k, 1)
    return int(k)


def check_query(query: object) -> None:
    """Raise InvalidParameter unless the query is a string."""
    if not isinstance(query, str):
        raise InvalidParameter(f"query must be a string; got {type(query).__name__}.")


_said: ContextVar[set[str]] = ContextVar("said")


@contextmanager
def said_once(said: set[str]) -> Iterator[None]:
    """Have `warn_user` say no sentence twice that it is to say `once`. `said` keeps them."""
    token = _said.set(said)
    try:
        yield
    finally:
        _said.reset(token)


def warn_user(message: str, once: bool = False) -> None:
    """Warn of the line outside of structrag and its hosts that led here; with `once`, a runner's
    first time only."""
    said = _said.get(set())
    if once and message in said:
        return
    said.add(message)
    frame: FrameType | None = sys._getframe(1)
    level = 2
    while frame is not None and _package(frame) in _INNER:
        frame = frame.f_back
        level += 1
    warnings.warn(message, stacklevel=level if frame is not None else 2)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
