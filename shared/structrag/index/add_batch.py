"""Documents on their way into an index: split, given views, embedded, stored."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, Protocol

import numpy as np

from structrag.chunks.model_splitter import with_own_vectors
from structrag.citations import cite, text_digest
from structrag.errors import InvalidParameter, UnknownDocument
from structrag.index.corpus import CorpusStore, HostVectors
from structrag.index.dense import check_width
from structrag.index.entries import (
    Entry,
    LevelEntry,
    LevelRows,
    Vectors,
    fingerprint,
    made_alike,
)
from structrag.index.views import ViewSettings, ViewTexts, view_flow
from structrag.model_calls.calling import fallbacks_of
from structrag.model_calls.requests import (
    Embed,
    Embedder,
    Failed,
    Flow,
    Request,
    T,
    ask,
    gather,
    record_failures,
    reuse_answers,
)
from structrag.model_calls.settings import TellDocuments
from structrag.model_calls.usage import COUNTS, Usage, fallbacks_line
from structrag.records import Block, Chunk, Document
from structrag.text.arrays import Array
from structrag.text.cutting import Cutter
from structrag.text.numbers import pluralise
from structrag.text.tokens import TokenCounter

# documents of up to 1,000 characters, or so much text, that are prepared together: full batches,
# bounded memory
GROUP = 256
LOOKED_UP = 256  # documents that a store is asked for at once


@dataclass(frozen=True, slots=True)
class AddReport:
    """The counts and costs of one call of `add`.

    Example:
        >>> from structrag import Index, read_text
        >>> report = Index().add([read_text("# Pumps\\n\\nPumps move water.", id="guide")])
        >>> report.added, report.chunks, report.usage["calls"]
        (1, 1, 0)
    """

    added: int
    replaced: int
    unchanged: int
    chunks: int  # of the added and replaced documents
    usage: dict[str, Any]  # what it cost, as `Usage.as_dict`
    reused: int = (
        0  # texts whose vectors were kept from what the store had of the documents
    )

    def __str__(self) -> str:
        fallbacks = self.usage["fallbacks"]
        note = ""
        if fallbacks:
            fell_back = sum(fallbacks.values())
            why = fallbacks_line(fallbacks, self.usage["reasons"])
            note = f", {pluralise(fell_back, 'view')} fell back to the extractive default: {why}"
        return (
            f"{pluralise(self.added, 'document')} added, {self.replaced:,} replaced, "
            f"{self.unchanged:,} unchanged; {pluralise(self.chunks, 'chunk')}; "
            f"{pluralise(self.usage['calls'], 'language-model call')}, "
            f"{_embedded(self.usage['embedded'], self.reused)}, "
            f"{pluralise(self.usage['cache_hits'], 'cache hit')}{note}"
        )


def _embedded(embedded: int, reused: int) -> str:
    if not reused:
        return f"{pluralise(embedded, 'text')} embedded"
    return f"{embedded:,} of {pluralise(embedded + reused, 'text')} embedded"


def checked_documents(
    documents: Iterable[Document], present: Container[object] | None = None
) -> list[Document]:
    """The documents of one call.

    Example:
        >>> [document.id for document in checked_documents([Document("Pumps leak.", id="d")])]
        ['d']

    Args:
        present: Ids of which each must be one; None: any.

    Raises:
        InvalidParameter: an item is not a Document, or two have the same id.
        UnknownDocument: one is not present.
    """
    if isinstance(documents, Document):
        raise InvalidParameter(
            f"documents must be a list of Documents; got one, {documents.id!r}. Put it in a list."
        )
    if not isinstance(documents, Iterable):
        raise InvalidParameter(
            f"documents must be a list of Documents; got {type(documents).__name__}. Use "
            "structrag.read_file or read_text."
        )
    checked = list(documents)
    ids: set[str] = set()
    for document in checked:
        if not isinstance(document, Document):
            raise InvalidParameter(
                f"documents must be structrag Documents; got {type(document).__name__}. Use "
                "structrag.read_text."
            )
        if document.id in ids:
            raise InvalidParameter(
                f"Two documents of one call have the id {document.id!r}; give each a unique id=."
            )
        if present is not None and document.id not in present:
            raise UnknownDocument(
                f"document {document.id!r} is not in the index, so it cannot be updated; use add."
            )
        ids.add(document.id)
    return checked


class AddBatch:
    """One call of `add`. All documents are checked when it is made, before anything changes.

    Args:
        levels: How documents are prepared at each level of the store, the first one first.
        settings: The name of all that decides an entry besides its document.

    Raises:
        InvalidParameter: an item is not a Document, two have the same id, metadata is not JSON, or
            with `known_only` one is not in the index.
    """

    def __init__(
        self,
        documents: Iterable[Document],
        *,
        store: CorpusStore,
        host: HostVectors,
        levels: Mapping[str, IndexingOptions],
        usage: Usage,
        settings: str,
        known_only: bool = False,
    ) -> None:
        self.store = store
        self.host = host
        self.levels = {
            name: replace(how, stored=partial(self._stored_level, name))
            for name, how in levels.items()
        }
        self.usage = usage
        self.documents: list[Document] = checked_documents(
            documents, store if known_only else None
        )
        # document id -> fingerprint
        self.prints = {
            document.id: fingerprint(document, settings) for document in self.documents
        }
        self.before: dict[str, Any] = usage.as_dict()
        self.added: int = 0
        self.replaced: int = 0
        self.unchanged: int = 0
        self.chunks: int = 0
        self.reused: int = 0  # texts whose vectors the store has
        # Documents that the store has by the same settings: equal texts are not embedded again.
        self.alike: set[str] = set()
        # View or chunks that fell back in this call -> the first reason.
        self.reasons: dict[str, str] = {}
        self.further: Counter[str] = Counter()  # chunks at the store's further levels

    def groups(self, progress: Any = None) -> Iterator[list[tuple[Document, str]]]:
        """The documents that need work, with fingerprints, in groups prepared together. `progress`
        (that of `CallSettings`) is called with the number of finished documents."""
        tell = TellDocuments(progress, len(self.documents))
        group: list[tuple[Document, str]] = []
        size = 0
        there: dict[str, str] = {}
        for number, document in enumerate(self.documents):
            if number % LOOKED_UP == 0:
                some = self.documents[number : number + LOOKED_UP]
                there = self.store.fingerprints([one.id for one in some])
            of_document = self.prints[document.id]
            if there.get(document.id) == of_document:
                self.unchanged += 1
                continue
            if made_alike(there.get(document.id), of_document):
                self.alike.add(document.id)
            group.append((document, of_document))
            size += self.size(document)
            if size >= GROUP:
                yield group
                tell(number + 1)
                group, size = [], 0
        if group:
            yield group
        tell(len(self.documents))

    def _stored_level(self, name: str, doc_id: str) -> StoredLevel:
        rows = self.store.level_rows(doc_id, name) if doc_id in self.alike else None
        return StoredLevel() if rows is None else StoredLevel.of(rows)

    def size(self, document: Document) -> int:
        """How much of a group a document is."""
        return len(document.text) // 1000 + 1

    def flow(self, group: list[tuple[Document, str]]) -> Flow[PreparedGroup]:
        """Prepare a group at all levels."""
        return (yield from prepare_flow(group, self.levels, self.store.unchanged_ids))

    def put(self, prepared: PreparedGroup) -> None:
        """Store what was prepared, document by document."""
        self.usage.fell_back(prepared.fallbacks, prepared.reasons)
        self.reasons = {**prepared.reasons, **self.reasons}
        self.unchanged += prepared.unchanged
        self.reused += prepared.reused
        ids_there = self.store.known(entry.document.id for entry in prepared.entries)
        if self.host.dense_store is None:
            self.store.put_all(prepared.entries)
        else:
            self._put_with_host(prepared.entries)
        for entry in prepared.entries:
            self.replaced += entry.document.id in ids_there
            self.added += entry.document.id not in ids_there
            self.chunks += self.rows(entry)
            self.further.update(
                {name: len(level.chunks) for name, level in entry.levels.items()}
            )

    def rows(self, entry: Entry) -> int:
        """How many rows an entry has at the first level."""
        return len(entry.chunks)

    def _put_with_host(self, entries: Sequence[Entry]) -> None:
        """Store documents here, and their vectors in the host's store."""
        outdated = self.host.keys([entry.document.id for entry in entries], self.store)
        for entry in entries:
            # Our own store checks the entry, so it comes first; a host keeps the vectors itself.
            self.store.put(replace(entry, vectors={}))
            self.host.put(entry, outdated.get(entry.document.id, []), self.store)

    def report(self) -> AddReport:
        """The counts of this call."""
        usage = self.usage.as_dict()
        spent = {name: usage[name] - self.before[name] for name in COUNTS}
        before = self.before["fallbacks"]
        fell_back = {
            name: count - before.get(name, 0)
            for name, count in usage["fallbacks"].items()
            if count > before.get(name, 0)
        }
        return AddReport(
            self.added,
            self.replaced,
            self.unchanged,
            self.chunks,
            {**spent, "fallbacks": fell_back, "reasons": self.reasons},
            self.reused,
        )


class Splitter(Protocol):
    """Anything that splits a document into chunks. If it has `split_flow`, it reads the text with
    the index's own models; if its `reuse_vectors` is true, it returns the chunks' vectors too."""

    def split(self, document: Document) -> list[Chunk]:
        """Chunks in reading order."""


# chunks, and their vectors where the splitter gives them
_Split = tuple[tuple[Chunk, ...], Array | None]


ViewsByChunk = Mapping[tuple[tuple[str, ...], str, str], Mapping[str, str | None]]


@dataclass(frozen=True, slots=True)
class StoredLevel:
    """What the store has of a document at one level, made by the same settings."""

    # By the path, the context and the text of a chunk: its views.
    views: ViewsByChunk = field(default_factory=dict)
    # By text: the vectors of its windows.
    vectors: Mapping[str | None, Array] = field(default_factory=dict)

    @classmethod
    def of(cls, level: LevelRows) -> StoredLevel:
        """The views and vectors of some rows, by what they are of."""
        views = {
            (row.chunk.path, row.chunk.context, row.chunk.text): row.texts
            for row in level.rows
        }
        vectors = {
            level.rows[owner].texts[view]: matrix[owners == owner]
            for view, (matrix, owners) in level.vectors.items()
            for owner in np.unique(owners).tolist()
        }
        return cls(views, vectors)


class ReadDocument(NamedTuple):
    """The chunks and views of a document."""

    chunks: tuple[Chunk, ...]
    vectors: Array | None  # of the chunks, where the splitter gives them
    failures: list[Failed]  # the splitter's calls that failed
    views: ViewTexts
    stored: StoredLevel

    @property
    def reused(self) -> int:
        """How many texts have their vectors from the store."""
        return sum(
            len(self.stored.vectors.get(text, ()))
            for view, texts in self.views.texts.items()
            if view != "raw" or self.vectors is None
            for text in texts
        )

    @property
    def failed(self) -> int:
        """How many views and chunks are to be made again.

        Such chunks lack what a model should have given. All are made again where a call failed, and
        none where all calls were answered. A splitter that calls models by itself says so by
        `extras["failure"]`.
        """
        degraded = [chunk for chunk in self.chunks if chunk.extras.get("degraded")]
        again = [self.failures or chunk.extras.get("failure") for chunk in degraded]
        return self.views.failed + sum(map(bool, again))


@dataclass(frozen=True, slots=True)
class IndexingOptions:
    """How documents are prepared. Without an embedder no vectors are made."""

    splitter: Splitter
    views: ViewSettings
    embedder: Embedder | None
    overflow: str  # "windows" or "truncate": texts longer than the encoder reads
    window_tokens: int | None
    # document id -> answers; None: they are not kept
    kept: dict[str, dict[Request, Any]] | None = None
    stored: Callable[[str], StoredLevel] = lambda doc_id: StoredLevel()


@dataclass(frozen=True, slots=True)
class PreparedGroup:
    """Entries for the store, with the views that fell back."""

    entries: list[Entry]
    fallbacks: Counter[str]
    reasons: dict[str, str]
    unchanged: int = 0  # documents that came out as the store has them
    reused: int = 0  # texts whose vectors the store had


def prepare_flow(
    group: Sequence[tuple[Document, str]],
    levels: Mapping[str, IndexingOptions],
    unchanged_ids: Callable[[Sequence[Entry]], set[str]],
) -> Flow[PreparedGroup]:
    """Prepare documents given with their fingerprints, at several levels, the first one first.

    All language-model calls go out together, then all texts together. Of documents that the store
    has, as `unchanged_ids` tells, nothing is embedded.
    """
    read: list[list[ReadDocument]] = yield from gather(
        [read_flow(group, how) for how in levels.values()]
    )
    fallbacks: Counter[str] = Counter()
    reasons: dict[str, str] = {}
    for how, at_level in zip(levels.values(), read, strict=True):
        for (document, _), one in zip(group, at_level, strict=True):
            if not one.failed and how.kept is not None:
                how.kept.pop(document.id, None)
            of_chunks, why = fallbacks_of(one.chunks, one.failures)
            fallbacks += one.views.fallbacks + of_chunks
            reasons = {**one.views.reasons, **why, **reasons}
    entries = [
        _entry(document, made_from, dict(zip(levels, at_levels, strict=True)))
        for (document, made_from), *at_levels in zip(group, *read, strict=True)
    ]
    there = unchanged_ids(entries)
    new = [i for i, entry in enumerate(entries) if entry.document.id not in there]
    vectors = yield from gather(
        [
            _vectors_flow([at_level[i] for i in new], how)
            for how, at_level in zip(levels.values(), read, strict=True)
        ]
    )
    complete = [
        _with_vectors(entries[i], at_levels)
        for i, *at_levels in zip(new, *vectors, strict=True)
    ]
    reused = sum(at_level[i].reused for at_level in read for i in new)
    return PreparedGroup(complete, fallbacks, reasons, len(group) - len(new), reused)


def _entry(
    document: Document, made_from: str, at_levels: Mapping[str, ReadDocument]
) -> Entry:
    """A document without vectors."""
    levels = {
        name: LevelEntry(
            tuple(_with_places(document, one.chunks)),
            one.views.texts,
            {},
        )
        for name, one in at_levels.items()
    }
    first = levels.pop(next(iter(levels)))
    failed = sum(one.failed for one in at_levels.values())
    return Entry(document, made_from, first.chunks, first.views, {}, failed, levels)


def _with_vectors(entry: Entry, at_levels: Sequence[dict[str, Vectors]]) -> Entry:
    first, *further = at_levels
    levels = {
        name: replace(level, vectors=vectors)
        for (name, level), vectors in zip(entry.levels.items(), further, strict=True)
    }
    return replace(entry, vectors=first, levels=levels)


def read_flow(
    group: Sequence[tuple[Document, str]], how: IndexingOptions
) -> Flow[list[ReadDocument]]:
    """Split documents, given with their fingerprints, and make the views of their chunks."""
    failures: list[list[Failed]] = [[] for _ in group]
    splitting = []
    for (document, _), of_document in zip(group, failures, strict=True):
        flow = record_failures(_split_flow(document, how), of_document)
        splitting.append(_keeping(flow, document, how))
    split: list[_Split] = yield from gather(splitting)
    stored = [how.stored(document.id) for document, _ in group]
    viewed: list[ViewTexts] = yield from gather(
        [
            _keeping(view_flow(document, chunks, how.views, of.views), document, how)
            for (document, _), (chunks, _), of in zip(group, split, stored, strict=True)
        ]
    )
    return [
        ReadDocument(chunks, vectors, failures[i], viewed[i], stored[i])
        for i, (chunks, vectors) in enumerate(split)
    ]


def windows_of(
    read: ReadDocument, how: IndexingOptions
) -> dict[str, list[tuple[int, str]]]:
    """Return the texts to embed of a document: view -> (position of the chunk, text). Texts whose
    vectors are there, from the splitter or in the store, are left out."""

    def windows(text: str) -> Sequence[str]:
        return split_windows(
            text, how.embedder, overflow=how.overflow, max_tokens=how.window_tokens
        )

    embedded: dict[str, list[tuple[int, str]]] = {}
    for view, texts in read.views.texts.items():
        if view == "raw" and read.vectors is not None:
            continue
        embedded[view] = [
            (i, window)
            for i, text in enumerate(texts)
            if text and text not in read.stored.vectors
            for window in windows(text)
        ]
    return embedded


def texts_of(windows: Mapping[str, Sequence[tuple[int, str]]]) -> list[str]:
    """The texts of `windows_of`, view by view."""
    return [text for of_view in windows.values() for _, text in of_view]


def _keeping(flow: Flow[T], document: Document, how: IndexingOptions) -> Flow[T]:
    """The same steps with the document's kept answers not asked for again."""
    if how.kept is None:
        return flow
    return reuse_answers(flow, how.kept.setdefault(document.id, {}))


def _with_places(document: Document, chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    digest = text_digest(document.text)
    for chunk in chunks:
        cited = cite(document.text, chunk.start, chunk.end, digest)
        yield replace(_in_source(document, chunk), cited=cited)


def _in_source(document: Document, chunk: Chunk) -> Chunk:
    """The chunk with its place in the markup, which no store keeps.

    That is `extras["source_start"]` and `["source_end"]`, of the text without outer white space. A
    chunk of a format without markup is left as it is.
    """
    text = chunk.text.strip()
    if document.layout is None or not text:
        return chunk
    start = chunk.start + chunk.text.index(text)
    first, last = document.layout.source_map.span(start, start + len(text))
    return replace(
        chunk, extras={**chunk.extras, "source_start": first, "source_end": last}
    )


def _split_flow(document: Document, how: IndexingOptions) -> Flow[_Split]:
    """A document's chunks, by the index's models; without an embedder, by LSA."""
    splitter: Any = how.splitter
    if not hasattr(splitter, "split_flow"):
        return tuple(splitter.split(document)), None
    if how.embedder is None:
        return tuple((yield from with_own_vectors(splitter.split_flow(document)))), None
    if not getattr(splitter, "reuse_vectors", False):
        return tuple((yield from splitter.split_flow(document))), None
    chunks, vectors = yield from splitter.split_with_vectors_flow(document)
    return tuple(chunks), np.asarray(vectors, dtype=np.float32) if chunks else None


def _vectors_flow(
    read: Sequence[ReadDocument], how: IndexingOptions
) -> Flow[list[dict[str, Vectors]]]:
    """Return the vectors of each document by view: none without an embedder. Vectors that a
    splitter returned are taken as they are."""
    if how.embedder is None or not read:
        return [{} for _ in read]
    windows = [windows_of(one, how) for one in read]
    texts = [text for by_view in windows for text in texts_of(by_view)]
    matrix = yield from ask(Embed(tuple(texts), of="chunks"))
    embedded = []
    first = 0
    for one, by_view in zip(read, windows, strict=True):
        vectors = {}
        if one.vectors is not None and "raw" in one.views.texts:
            owners = np.arange(len(one.vectors), dtype=np.int32)
            vectors["raw"] = Vectors(one.vectors, owners)
        for view, of_view in by_view.items():
            new = matrix[first : first + len(of_view)]
            vectors[view] = _with_stored(one, view, [i for i, _ in of_view], new)
            first += len(of_view)
        embedded.append(vectors)
    return embedded


def split_windows(
    text: str, embedder: Any, *, overflow: str, max_tokens: int | None = None
) -> list[str]:
    """The texts to embed for one index text.

    Itself if the encoder reads it all, else consecutive windows without overlap. Windows are cut at
    sentence ends and each repeats the first line (the heading path) where it leaves at least half
    the room. An embedder without `max_tokens` gets every text whole. `overflow="truncate"` (the
    paper) leaves it to the encoder.
    """
    limit = getattr(embedder, "max_tokens", None)
    if overflow == "truncate" or not limit:
        return [text]
    room = min(limit, max_tokens or limit)
    counter: TokenCounter = getattr(embedder, "count_tokens", None) or _count_generously
    if counter(text) <= limit:
        return [text]
    lead = _repeated_line(text, room, counter)
    rest = text[len(lead) :]
    room_left = max(8, room - (counter(lead) if lead else 0))
    windows = []
    for piece in Cutter(counter).cut(rest, _paragraphs(rest), room_left):
        body = rest[piece.start : piece.end]
        if body.strip():
            windows.append(lead + body)
    return windows or [text]


def _repeated_line(text: str, room: int, counter: TokenCounter) -> str:
    """The first line, if text follows and half the room is left."""
    lead, _, body = text.partition("\n")
    return f"{lead}\n" if body.strip() and counter(lead) * 2 <= room else ""


def _paragraphs(text: str) -> Sequence[Block]:
    from structrag.reading.plain import plain_blocks

    return plain_blocks(text, 0, len(text))


def _count_generously(text: str) -> int:
    """More tokens than most encoders count: one per three characters."""
    return (len(text) + 2) // 3


def _with_stored(
    read: ReadDocument, view: str, owners: Sequence[int], matrix: Array
) -> Vectors:
    """The vectors of a view: new ones with their chunks, and those that the store has."""
    stored = [
        (i, vector.astype(np.float32))
        for i, text in enumerate(read.views.texts[view])
        for vector in read.stored.vectors.get(text, ())
    ]
    if not stored:
        return Vectors(matrix, np.array(owners, dtype=np.int32))
    if owners:
        check_width(view, matrix.shape[1], len(stored[0][1]), read.chunks[0].doc_id)
    rows = sorted([*zip(owners, matrix, strict=True), *stored], key=itemgetter(0))
    positions, vectors = zip(*rows, strict=True)
    return Vectors(np.stack(vectors), np.array(positions, dtype=np.int32))
