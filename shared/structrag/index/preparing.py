"""Documents -> entries for the store: chunks, views, vectors. Written as steps, so models are asked for many sections at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

import numpy as np

from structrag.errors import ModelFailed, StructragError
from structrag.index.entries import Entry, Vectors
from structrag.index.windows import split_windows
from structrag.records import Chunk, Document
from structrag.steps import Embed, Embedder, Request, Steps
from structrag.views import ViewSettings, ViewTexts, view_steps

T = TypeVar("T")


class Splitter(Protocol):
    """Anything that splits a document into chunks."""

    def split(self, document: Document) -> list[Chunk]:
        """Chunks in reading order."""


@dataclass(frozen=True, slots=True)
class Preparation:
    """How documents are prepared. Without an embedder no vectors are made."""

    splitter: Splitter
    views: ViewSettings
    embedder: Embedder | None
    overflow: str  # "windows" or "truncate": texts longer than the encoder reads
    window_tokens: int | None


@dataclass(frozen=True, slots=True)
class Prepared:
    """Entries for the store, and how often views fell back."""

    entries: list[Entry]
    fallbacks: Counter[str]


def prepare_steps(group: Sequence[tuple[Document, str]], how: Preparation) -> Steps[Prepared]:
    """Prepare documents given with their fingerprints: all language-model calls together, then all texts together."""
    chunked = [(document, fingerprint, tuple(how.splitter.split(document))) for document, fingerprint in group]
    made: list[ViewTexts] = yield from together(
        [view_steps(document, chunks, how.views) for document, _, chunks in chunked]
    )
    entries = [
        Entry(document, fingerprint, chunks, views.texts, {}, degraded=sum(views.fallbacks.values()))
        for (document, fingerprint, chunks), views in zip(chunked, made, strict=True)
    ]
    if how.embedder is not None:
        entries = yield from _with_vectors(entries, how)
    return Prepared(entries, sum((views.fallbacks for views in made), Counter()))


def _with_vectors(entries: Sequence[Entry], how: Preparation) -> Steps[list[Entry]]:
    texts: list[str] = []
    owners: list[dict[str, list[int]]] = []
    for entry in entries:
        owners.append({view: [] for view in entry.views})
        for view, view_texts in entry.views.items():
            for i, text in enumerate(view_texts):
                windows = (
                    split_windows(text, how.embedder, overflow=how.overflow, max_tokens=how.window_tokens)
                    if text
                    else []
                )
                texts += windows
                owners[-1][view] += [i] * len(windows)
    (matrix,) = yield [Embed(tuple(texts))]
    embedded = []
    first = 0
    for entry, places in zip(entries, owners, strict=True):
        vectors = {}
        for view, chunks in places.items():
            vectors[view] = Vectors(matrix[first : first + len(chunks)], np.array(chunks, dtype=np.int32))
            first += len(chunks)
        embedded.append(replace(entry, vectors=vectors))
    return embedded


def together(steps: Sequence[Steps[T]]) -> Steps[list[T]]:
    """Run several steps side by side: the requests of one round go out together. Results in the order given."""
    results: list[Any] = [None] * len(steps)
    waiting: dict[int, Sequence[Request]] = {}

    def advance(i: int, answers: list[Any] | None) -> None:
        try:
            waiting[i] = next(steps[i]) if answers is None else steps[i].send(answers)
        except StopIteration as stop:
            results[i] = stop.value
            waiting.pop(i, None)

    for i in range(len(steps)):
        advance(i, None)
    while waiting:
        current = dict(waiting)
        answers = yield [request for requests in current.values() for request in requests]
        first = 0
        for i, requests in current.items():
            advance(i, answers[first : first + len(requests)])
            first += len(requests)
    return results


@contextmanager
def embedder_errors(name: str) -> Iterator[None]:
    """Say plainly what it means that a model raised; its own exception stays attached as the cause."""
    try:
        yield
    except StructragError:
        raise
    except Exception as error:
        raise ModelFailed(
            f"A model or store raised {type(error).__name__}: {error} (embedder: {name!r}). Documents finished before are kept, "
            "none is half in; calls that a cache holds are not repeated. Mend the cause and call again."
        ) from error
