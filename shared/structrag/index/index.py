"""The index a user holds: documents go in, and are split, given views, embedded and stored; one route can be searched."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from typing import Any, TypeVar

import numpy as np

from structrag.cache import Cache
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.index.preparing import Preparation, Prepared, Splitter, embedder_errors, prepare_steps, setting_names
from structrag.index.routes import DenseStore, OwnRoute
from structrag.index.storage import manifest_config
from structrag.index.store import Store
from structrag.index.terms import STOPWORD_LISTS, Tokenizer
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.records import Document, Hit
from structrag.steps import Embed, Progress, Ranking, Runner, Search, Steps, Usage
from structrag.views import VIEWS, Prompts, ViewSettings

T = TypeVar("T")

ALGORITHM_VERSION = "1"  # changes when the same input would be indexed differently
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


class Index:
    """Documents in several views, searchable by vectors and by BM25.

    A document whose id is there already is left alone when nothing it was made from has changed (text, title, metadata, settings, models)
    and no view of it fell back; else it is replaced. A document is in the index whole or not at all.

    Args:
        embedder: What `as_embedder` takes; None: LSA over the index itself, refitted when documents change.
        llm: Makes summaries and keywords: a function `str -> str` or a `LanguageModel`; None: extractive.
        splitter: Default `ContentAwareSplitter()`.
        views: Some of "raw", "summary", "keywords".
        preset: "default", or "paper" for MC-indexing as published (no heading path, whole sections, two calls a section, Okapi BM25,
            texts truncated at what the encoder reads).
        dense_store: A host's vector store instead of our own vectors.
        dtype: "float32" or "float16" for the vectors kept.
        language: For stop words and extractive views, an English name such as "german".
        cache: A `Cache` or the path of one: finished calls and vectors are not paid for again.
        window_tokens: Chunks longer than the encoder reads are embedded in windows of at most this many of its tokens; None: as many
            as it reads. A chunk scores as its best window.
        batch_size, max_concurrency, max_calls, progress: See `Runner`.
        prompts: What the language model is asked.
    """

    def __init__(
        self,
        *,
        embedder: Any = None,
        llm: Any = None,
        splitter: Splitter | None = None,
        views: Sequence[str] = VIEWS,
        preset: str = "default",
        dense_store: DenseStore | None = None,
        dtype: str = "float32",
        lexical: str | None = None,
        language: str = "english",
        cache: Cache | str | os.PathLike[str] | None = None,
        window_tokens: int | None = None,
        batch_size: int = 64,
        max_concurrency: int = 8,
        max_calls: int | None = None,
        progress: Progress | None = None,
        prompts: Prompts | None = None,
    ) -> None:
        check_choice("preset", preset, ("default", "paper"))
        if window_tokens is not None:
            check_at_least("window_tokens", window_tokens, 16)
        paper = preset == "paper"
        self.preset = preset
        self.splitter = splitter or (
            ContentAwareSplitter(max_tokens=None, context=False) if paper else ContentAwareSplitter(language=language)
        )
        self.embedder = as_embedder(embedder)
        llm = as_language_model(llm)
        self.view_settings = ViewSettings(
            names=tuple(views),
            with_context=not paper,
            merged=not paper,
            use_llm=llm is not None,
            prompts=prompts or Prompts(),
            language=language,
        )
        self.overflow = "truncate" if paper else "windows"
        self.window_tokens = window_tokens
        self.dense_store = dense_store
        tokenizer = Tokenizer(language) if language in STOPWORD_LISTS else Tokenizer(language, ())
        self.store = Store(
            self.view_settings.names,
            dtype=dtype,
            lexical=lexical or ("okapi" if paper else "lucene"),
            tokenizer=tokenizer,
        )
        self.runner = Runner(
            llm=llm,
            embedder=self.embedder,
            cache=Cache(cache) if isinstance(cache, str | os.PathLike) else cache,
            batch_size=batch_size,
            max_concurrency=max_concurrency,
            max_calls=max_calls,
            progress=progress,
        )
        self._stale = True  # whether corpus-dependent vectors must be refitted

    # -- documents in and out

    @property
    def views(self) -> tuple[str, ...]:
        return self.view_settings.names

    @property
    def document_ids(self) -> list[str]:
        """In the order of their first adding."""
        return self.store.document_ids

    @property
    def usage(self) -> Usage:
        """What this index has cost since it was made or loaded."""
        return self.runner.usage

    def __len__(self) -> int:
        """The number of chunks."""
        return len(self.store)

    def add(self, documents: Iterable[Document]) -> AddReport:
        """Add documents, or replace those that changed; a few hundred chunks at a time, each document whole.

        Raises:
            InvalidParameter: two documents of one call have the same id, or metadata is not JSON.
            InvalidAnswer: the embedder returned NaN, or another shape or dimension. That document and those prepared with it are not in.
            ModelFailed: the embedder raised (the cause is attached). What was finished before is kept, and cached calls are not repeated.
            BudgetExceeded: `max_calls` is reached.
        """
        work = _Adding(self, documents)
        for group in work.groups():
            work.put(self.run(prepare_steps(group, self._preparation())))
        return work.report()

    async def aadd(self, documents: Iterable[Document]) -> AddReport:
        """`add` on an event loop."""
        work = _Adding(self, documents)
        for group in work.groups():
            work.put(await self.arun(prepare_steps(group, self._preparation())))
        return work.report()

    def update(self, documents: Iterable[Document]) -> AddReport:
        """`add` for documents that must be there already."""
        return self.add(self._known(documents))

    async def aupdate(self, documents: Iterable[Document]) -> AddReport:
        """`update` on an event loop."""
        return await self.aadd(self._known(documents))

    def delete(self, doc_id: str) -> bool:
        """Remove a document from every view; False if there is none of this id."""
        self._forget(doc_id)
        self._stale = True
        return self.store.delete(doc_id)

    # -- searching one route

    def search(
        self, query: str, k: int = 5, *, view: str = "raw", route: str = "dense", where: Any = None
    ) -> list[Hit]:
        """The best `k` chunks of one view by one route, "dense" or "bm25"; fewer where the route finds fewer.

        `where` limits the search: `{"doc_id": "report", "year": [2020, 2021]}`, or a function of a document's metadata.
        """
        return self._hits(self.run(self._search_steps(query, k, view, route, where)), f"{route}:{view}")

    async def asearch(
        self, query: str, k: int = 5, *, view: str = "raw", route: str = "dense", where: Any = None
    ) -> list[Hit]:
        """`search` on an event loop."""
        return self._hits(await self.arun(self._search_steps(query, k, view, route, where)), f"{route}:{view}")

    def _search_steps(self, query: str, k: int, view: str, route: str, where: Any) -> Steps[Ranking]:
        check_choice("route", route, ("dense", "bm25"))
        check_choice("view", view, self.views)
        check_at_least("k", k, 1)
        vector = (yield from self.query_vector(query)) if route == "dense" else None
        (ranking,) = yield [Search(f"{route}:{view}", query, vector, k, where)]
        return list(ranking)

    def _hits(self, ranking: Ranking, route: str) -> list[Hit]:
        rows = self.rows(ranking)
        return [
            Hit(self.store.chunk(row), rows[row], rank, {route: rank}, {route: rows[row]})
            for rank, row in enumerate(rows, start=1)
        ]

    def query_vector(self, query: str) -> Steps[Any]:
        """The query's vector, or None where nothing needs one: a store that embeds itself, an empty index, a blank query."""
        wanted = self.dense_store is None or self.dense_store.wants_vectors
        if not wanted or not len(self.store) or not query.strip():
            return None
        self._refit()
        (matrix,) = yield [Embed((query,), query=True)]
        return matrix[0]

    def routes(self) -> dict[str, Any]:
        """Every route by its name, such as "dense:raw" and "bm25:summary"."""
        own = OwnRoute(self.store)
        kinds = {"dense": self.dense_store or own, "bm25": own}
        return {f"{kind}:{view}": route for kind, route in kinds.items() for view in self.views}

    def rows(self, ranking: Ranking) -> dict[int, float]:
        """A ranking as row -> score, in its order; each chunk once, chunks this index does not hold left out."""
        scores: dict[int, float] = {}
        for key, score in ranking:
            row = key if isinstance(key, int) else self.store.row_of(key)
            if row is not None:
                scores.setdefault(row, score)
        return scores

    def run(self, steps: Steps[T]) -> T:
        """Drive steps with this index's models and routes."""
        with embedder_errors(self.embedder.name):
            return self._runner().run(steps)

    async def arun(self, steps: Steps[T]) -> T:
        """`run` on an event loop."""
        with embedder_errors(self.embedder.name):
            return await self._runner().arun(steps)

    def _runner(self) -> Runner:
        self.runner.routes = self.routes()
        return self.runner

    # -- saving

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, moved into place when complete. A host's vector store is saved by its own means."""
        self._refit()
        self.store.save(path, config=self._config())

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False, embedder: Any = None, **options: Any) -> Index:
        """Open a saved index; arrays are memory-mapped. Models are not saved: pass the same `embedder` (and `llm`, `splitter`) again.

        Args:
            verify: Compare the checksums of all files, not only the small ones.
            embedder: The embedder it was built with.
            options: As for `Index`; views, preset and language are the saved ones.

        Raises:
            IndexDamaged: there is no index, or it is incomplete, altered, not ours or of a newer release.
            InvalidParameter: the embedder is another one than the index was built with.
        """
        config = manifest_config(path)
        index = cls(
            embedder=embedder,
            **{"views": tuple(config["views"]), "preset": config["preset"], "language": config["language"], **options},
        )
        if index.embedder.name != config["embedder"]:
            raise InvalidParameter(
                f"embedder must be the one the index at {os.fspath(path)!r} was built with, {config['embedder']!r}; got "
                f"{index.embedder.name!r}. Pass that one, or build a new index."
            )
        index.store = Store.load(path, verify=verify)
        return index

    def _config(self) -> dict[str, Any]:
        return {
            "views": list(self.views),
            "preset": self.preset,
            "language": self.view_settings.language,
            "embedder": self.embedder.name,
            "llm": self.runner.llm.name if self.runner.llm else None,
            "settings": self._settings_name(),
        }

    # -- inside

    def _settings_name(self) -> str:
        """Everything besides the document that decides what is indexed, as one string."""
        splitter = setting_names(self.splitter)
        views = asdict(self.view_settings)
        llm = self.runner.llm.name if self.runner.llm else ""
        embeds = "host" if self.dense_store is not None and not self.dense_store.wants_vectors else self.embedder.name
        return repr(
            (ALGORITHM_VERSION, splitter, sorted(views.items()), llm, embeds, self.overflow, self.window_tokens)
        )

    def fingerprint(self, document: Document) -> str:
        """What decides the document's entry: its text, title, format and metadata, and every setting and model name."""
        meta = repr(sorted(document.meta.items(), key=lambda item: str(item[0])))
        parts = (self._settings_name(), document.id, document.title, document.format, meta, document.text)
        return sha256(repr(parts).encode("utf-8", "surrogatepass")).hexdigest()

    def _preparation(self) -> Preparation:
        embedder = self.embedder if self._keeps_vectors() else None
        return Preparation(self.splitter, self.view_settings, embedder, self.overflow, self.window_tokens)

    def _keeps_vectors(self) -> bool:
        return not hasattr(self.embedder, "fit") and (self.dense_store is None or self.dense_store.wants_vectors)

    def _refit(self) -> None:
        """Fit a corpus-dependent embedder to what is stored now, and replace its vectors."""
        if not self._stale or not hasattr(self.embedder, "fit") or self.dense_store is not None:
            return
        texts = {view: [self.store.view_text(row, view) for row in range(len(self.store))] for view in self.views}
        everything = [text for view in self.views for text in texts[view] if text]
        self.embedder = self.runner.embedder = self.embedder.fit(everything)
        for view in self.views:
            rows = [row for row, text in enumerate(texts[view]) if text]
            matrix = self.embedder.embed([text for text in texts[view] if text])
            self.store.replace_vectors(view, matrix, np.array(rows, dtype=np.int32))
        self._stale = False

    def _known(self, documents: Iterable[Document]) -> Iterator[Document]:
        for document in documents:
            if document.id not in self.store:
                raise InvalidParameter(
                    f"document {document.id!r} is not in the index, so it cannot be updated; use add."
                )
            yield document

    def _forget(self, doc_id: str) -> None:
        """Delete a document's entries in the host's vector store."""
        if self.dense_store is None or doc_id not in self.store:
            return
        rows = self.store.select({"doc_id": doc_id})
        numbers = np.arange(len(self.store))[rows] if rows is not None else np.arange(len(self.store))
        chunks = [self.store.chunk(int(row)) for row in numbers]
        self.dense_store.delete([(chunk.id, view) for chunk in chunks for view in self.views])


class _Adding:
    """One call of `add`: which documents need work, in groups, and what came of it."""

    def __init__(self, index: Index, documents: Iterable[Document]) -> None:
        self.index = index
        self.documents = documents
        self.before = index.usage.as_dict()
        self.added = self.replaced = self.unchanged = self.chunks = 0

    def groups(self) -> Iterator[list[tuple[Document, str]]]:
        """Documents to prepare together, with their fingerprints; about `GROUP` chunks each."""
        seen: set[str] = set()
        group: list[tuple[Document, str]] = []
        size = 0
        for document in self.documents:
            if not isinstance(document, Document):
                raise InvalidParameter(
                    f"documents must be structrag Documents; got {type(document).__name__}. Use structrag.read_text."
                )
            if document.id in seen:
                raise InvalidParameter(f"Two documents of one call have the id {document.id!r}; give each its own id=.")
            seen.add(document.id)
            fingerprint = self.index.fingerprint(document)
            store = self.index.store
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

    def put(self, prepared: Prepared) -> None:
        """Store what was prepared, document by document."""
        index = self.index
        index.usage.fallbacks.update(prepared.fallbacks)
        for entry in prepared.entries:
            known = entry.document.id in index.store
            index._forget(entry.document.id)
            index.store.put(entry)
            if index.dense_store is not None:
                index.dense_store.put(entry)
            self.replaced += known
            self.added += not known
            self.chunks += len(entry.chunks)
            index._stale = True

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
