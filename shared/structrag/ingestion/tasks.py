"""What an ingestion's driver and its workers say to each other, and the errors that stop it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from numpy.typing import NDArray

from structrag.errors import StructragError
from structrag.index.entries import Entry
from structrag.index.snapshot import Settings
from structrag.ingestion.shared_model import ModelFacts
from structrag.model_calls.calling import cause_of
from structrag.reading.opening import shown
from structrag.text.numbers import pluralise

Arrays = Mapping[str, NDArray[Any]]


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker is started with."""

    make: Callable[..., Any]  # gives an empty retriever or index, with its models
    reading: Mapping[str, Any]  # options of `read_file`
    model: ModelFacts | None = None  # of the driver's model, which `make` is given then


@dataclass(frozen=True, slots=True)
class Ready:
    """A worker's first words: its retriever's configuration. An index is saved with it."""

    settings: Settings
    config: Mapping[str, Any]
    # Whether its vectors are made of all documents together, as LSA's.
    is_fitted: bool = False
    is_settled: bool = True  # whether no vectors wait for what the first documents say


@dataclass(frozen=True, slots=True)
class Task:
    """Files that a worker reads and prepares together."""

    number: int
    paths: tuple[str, ...]
    fingerprints: Mapping[str, str]  # of documents that are there already
    shared: Arrays  # what all documents' vectors have in common, once it is there


@dataclass(frozen=True, slots=True)
class TaskResult:
    """What came of a task."""

    number: int
    entries: list[Entry] = field(default_factory=list)  # in the order of the paths
    chunks: int = 0  # of the entries
    unchanged: list[str] = field(default_factory=list)  # documents
    errors: dict[str, str] = field(default_factory=dict)  # path -> sentence
    shared: Arrays = field(default_factory=dict)
    is_settled: bool = True  # whether `shared` is complete
    usage: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stopped:
    """A model or setting failed, and will for other files too."""

    error: StructragError
    paths: tuple[str, ...] = ()  # files that were being prepared


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
