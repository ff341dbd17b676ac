"""Documents on their way into an index: which need work, in groups of bounded size, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from structrag.errors import InvalidParameter
from structrag.index.entries import Entry
from structrag.index.preparing import Preparation, Prepared, prepare_steps
from structrag.index.routes import row_numbers
from structrag.records import Document
from structrag.steps import Steps

if TYPE_CHECKING:
    from structrag.index.index import Index

GROUP = 256  # documents of up to 1,000 characters, or so much text, that are prepared together: full batches, bounded memory


@dataclass(frozen=True, slots=True)
class AddReport:
    """What adding documents did."""

    added: int
    replaced: int
    unchanged: int
    chunks: int  # of the added and replaced documents
    usage: dict[str, Any]  # what it cost, as `Usage.as_dict`

    def __str__(self) -> str:
        fell_back = sum(self.usage["fallbacks"].values())
        note = f", {fell_back} views fell back to the extractive default" if fell_back else ""
        return (
            f"{self.added} documents added, {self.replaced} replaced, {self.unchanged} unchanged; {self.chunks} chunks; "
            f"{self.usage['calls']} language-model calls, {self.usage['embedded']} texts embedded, "
            f"{self.usage['cache_hits']} cache hits{note}"
        )


class Adding:
    """One call of `Index.add`. All documents are checked when it is made, before anything changes.

    Raises:
        InvalidParameter: something is no Document, two have the same id, metadata is not JSON, or with `known_only` one is not there yet.
    """

    def __init__(self, index: Index, documents: Iterable[Document], *, known_only: bool = False) -> None:
        self.index = index
        self.prints: dict[str, str] = {}  # document id -> fingerprint
        if isinstance(documents, Document):
            raise InvalidParameter(
                f"documents must be a list of Documents; got one, {documents.id!r}. Put it in a list."
            )
        self.documents = list(documents)
        for document in self.documents:
            self._check(document, known_only)
        self.before = index.usage.as_dict()
        self.added = self.replaced = self.unchanged = self.chunks = 0

    def _check(self, document: Document, known_only: bool) -> None:
        if not isinstance(document, Document):
            raise InvalidParameter(
                f"documents must be structrag Documents; got {type(document).__name__}. Use structrag.read_text."
            )
        if document.id in self.prints:
            raise InvalidParameter(f"Two documents of one call have the id {document.id!r}; give each its own id=.")
        if known_only and document.id not in self.index.store:
            raise InvalidParameter(f"document {document.id!r} is not in the index, so it cannot be updated; use add.")
        self.prints[document.id] = self.index.fingerprint(document)

    def groups(self) -> Iterator[list[tuple[Document, str]]]:
        """The documents that need work, with their fingerprints, in groups to prepare together."""
        group: list[tuple[Document, str]] = []
        size = 0
        store = self.index.store
        for document in self.documents:
            fingerprint = self.prints[document.id]
            if store.fingerprint(document.id) == fingerprint and not store.degraded(document.id):
                self.unchanged += 1
                continue
            group.append((document, fingerprint))
            size += len(document.text) // 1000 + 1
            if size >= GROUP:
                yield group
                group, size = [], 0
        if group:
            yield group

    def steps(self, group: list[tuple[Document, str]]) -> Steps[Prepared]:
        """Prepare a group."""
        return prepare_steps(group, self.preparation())

    def preparation(self) -> Preparation:
        """How documents are prepared. Without a cache, the answers for one that fell back are kept until it does no more."""
        index = self.index
        wanted = index.dense_store is None or index.dense_store.wants_vectors
        return Preparation(
            index.splitter,
            index.view_settings,
            index.embedder if wanted and not hasattr(index.embedder, "fit") else None,
            index.overflow,
            index.window_tokens,
            index.store.holds,
            index.kept if index.runner.cache is None and index.runner.llm is not None else None,
        )

    def put(self, prepared: Prepared) -> None:
        """Store what was prepared, document by document."""
        index = self.index
        index.usage.fallbacks.update(prepared.fallbacks)
        self.unchanged += prepared.unchanged
        outdated = host_keys(index, [entry.document.id for entry in prepared.entries])
        for entry in prepared.entries:
            known = entry.document.id in index.store
            self._put(entry, outdated.get(entry.document.id, []))
            index.stale = True
            self.replaced += known
            self.added += not known
            self.chunks += len(entry.chunks)

    def _put(self, entry: Entry, outdated: list[tuple[str, str]]) -> None:
        """Into our own store first, which checks the entry; a document the host's store then refuses is taken out again."""
        index = self.index
        if index.dense_store is None:
            index.store.put(entry)
            return
        index.store.put(replace(entry, vectors={}))
        try:
            if outdated:
                index.dense_store.delete(outdated)
            index.dense_store.put(entry)
        except BaseException:
            index.store.delete(entry.document.id)
            index.leftovers[entry.document.id] = outdated + [
                (chunk.id, view) for chunk in entry.chunks for view in index.views
            ]
            raise
        index.leftovers.pop(entry.document.id, None)

    def report(self) -> AddReport:
        """The counts of this call."""
        usage = self.index.usage.as_dict()
        spent = {name: usage[name] - self.before[name] for name in usage if name != "fallbacks"}
        before = self.before["fallbacks"]
        fell_back = {
            name: count - before.get(name, 0)
            for name, count in usage["fallbacks"].items()
            if count > before.get(name, 0)
        }
        return AddReport(self.added, self.replaced, self.unchanged, self.chunks, {**spent, "fallbacks": fell_back})


def host_keys(index: Index, doc_ids: Iterable[str]) -> dict[str, list[tuple[str, str]]]:
    """The (chunk id, view) pairs that a host's store may hold of each document; {} without one."""
    if index.dense_store is None:
        return {}
    keys = {}
    for doc_id in doc_ids:
        rows = index.store.select({"doc_id": doc_id}) if doc_id in index.store else slice(0, 0)
        chunks = [index.store.chunk(row) for row in row_numbers(rows, len(index.store))]
        keys[doc_id] = index.leftovers.get(doc_id, []) + [(chunk.id, view) for chunk in chunks for view in index.views]
    return keys


def forget_in_host(index: Index, doc_id: str) -> None:
    """Delete what a host's store may hold of a document."""
    keys = host_keys(index, [doc_id]).get(doc_id)
    if keys and index.dense_store is not None:
        index.dense_store.delete(keys)
    index.leftovers.pop(doc_id, None)
