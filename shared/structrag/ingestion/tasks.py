"""What an ingestion's driver and its workers say to each other, and the errors that stop it.

One model serves all processes, the driver's: it embeds what workers ask for. On an accelerator one
process with large batches is fastest. Workers read and split meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from structrag.errors import InvalidParameter, StructragError
from structrag.index.entries import Entry
from structrag.index.snapshot import Settings
from structrag.model_calls.calling import cause_of
from structrag.model_calls.requests import TokenVectors
from structrag.models.embedders import as_embedder
from structrag.models.token_vectors import as_token_encoder
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


BATCH_SIZE = 1024  # texts that a worker asks for at once
_COUNTS_KEPT = 1 << 16  # texts whose tokens a worker need not ask for again


@dataclass(frozen=True, slots=True)
class ModelFacts:
    """What workers know of the driver's model."""

    name: str
    max_tokens: int | None
    counts_tokens: bool
    gives_tokens: bool
    # Counts as the model does; None: it is asked.
    counter: Callable[[str], int] | None = None


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """What a worker asks the driver's model."""

    method: str  # "embed", "embed_tokens" or "count_tokens"
    texts: tuple[str, ...]
    query: bool = False


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The model's answer, or how it failed."""

    values: Any = None
    failure: str | None = None


class RemoteEmbedder:
    """The driver's model, as a worker has it."""

    def __init__(
        self, facts: ModelFacts, ask: Callable[[ModelRequest], ModelReply]
    ) -> None:
        self.name: str = facts.name
        self.max_tokens: int | None = facts.max_tokens
        self.gives_tokens: bool = facts.gives_tokens
        self._ask = ask
        if facts.counts_tokens:
            counter = facts.counter or self._count_tokens
            self.count_tokens: Callable[[str], int] = lru_cache(_COUNTS_KEPT)(counter)

    def embed(
        self, texts: Sequence[str], *, query: bool = False
    ) -> NDArray[np.float32]:
        vectors: NDArray[np.float32] = self._asked(
            ModelRequest("embed", tuple(texts), query)
        )
        return vectors

    def embed_tokens(
        self, texts: Sequence[str], *, query: bool = False
    ) -> list[TokenVectors]:
        tokens: list[TokenVectors] = self._asked(
            ModelRequest("embed_tokens", tuple(texts), query)
        )
        return tokens

    def _count_tokens(self, text: str) -> int:
        (count,) = self._asked(ModelRequest("count_tokens", (text,)))
        return int(count)

    def _asked(self, asked: ModelRequest) -> Any:
        answer = self._ask(asked)
        if answer.failure is not None:
            raise RuntimeError(answer.failure)
        return answer.values


class ModelServer:
    """Answers workers by a thread of the driver.

    Those that wait together are answered in one call.

    Raises:
        InvalidParameter: the embedding depends on all documents, as LSA does.
    """

    def __init__(self, embedding: Any) -> None:
        self.embedder: Any = as_embedder(embedding)
        if hasattr(self.embedder, "fit"):
            raise InvalidParameter(
                "shared_model needs an embedding that is a model; LSA is fitted to all documents, "
                "and needs no process of its own. Leave shared_model out."
            )
        self.facts: ModelFacts = ModelFacts(
            name=self.embedder.name,
            max_tokens=getattr(self.embedder, "max_tokens", None),
            counts_tokens=callable(getattr(self.embedder, "count_tokens", None)),
            gives_tokens=as_token_encoder(self.embedder) is not None,
            counter=_counter_of(self.embedder),
        )
        # (what is asked, who is to be told)
        self.asked: SimpleQueue[
            tuple[ModelRequest, Callable[[ModelReply], None]] | None
        ] = SimpleQueue()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> ModelServer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the thread when it has answered what it is at."""
        self.asked.put(None)
        self._thread.join()

    def _serve(self) -> None:
        while True:
            together = [self.asked.get()]
            while True:
                try:
                    together.append(self.asked.get_nowait())
                except Empty:
                    break
            by_kind: dict[tuple[str, bool], list[Any]] = {}
            for item in together:
                if item is None:
                    return
                by_kind.setdefault((item[0].method, item[0].query), []).append(item)
            for (method, query), items in by_kind.items():
                self._answer(method, query, items)

    def _answer(self, method: str, query: bool, items: Sequence[Any]) -> None:
        texts = [text for asked, _ in items for text in asked.texts]
        try:
            if method == "count_tokens":
                values: Any = [self.embedder.count_tokens(text) for text in texts]
            else:
                values = getattr(self.embedder, method)(texts, query=query)
            if len(values) != len(texts):
                raise ValueError(f"{len(values)} answers for {len(texts)} texts")
        except Exception as error:  # noqa: BLE001 - the worker raises it as its model's
            if len(items) > 1:  # one worker's text must not be another's failure
                for item in items:
                    self._answer(method, query, [item])
                return
            _, tell = items[0]
            tell(ModelReply(failure=f"{type(error).__name__}: {error}"))
            return
        first = 0
        for asked, tell in items:
            tell(ModelReply(values[first : first + len(asked.texts)]))
            first += len(asked.texts)


def _counter_of(embedder: Any) -> Callable[[str], int] | None:
    """What workers count tokens with, without asking the model."""
    make = getattr(embedder, "token_counter", None)
    counter: Callable[[str], int] | None = make() if callable(make) else None
    return counter
