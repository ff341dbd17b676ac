"""The routes of an index: its own, and a host's vector store in place of its vectors."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from structrag.index.corpus import CorpusReader, CorpusStore
from structrag.index.entries import Entry
from structrag.index.lexical import OKAPI
from structrag.index.snapshot import Reader
from structrag.model_calls.calling import raised_by
from structrag.model_calls.requests import Ranking, Search
from structrag.records import Chunk


class DenseStore(Protocol):
    """A host's vector store in place of the index's own vectors.

    It receives a document after the index's own store. If it raises, the document is taken out
    again, and deleted here before the next try, so `delete` must bear entries that are not there,
    and `put` entries that are.
    """

    wants_vectors: bool  # True: it is given vectors; False: it embeds the texts itself

    def put(self, entry: Entry) -> None:
        """Add a document's views; entries of an earlier version are deleted."""

    def delete(self, doc_id: str, entry_keys: Sequence[tuple[str, str]]) -> None:
        """Remove a document; `entry_keys` are all (chunk id, view) it may have."""

    def search(self, request: Search) -> Ranking:
        """The best chunks of the view that `request.route` names, such as "dense:raw".

        None for a blank query, whose vector is None. On an event loop `asearch(request)` is awaited
        where there is one; else this runs in a worker thread.
        """


class HostVectors:
    """A host's vector store, kept in step with the own store. Without a host's store there is
    nothing to keep, and every call returns at once."""

    def __init__(self, dense_store: DenseStore | None, views: Sequence[str]) -> None:
        self.dense_store = dense_store
        self.views: tuple[str, ...] = tuple(views)
        # document id -> what the host's store may hold of one that it failed on
        self._leftovers: dict[str, list[tuple[str, str]]] = {}

    @property
    def wants_our_vectors(self) -> bool:
        """Whether vectors are made here, for the index or for a host."""
        return self.dense_store is None or self.dense_store.wants_vectors

    def keys(
        self, doc_ids: Iterable[str], store: CorpusStore
    ) -> dict[str, list[tuple[str, str]]]:
        """The (chunk id, view) pairs that the host may hold of documents."""
        if self.dense_store is None:
            return {}
        return {
            doc_id: self._leftovers.get(doc_id, [])
            + self._pairs(store.chunks(doc_id) if doc_id in store else [])
            for doc_id in doc_ids
        }

    def put(
        self, entry: Entry, outdated: list[tuple[str, str]], store: CorpusStore
    ) -> None:
        """Give the host a document that the own store has taken. One that the host's store refuses
        is taken out of the own store again."""
        if self.dense_store is None:
            return
        try:
            with raised_by(_name(self.dense_store)):
                if outdated:
                    self.dense_store.delete(entry.document.id, outdated)
                self.dense_store.put(entry)
        except BaseException:
            store.delete(entry.document.id)
            self._leftovers[entry.document.id] = outdated + self._pairs(entry.chunks)
            raise
        self._leftovers.pop(entry.document.id, None)

    def forget(self, doc_id: str, store: CorpusStore) -> None:
        """Delete what the host's store may hold of a document."""
        keys = self.keys([doc_id], store).get(doc_id)
        if keys and self.dense_store is not None:
            with raised_by(
                _name(self.dense_store), "The document was kept; call again."
            ):
                self.dense_store.delete(doc_id, keys)
        self._leftovers.pop(doc_id, None)

    def _pairs(self, chunks: Sequence[Chunk]) -> list[tuple[str, str]]:
        return [(chunk.id, view) for chunk in chunks for view in self.views]


def _name(store: DenseStore) -> str:
    """Return the name of a host's store in errors: the label that an adapter set, else its
    class."""
    return str(getattr(store, "label", f"vector store {type(store).__name__}"))


@dataclass(frozen=True, slots=True)
class OwnRoute:
    """Searches an index as it was at one moment. It names chunks by their rows."""

    is_ours: ClassVar[bool] = True
    reader: CorpusReader

    def search(self, request: Search) -> Ranking:
        """Chunks by cosine or BM25. None without a query vector or for a blank query."""
        kind, _, view = request.route.partition(":")
        if kind == "bm25":
            return self._lexical(view, request)
        if request.vector is None:
            return []
        return [
            *self.reader.search_dense(view, request.vector, request.n, request.where)
        ]

    def _lexical(self, view: str, request: Search) -> Ranking:
        reader, query, n = self.reader, request.query, request.n
        if isinstance(reader, Reader) and reader.settings.lexical == OKAPI:
            # As published, a search within one document knows that document alone.
            scope = reader.lexical(view).within(reader.select(request.where))
            return [*scope.search(query, n)]
        return [*reader.search_lexical(view, query, n, request.where)]


def ranked_rows(reader: CorpusReader, ranking: Ranking) -> dict[int, float]:
    """A ranking as row -> score, in its order. Each chunk is there once, with its best score.
    Chunks that the reader does not hold are left out."""
    scores: dict[Any, float] = dict(ranking)
    # Our own routes give rows, each once: there is nothing to look up.
    if len(scores) == len(ranking) and set(map(type, scores)) == {int}:
        return scores
    scores = {}
    for key, score in ranking:
        row = reader.row_of(key) if isinstance(key, str) else key
        scores.setdefault(row, score)
    scores.pop(None, None)
    return scores
