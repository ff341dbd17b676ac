"""The index a user holds: documents in several views, to be searched. Documents go in, and are
split, given views, embedded and stored; what that costs is estimated without calling a model. One
route can be searched."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice, product
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

from structrag.chunks.content_aware import ContentAwareSplitter
from structrag.chunks.model_splitter import with_own_vectors
from structrag.errors import (
    InvalidParameter,
    ModelFailed,
    check_choice,
    check_optional,
    check_query,
    checked_k,
    warn_user,
)
from structrag.index.add_batch import (
    AddBatch,
    AddReport,
    IndexingOptions,
    ReadDocument,
    Splitter,
    read_flow,
    texts_of,
    windows_of,
)
from structrag.index.corpus import (
    CorpusReader,
    CorpusStore,
    DenseStore,
    HostVectors,
    OwnRoute,
    ranked_rows,
)
from structrag.index.document_index import Address, DocumentIndex, check_embedder
from structrag.index.levels import SearchedLevel, query_vectors
from structrag.index.lexical import LUCENE
from structrag.index.snapshot import Settings
from structrag.index.store import FIRST_LEVEL, Store
from structrag.index.views import VIEWS, Prompts, ViewSettings
from structrag.model_calls.naming import has_name, setting_name
from structrag.model_calls.requests import (
    Ask,
    Choose,
    Embedder,
    Failed,
    Flow,
    Request,
    Search,
)
from structrag.model_calls.runner import DryRun, Runner
from structrag.model_calls.settings import CallOptions, check_call_options
from structrag.model_calls.usage import Usage
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.records import Chunk, Document, Hit
from structrag.text.numbers import pluralise
from structrag.text.terms import tokenizer_for

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack


T = TypeVar("T")


class IndexSettings(CallOptions, total=False):
    """Arguments of `Index` that hosts pass on as they are."""

    views: Sequence[str]
    preset: str
    dtype: str
    language: str
    stems: bool
    window_tokens: int | None
    prompts: Prompts | None
    invented_keywords: bool | None
    store: Address | None


class IndexOptions(IndexSettings, total=False):
    """All arguments of `Index` but for the `embedder`."""

    llm: Any
    splitter: Splitter | None
    dense_store: DenseStore | None
    lexical: str | None


__all__ = ["AddReport", "Index"]


class Index(DocumentIndex[AddReport, SearchedLevel]):
    """Indexes documents in several views, for search by vectors and by BM25.

    Example:
        >>> from structrag import read_text
        >>> index = Index()
        >>> report = index.add([read_text("# Pumps\\n\\nPumps move water.", id="guide")])
        >>> [hit.chunk.text for hit in index.search("water", k=1, route="bm25")]
        ['# Pumps\\n\\nPumps move water.']

    Adding a document with a known id changes nothing if its text, title, metadata, settings and
    models are the same and no call for it failed; otherwise it is replaced. A document is in the
    index whole or not at all.

    Args:
        embedder: Anything that `as_embedder` accepts; None: LSA over the index itself, refitted
            when documents change.
        llm: The model that writes summaries and keywords: a function `str -> str` or a
            `LanguageModel`; None: they are extracted.
        splitter: Default `ContentAwareSplitter()`.
        views: Some of "raw", "summary" and "keywords".
        preset: "default", or "paper" for MC-indexing as published (no heading path, whole sections,
            two calls per section, Okapi BM25, texts truncated to what the encoder reads).
        dense_store: A host's vector store instead of the built-in vectors; one that takes vectors
            needs an `embedder`.
        store: Where to keep the documents: a folder, "lancedb:" and a folder or bucket, or
            "milvus:" and a file or server. Additions are stored at once, and an existing store is
            extended. None: in memory, until `save`. An engine needs an `embedder`, BM25 "lucene"
            and no `dense_store`.
        dtype: "float32" or "float16" for the vectors kept.
        language: The language of stop words and extracted views, by its English name, such as
            "german".
        stems: Whether BM25 uses stems (Snowball's, of `language`).
        window_tokens: Chunks longer than the encoder reads are embedded in windows of at most this
            many of its tokens; None: its limit. A chunk scores as its best window.
        prompts: What the language model is asked. None: set by the preset; `Prompts.paper()` has
            the prompts of the paper.
        invented_keywords: Whether a language model's keywords may differ from the words of the
            section and its titles. None: only with `preset="paper"`.
        options: The settings of `CallSettings`: cache (finished calls and vectors are not
            repeated), batch_size, max_concurrency, max_calls, progress, timeout.
    """

    # Options that a saved index restores, with its embedder's name.
    SAVED: ClassVar[tuple[str, ...]] = (
        "views",
        "preset",
        "language",
        "stems",
        "dtype",
        "lexical",
        "embedder",
    )
    FITS_ENGINES: ClassVar[bool] = True

    def __init__(
        self,
        *,
        embedder: Any = None,
        llm: Any = None,
        splitter: Splitter | None = None,
        views: Sequence[str] = VIEWS,
        preset: str = "default",
        dense_store: DenseStore | None = None,
        store: Address | None = None,
        dtype: str = "float32",
        lexical: str | None = None,
        language: str = "english",
        stems: bool = False,
        window_tokens: int | None = None,
        prompts: Prompts | None = None,
        invented_keywords: bool | None = None,
        **options: Unpack[CallOptions],
    ) -> None:
        paper = check_choice("preset", preset, ("default", "paper")) == "paper"
        check_optional("window_tokens", window_tokens, 16)
        self.preset = preset
        self.splitter: Splitter = _splitter(splitter, paper, language)
        self.embedder: Embedder = as_embedder(embedder)
        llm = as_language_model(llm)
        self.view_settings: ViewSettings = ViewSettings(
            names=_names_of(views),
            with_context=not paper,
            merged=not paper,
            use_llm=llm is not None,
            prompts=prompts or (Prompts.paper() if paper else Prompts()),
            language=language,
            invented_keywords=paper if invented_keywords is None else invented_keywords,
            whole_summaries=paper,
            # MC-indexing's sections have a name; chunks of others are what they are.
            heading=not isinstance(self.splitter, ContentAwareSplitter)
            and not getattr(self.splitter, "within_sections", False),
        )
        self.overflow = "truncate" if paper else "windows"
        self.window_tokens = window_tokens
        self.dense_store = dense_store
        check_call_options(options, Index)
        self._check_for_dense_store()
        super().__init__(
            Store(
                {FIRST_LEVEL: self.view_settings.names},
                dtype=dtype,
                lexical=lexical or ("okapi" if paper else "lucene"),
                tokenizer=tokenizer_for(language, stems=stems),
            ),
            Runner(llm=llm, embedder=self.embedder, **options),
            store,
            HostVectors(dense_store, self.view_settings.names),
        )

    def use(self, store: CorpusStore) -> None:
        """Take a store in place of the one there is, and tell the host's store whose it is."""
        super().use(store)
        if hasattr(self.dense_store, "index"):
            cast(Any, self.dense_store).index = self

    def _searched(self, store: CorpusStore) -> dict[str, SearchedLevel]:
        if not isinstance(store, Store):
            return {}
        embedder = None if self.dense_store else self.embedder
        return {FIRST_LEVEL: SearchedLevel(store, embedder)}

    def _check_for_engine(self, settings: Settings) -> None:
        if hasattr(self.embedder, "fit"):
            raise InvalidParameter(
                "embedder must be a model when an engine keeps the documents; got "
                f"{self.embedder.name!r}, whose vectors change with every document. Pass "
                "embedder=..., or a folder as store."
            )
        if self.dense_store is not None:
            raise InvalidParameter(
                "dense_store must be None when an engine keeps the documents, because the engine "
                "keeps their vectors too. Leave out one of the two."
            )
        if settings.lexical != LUCENE:
            raise InvalidParameter(
                "lexical must be 'lucene' when an engine counts the terms; got "
                f"{settings.lexical!r}. Pass lexical='lucene', or a folder as store."
            )

    def _check_for_dense_store(self) -> None:
        """Refuse to give a host's store vectors that change with every document."""
        wants_vectors = self.dense_store is not None and self.dense_store.wants_vectors
        if wants_vectors and hasattr(self.embedder, "fit"):
            raise InvalidParameter(
                "embedder must be a model for a dense_store that takes vectors; got "
                f"{self.embedder.name!r}, whose vectors change with every document. Pass "
                "embedder=..."
            )

    # -- documents in and out

    @property
    def views(self) -> tuple[str, ...]:
        return self.view_settings.names

    def chunks(self, doc_id: str | None = None) -> list[Chunk]:
        """The chunks of one document or of all, in reading order and in the order of
        `document_ids`. Raises InvalidParameter for an unknown id."""
        return self.store.chunks(doc_id)

    def estimate(self, documents: Iterable[Document]) -> Estimate:
        """Estimate the cost of `add`. It calls no model and changes nothing. Unchanged documents
        and cached calls cost nothing.

        With a splitter that needs no model, the numbers of calls and the view "raw" are exact;
        summaries and keywords are assumed to be as long as the extracted ones. If a splitter's
        prompts depend on earlier answers, those are assumed to have their largest length (for PIC,
        the largest number of summaries of summaries), and chunks are cut by LSA instead of the
        model. Further rounds of IDMS supplements and the embedding by a host's store are not
        included. Raises InvalidParameter as `add` does.
        """
        work = self._adding(documents)
        dry = DryRun(self.runner, stand_in=_stand_in, stage_of=_stage_of)
        n_documents = n_chunks = 0
        for group in work.groups():
            # Without a cache, each group of documents that are prepared together asks anew.
            dry.forget()
            (how,) = work.levels.values()
            read = _read(dry, group, how)
            n_documents += len(group)
            n_chunks += sum(len(of_document.chunks) for of_document in read)
        stages = {stage: dry.stages[stage] for stage in STAGES}
        return Estimate(n_documents, work.unchanged, n_chunks, stages)

    def _preparing(self) -> Callable[..., AddBatch]:
        # Vectors of an embedder that is fitted are made when all texts are there.
        fitted = hasattr(self.embedder, "fit")
        how = IndexingOptions(
            self.splitter,
            self.view_settings,
            self.embedder if self.host.wants_our_vectors and not fitted else None,
            self.overflow,
            self.window_tokens,
            self._kept(FIRST_LEVEL),
        )
        return partial(AddBatch, levels={FIRST_LEVEL: how})

    def _report(self, work: AddBatch) -> AddReport:
        return work.report()

    def search(
        self,
        query: str,
        k: int = 5,
        *,
        view: str = "raw",
        route: str = "dense",
        where: Any = None,
    ) -> list[Hit]:
        """The best `k` chunks of one view by one route.

        The route is "dense" or "bm25". Fewer chunks are returned if it finds fewer, and none for a
        blank query. `where` limits the search: `{"doc_id": "report", "year": [2020, 2021]}`, or a
        function of a document's metadata. Raises InvalidParameter for an unknown view, route or key
        of `where`, and unless k is a whole number from 1.
        """
        return self.run(self._search_flow(query, k, view, route, where))

    async def asearch(
        self,
        query: str,
        k: int = 5,
        *,
        view: str = "raw",
        route: str = "dense",
        where: Any = None,
    ) -> list[Hit]:
        """`search` on an event loop."""
        return await self.arun(self._search_flow(query, k, view, route, where))

    def _search_flow(
        self, query: str, k: int, view: str, route: str, where: Any
    ) -> Flow[list[Hit]]:
        check_choice("route", route, ("dense", "bm25"))
        check_choice("view", view, self.views)
        check_query(query)
        k = checked_k(k)
        name = f"{route}:{view}"

        reader = self.reader()
        vector = None
        if route == "dense":
            (vector,) = yield from self.query_vectors(reader, query)
        (ranking,) = yield [self.request(reader, name, query, vector, k, where)]
        hits = []
        rows = ranked_rows(reader, ranking)
        chunks = reader.chunks_at(list(rows))
        for rank, (chunk, score) in enumerate(
            zip(chunks, rows.values(), strict=True), start=1
        ):
            hits.append(
                Hit(chunk, score, rank, {name: rank}, {name: score}, {name: score})
            )
        return hits

    def reader(self) -> CorpusReader:
        """The current state of the index, unaffected by later changes. A corpus-dependent embedder
        has been fitted to it."""
        level = self.levels.get(FIRST_LEVEL, self.store)
        reader: CorpusReader = level.reader()
        return reader

    def query_vectors(self, reader: CorpusReader, *queries: str) -> Flow[list[Any]]:
        """The vectors of queries for searching a reader, in one call.

        The first query must not be blank. A query without a known word (zeros) has None; all are
        None for a store that embeds texts itself, an empty index or a blank query.
        """
        if not self.host.wants_our_vectors:
            return [None] * len(queries)
        return (yield from query_vectors(reader, *queries))

    def request(
        self,
        reader: CorpusReader,
        route: str,
        query: str,
        vector: Any,
        n: int,
        where: Any,
    ) -> Search:
        """The request for searching one route, which a reader or the host's store answers. `where`
        is as in `search`; for a reader it may also be selected rows."""
        if route.startswith("dense") and self.dense_store is not None:
            return Search(route, query, vector, n, where, self.dense_store)
        return Search(route, query, vector, n, where, OwnRoute(reader))

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        *,
        verify: bool = False,
        embedder: Any = None,
        **options: Unpack[IndexOptions],
    ) -> Self:
        """Open a saved index; arrays are memory-mapped.

        Models are not saved: pass the same `embedder` (and `llm`, `splitter`) again.

        Args:
            verify: Check all bytes now; otherwise a block of a file is checked when it is first
                read.
            embedder: The embedder that the index was built with.
            options: As for `Index`, without store. Views, preset, language, stems, dtype and
                lexical are the saved ones.

        Raises:
            IndexDamaged: there is no index, or it is incomplete, altered, from another program or
                in the format of another release. An altered block is detected when it is first
                read.
            InvalidParameter: the embedder or a saved option differs from the one that the index was
                built with.
        """
        return cls._loaded(path, verify, {**options, "embedder": embedder})

    @classmethod
    def _with_saved(
        cls, address: Address, store: CorpusStore, options: Mapping[str, Any]
    ) -> dict[str, Any]:
        saved = {name: store.config[name] for name in cls.SAVED if name != "embedder"}
        saved["views"] = tuple(saved["views"])
        for name in saved.keys() & options.keys():
            option = _names_of(options[name]) if name == "views" else options[name]
            if option is not None and option != saved[name]:
                raise InvalidParameter(
                    f"{name} of the index at {os.fspath(address)!r} is {saved[name]!r}; got "
                    f"{options[name]!r}. Leave it out, or build a new index."
                )
        return {**options, **saved}

    def _check_saved(self, address: Address, saved: Mapping[str, Any]) -> None:
        check_embedder(address, saved, self.embedder.name)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, moved into place when complete.

        Only new documents are written. LSA vectors are written too if a search or `warm_up` has
        computed them since the last change. Save a host's vector store separately. Warns about a
        model without a name, which no other process can identify. Raises InvalidParameter if the
        path holds something else, and SaveFailed if the system refuses to write; the earlier save
        is then unchanged.
        """
        config = self.config()
        if not has_name(f"{config['embedder']}{config['settings']}"):
            warn_user(
                "the saved index depends on an embedder, model, splitter or counter without a "
                "name (a lambda, a nested function, or an object that holds one): another "
                "process cannot check that it has the same one, so it indexes the documents "
                "again or rejects the embedder. Use a module-level function or an object with "
                "name=..., such as FunctionEmbedder, FunctionModel and the adapters' models.",
            )
        super().save(path)

    def config(self) -> dict[str, Any]:
        """Return the configuration to save: options that `load` restores, names of models,
        settings."""
        settings = self.store.settings
        return {
            "views": list(self.views),
            "preset": self.preset,
            "language": self.view_settings.language,
            "stems": settings.tokenizer.stems,
            "dtype": settings.dtype,
            "lexical": settings.lexical,
            "embedder": self.embedder.name,
            "llm": self.runner.llm.name if self.runner.llm else None,
            "settings": self.settings_name(),
        }

    def settings_name(self) -> str:
        """Everything except the document that decides what is indexed, as one string."""
        embeds = self.embedder.name if self.host.wants_our_vectors else "host"
        llm = self.runner.llm.name if self.runner.llm else None
        return setting_name(
            [
                self.splitter,
                self.view_settings,
                llm,
                embeds,
                self.overflow,
                self.window_tokens,
            ]
        )


def _splitter(splitter: Any, paper: bool, language: str) -> Splitter:
    """The splitter, or that of the preset for None.

    Raises InvalidParameter for what cannot be one.
    """
    if splitter is None:
        make = ContentAwareSplitter.paper if paper else ContentAwareSplitter
        return make(language=language)
    if not hasattr(splitter, "split") and not hasattr(splitter, "split_flow"):
        raise InvalidParameter(
            "splitter must be a structrag splitter, with split(document); got "
            f"{type(splitter).__name__}. Pass splitters of LangChain and node parsers of "
            "LlamaIndex to the retrievers of langchain_structrag and llama_index_structrag."
        )
    return splitter  # type: ignore[no-any-return]


def _names_of(views: str | Sequence[str]) -> tuple[str, ...]:
    """The views, of which one may stand alone."""
    return (views,) if isinstance(views, str) else tuple(views)


STAGES = SPLIT_STAGE, VIEW_STAGE, INDEX_STAGE = "split", "views", "index"
# A summary of so many words is not shortened; of equal words it would be no summary.
LONGEST = "".join(
    f"{a}{b}e " for a, b in islice(product(ascii_lowercase, repeat=2), 199)
)
RATING = "5"


@dataclass(frozen=True, slots=True)
class Estimate:
    """The work and cost of a call of `Index.add`.

    Attributes:
        documents: Those that would be added or replaced.
        unchanged: Those that cost nothing.
        chunks: Of the documents to add or replace.
        stages: Stage ("split", "views": summaries and keywords, "index": vectors) -> its cost.
    """

    documents: int = 0
    unchanged: int = 0
    chunks: int = 0
    stages: Mapping[str, Usage] = field(default_factory=dict)

    @property
    def total(self) -> Usage:
        """All stages together."""
        return sum(self.stages.values(), Usage())

    def __str__(self) -> str:
        total = self.total
        return (
            f"{pluralise(self.documents, 'document')} to add or replace, {self.unchanged:,} "
            f"unchanged; {pluralise(self.chunks, 'chunk')}; "
            f"{pluralise(total.calls, 'language-model call')}, "
            f"{pluralise(total.prompt_tokens, 'token')} of prompts; "
            f"{pluralise(total.embedded, 'text')} to embed, "
            f"{pluralise(total.embedding_tokens, 'token')}; "
            f"{pluralise(total.cache_hits, 'cache hit')}"
        )


def _read(
    dry: DryRun, group: Sequence[tuple[Document, str]], how: IndexingOptions
) -> list[ReadDocument]:
    """Read documents in a dry run, and count the texts to embed."""
    if how.kept is not None:  # what stands in for answers is not to be kept
        how = replace(
            how, kept={name: dict(answers) for name, answers in how.kept.items()}
        )
    read: list[ReadDocument] = dry.run(read_flow(group, how), embedded=with_own_vectors)
    if how.embedder is not None:
        for of_document in read:
            windows = windows_of(of_document, how)
            dry.count_texts(INDEX_STAGE, texts_of(windows), how.embedder)
    return read


def _stage_of(request: Request) -> str:
    is_view = isinstance(request, Ask) and request.component.startswith("views.")
    return VIEW_STAGE if is_view else SPLIT_STAGE


def _stand_in(request: Ask | Choose, number: int) -> Any:
    """Return the answer that a model is assumed to give.

    To a splitter that is a summary as long as may be, no two alike; IDMS asks for ratings and
    lists. Views are extracted in the model's place, so that they are about as long.
    """
    if isinstance(request, Choose):
        return 0.0
    if _stage_of(request) == VIEW_STAGE:
        return Failed(ModelFailed("The estimate asks no model for views."))
    return RATING if request.component.startswith("idms.") else f"{LONGEST}{number}"
