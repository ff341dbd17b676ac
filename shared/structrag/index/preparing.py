"""Documents -> entries for the store: chunks, views, vectors. Written as steps, so models are asked for many sections at once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from structrag.chunks.reading import with_own_vectors
from structrag.driving import keeping, together
from structrag.errors import ModelFailed, StructragError
from structrag.index.entries import Entry, Vectors
from structrag.index.windows import split_windows
from structrag.records import Chunk, Document
from structrag.requests import T
from structrag.steps import Array, Embed, Embedder, Request, Steps
from structrag.views import ViewSettings, ViewTexts, view_steps


class Splitter(Protocol):
    """Anything that splits a document into chunks.

    One that has `split_steps` reads the text with the index's own models. If its `reuse_vectors` is true, it gives the chunks' vectors too.
    """

    def split(self, document: Document) -> list[Chunk]:
        """Chunks in reading order."""


_Split = tuple[tuple[Chunk, ...], Array | None]  # chunks, and their vectors where the splitter gives them
Read = tuple[tuple[Chunk, ...], Array | None, ViewTexts]


@dataclass(frozen=True, slots=True)
class Preparation:
    """How documents are prepared. Without an embedder no vectors are made."""

    splitter: Splitter
    views: ViewSettings
    embedder: Embedder | None
    overflow: str  # "windows" or "truncate": texts longer than the encoder reads
    window_tokens: int | None
    holds: Callable[[Entry], bool] = lambda entry: False  # whether the store has such an entry already
    kept: dict[str, dict[Request, Any]] | None = None  # document id -> answers; None: they are not kept


@dataclass(frozen=True, slots=True)
class Prepared:
    """Entries for the store, and how often views fell back."""

    entries: list[Entry]
    fallbacks: Counter[str]
    unchanged: int = 0  # documents that came out as the store has them


def prepare_steps(group: Sequence[tuple[Document, str]], how: Preparation) -> Steps[Prepared]:
    """Prepare documents given with their fingerprints: all language-model calls together, then all texts together."""
    made = yield from read_steps(group, how)
    entries = []
    vectors = []
    fallbacks: Counter[str] = Counter()
    for (document, fingerprint), (unplaced, given, views) in zip(group, made, strict=True):
        chunks = tuple(_in_source(document, chunk) for chunk in unplaced)
        fell_back = views.fallbacks + +Counter(chunks=sum(bool(chunk.extras.get("degraded")) for chunk in chunks))
        entry = Entry(document, fingerprint, chunks, views.texts, {}, degraded=sum(fell_back.values()))
        if not fell_back and how.kept is not None:
            how.kept.pop(document.id, None)
        fallbacks += fell_back
        if not how.holds(entry):
            entries.append(entry)
            vectors.append(given)
    unchanged = len(group) - len(entries)
    if how.embedder is not None and entries:
        entries = yield from _with_vectors(entries, vectors, how)
    return Prepared(entries, fallbacks, unchanged)


def read_steps(group: Sequence[tuple[Document, str]], how: Preparation) -> Steps[list[Read]]:
    """The chunks of documents given with their fingerprints, their vectors where the splitter gives them, and their views."""
    split: list[_Split] = yield from together(
        [_keeping(_split_steps(document, how), document, how) for document, _ in group]
    )
    made: list[ViewTexts] = yield from together(
        [
            _keeping(view_steps(document, chunks, how.views), document, how)
            for (document, _), (chunks, _) in zip(group, split, strict=True)
        ]
    )
    return [(chunks, vectors, views) for (chunks, vectors), views in zip(split, made, strict=True)]


def windows_of(
    views: Mapping[str, Sequence[str | None]], how: Preparation, *, raw: bool
) -> dict[str, list[tuple[int, str]]]:
    """What is embedded of a document: view -> (position of the chunk, text); the view "raw" only if `raw` is set."""
    return {
        view: [
            (i, window)
            for i, text in enumerate(texts)
            if text
            for window in split_windows(text, how.embedder, overflow=how.overflow, max_tokens=how.window_tokens)
        ]
        for view, texts in views.items()
        if raw or view != "raw"
    }


def _keeping(steps: Steps[T], document: Document, how: Preparation) -> Steps[T]:
    """The same steps with the document's kept answers not asked for again."""
    return steps if how.kept is None else keeping(steps, how.kept.setdefault(document.id, {}))


def _in_source(document: Document, chunk: Chunk) -> Chunk:
    """The chunk with its place in the markup, which no store keeps: `extras["source_start"]` and `["source_end"]`, of the text without
    outer white space. A chunk of a format without markup as it is.
    """
    text = chunk.text.strip()
    if document.layout is None or not text:
        return chunk
    start = chunk.start + chunk.text.index(text)
    first, last = document.layout.source_map.span(start, start + len(text))
    return replace(chunk, extras={**chunk.extras, "source_start": first, "source_end": last})


def _split_steps(document: Document, how: Preparation) -> Steps[_Split]:
    """A document's chunks; a splitter that reads text is answered by the index's models, or without an embedder by LSA."""
    splitter: Any = how.splitter
    if not hasattr(splitter, "split_steps"):
        return tuple(splitter.split(document)), None
    if how.embedder is None:
        return tuple((yield from with_own_vectors(splitter.split_steps(document)))), None
    if not getattr(splitter, "reuse_vectors", False):
        return tuple((yield from splitter.split_steps(document))), None
    chunks, vectors = yield from splitter.split_with_vectors_steps(document)
    return tuple(chunks), np.asarray(vectors, dtype=np.float32) if chunks else None


def _with_vectors(entries: Sequence[Entry], given: Sequence[Array | None], how: Preparation) -> Steps[list[Entry]]:
    """The entries with their vectors; those `given` stand for the view `raw`, everything else is embedded."""
    windows = [windows_of(entry.views, how, raw=known is None) for entry, known in zip(entries, given, strict=True)]
    texts = [text for own in windows for several in own.values() for _, text in several]
    (matrix,) = yield [Embed(tuple(texts))]
    embedded = []
    first = 0
    for entry, own, known in zip(entries, windows, given, strict=True):
        vectors = {}
        if known is not None and "raw" in entry.views:
            vectors["raw"] = Vectors(known, np.arange(len(known), dtype=np.int32))
        for view, several in own.items():
            owners = np.array([i for i, _ in several], dtype=np.int32)
            vectors[view] = Vectors(matrix[first : first + len(several)], owners)
            first += len(several)
        embedded.append(replace(entry, vectors=vectors))
    return embedded


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
