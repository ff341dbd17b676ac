"""What an ingestion's driver and its workers say to each other."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from structrag.errors import StructragError
from structrag.index.entries import Entry
from structrag.index.snapshot import Settings
from structrag.ingestion.shared_model import ModelFacts

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
