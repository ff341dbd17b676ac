"""The index a user holds: documents go in, and are split, given views, embedded and stored; one route can be searched."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from threading import RLock
from typing import Any, TypeVar

from structrag.cache import Cache
from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.index.adding import Adding, AddReport, forget_in_host
from structrag.index.estimating import Estimate, estimate
from structrag.index.identity import ALGORITHM_VERSION, fingerprint, setting_name
from structrag.index.preparing import Splitter, embedder_errors
from structrag.index.refitting import refit
from structrag.index.reopening import check_embedder, config_of, saved_options
from structrag.index.routes import DenseStore, OwnRoute
from structrag.index.searching import search_steps
from structrag.index.storage import manifest_config
from structrag.index.store import Store
from structrag.index.terms import STOPWORD_LISTS, Tokenizer
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.records import Chunk, Document, Hit
from structrag.steps import Embed, Progress, Ranking, Request, Runner, Steps, Usage
from structrag.views import VIEWS, Prompts, ViewSettings

T = TypeVar("T")

__all__ = ["ALGORITHM_VERSION", "AddReport", "Index"]


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
        dense_store: A host's vector store instead of our own vectors; one that wants vectors needs an `embedder`.
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
            names=(views,) if isinstance(views, str) else tuple(views),
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
        if dense_store is not None and dense_store.wants_vectors and hasattr(self.embedder, "fit"):
            raise InvalidParameter(
                f"embedder must be a model for a dense_store that wants vectors; got {self.embedder.name!r}, whose vectors change with "
                "every document. Pass embedder=..."
            )
        self.stale = True  # whether corpus-dependent vectors must be refitted
        self.kept: dict[str, dict[Request, Any]] = {}  # answers for documents that fell back, by id
        self.leftovers: dict[str, list[tuple[str, str]]] = {}  # what a host's store may hold of documents it failed on
        self.refitting = RLock()

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

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        """The chunks of a document, or of all in the order of `document_ids`, in reading order; InvalidParameter for an unknown id."""
        return self.store.chunks(doc_id)

    def add(self, documents: Iterable[Document]) -> AddReport:
        """Add documents, or replace those that changed; a few hundred chunks at a time, each document whole.

        Raises:
            InvalidParameter: two documents of one call have the same id, or metadata is not JSON; nothing has changed.
            InvalidAnswer: the embedder returned NaN, or another shape or dimension. That document and those prepared with it are not in.
            ModelFailed: the embedder or the host's store raised (the cause is attached). What was finished before is kept, and cached
                calls are not repeated. A document that the host's store refused is not in, nor is its earlier version.
            BudgetExceeded: `max_calls` is reached.
        """
        return self._add(Adding(self, documents))

    async def aadd(self, documents: Iterable[Document]) -> AddReport:
        """`add` on an event loop."""
        return await self._aadd(Adding(self, documents))

    def update(self, documents: Iterable[Document]) -> AddReport:
        """`add` for documents that must be there already; InvalidParameter, and nothing has changed, if one is not."""
        return self._add(Adding(self, documents, known_only=True))

    async def aupdate(self, documents: Iterable[Document]) -> AddReport:
        """`update` on an event loop."""
        return await self._aadd(Adding(self, documents, known_only=True))

    def estimate(self, documents: Iterable[Document]) -> Estimate:
        """What `add` would cost, before anything is spent: no model is asked, nothing changes. Unchanged documents cost nothing, nor does
        what the cache holds.

        With a splitter that needs no model the calls are exact, and so is the view "raw"; summaries and keywords are counted as long as the
        extracted ones. The calls of a splitter whose questions depend on answers are counted with answers as long as they may be (PIC's
        summaries of summaries: at most so many), its texts with chunks cut by LSA in the model's place. Further rounds of IDMS's
        supplements, distilling a static model and what a host's store embeds are left out. Raises InvalidParameter as `add` does.
        """
        return estimate(self, documents)

    def _add(self, work: Adding) -> AddReport:
        for group in work.groups():
            prepared = self.run(work.steps(group))
            with embedder_errors(self.embedder.name):
                work.put(prepared)
        return work.report()

    async def _aadd(self, work: Adding) -> AddReport:
        for group in work.groups():
            prepared = await self.arun(work.steps(group))
            with embedder_errors(self.embedder.name):
                await asyncio.to_thread(work.put, prepared)
        return work.report()

    def delete(self, doc_id: str) -> bool:
        """Remove a document from every view, and from the host's store; False if there is none of this id."""
        forget_in_host(self, doc_id)
        self.kept.pop(doc_id, None)
        deleted = self.store.delete(doc_id)
        self.stale = self.stale or deleted
        return deleted

    def search(
        self, query: str, k: int = 5, *, view: str = "raw", route: str = "dense", where: Any = None
    ) -> list[Hit]:
        """The best `k` chunks of one view by one route, "dense" or "bm25"; fewer where the route finds fewer, none for a blank query.

        `where` limits the search: `{"doc_id": "report", "year": [2020, 2021]}`, or a function of a document's metadata.
        Raises InvalidParameter for an unknown view, route or key of `where`, and unless k is a whole number from 1.
        """
        return self.run(search_steps(self, query, k, view, route, where))

    async def asearch(
        self, query: str, k: int = 5, *, view: str = "raw", route: str = "dense", where: Any = None
    ) -> list[Hit]:
        """`search` on an event loop."""
        return await self.arun(search_steps(self, query, k, view, route, where))

    def query_vector(self, query: str) -> Steps[Any]:
        """The query's vector, or None: a store that embeds itself, an empty index, a blank query, one of no known word (zeros)."""
        return (yield from self.query_vectors(query))[0]

    def query_vectors(self, *queries: str) -> Steps[list[Any]]:
        """`query_vector` of several queries, of which the first is not blank, in one call."""
        wanted = self.dense_store is None or self.dense_store.wants_vectors
        if not wanted or not len(self.store) or not queries[0].strip():
            return [None] * len(queries)
        refit(self)
        (matrix,) = yield [Embed(queries, query=True)]
        return [vector if any(vector) else None for vector in matrix]

    def routes(self) -> dict[str, Any]:
        """Every route by its name, such as "dense:raw" and "bm25:summary"."""
        own = OwnRoute(self.store)
        kinds = {"dense": self.dense_store or own, "bm25": own}
        return {f"{kind}:{view}": route for kind, route in kinds.items() for view in self.views}

    def rows(self, ranking: Ranking) -> dict[int, float]:
        """A ranking as row -> score, in its order; each chunk once, chunks this index does not hold left out."""
        found: dict[Any, float] = dict(ranking)
        if len(found) == len(ranking) and set(map(type, found)) == {int}:  # what our own routes give
            return found
        scores: dict[Any, float] = {}
        for key, score in ranking:
            scores.setdefault(self.store.row_of(key) if isinstance(key, str) else key, score)
        scores.pop(None, None)
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

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, moved into place when complete. A host's vector store is saved by its own means."""
        refit(self)
        self.store.save(path, config=config_of(self))

    @classmethod
    def load(cls, path: str | os.PathLike[str], *, verify: bool = False, embedder: Any = None, **options: Any) -> Index:
        """Open a saved index; arrays are memory-mapped. Models are not saved: pass the same `embedder` (and `llm`, `splitter`) again.

        Args:
            verify: Compare the checksums of all files, not only the small ones.
            embedder: The embedder it was built with.
            options: As for `Index`; views, preset, language, dtype and lexical are the saved ones.

        Raises:
            IndexDamaged: there is no index, or it is incomplete, altered, not ours or of a newer release.
            InvalidParameter: the embedder, or a saved option, is another one than the index was built with.
        """
        config = manifest_config(path)
        index = cls(embedder=embedder, **saved_options(path, config, options))
        check_embedder(path, config, index.embedder.name)
        index.store = Store.load(path, verify=verify)
        return index

    def settings_name(self) -> str:
        """Everything besides the document that decides what is indexed, as one string."""
        embeds = "host" if self.dense_store is not None and not self.dense_store.wants_vectors else self.embedder.name
        llm = self.runner.llm.name if self.runner.llm else None
        return setting_name([self.splitter, self.view_settings, llm, embeds, self.overflow, self.window_tokens])

    def fingerprint(self, document: Document) -> str:
        """What decides the document's entry: the document itself, and every setting and model name."""
        return fingerprint(document, self.settings_name())
