"""What the retrievers share: an index of LangChain documents.

It can be made, changed, saved and searched.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import Any, ClassVar

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableLambda, run_in_executor
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import TextSplitter
from pydantic import ConfigDict, Field, PrivateAttr
from typing_extensions import Self

import structrag.records as core
from langchain_structrag.conversion import as_host, check_documents, page_notes
from langchain_structrag.hiqa import HiQATransformer
from langchain_structrag.models import (
    LangChainEmbedder,
    as_embedder,
    as_language_model,
    inner_callbacks,
)
from langchain_structrag.options import (
    HINTS,
    KnownFields,
    RetrieverFields,
    check_options,
)
from langchain_structrag.reading import ReadingTextSplitter
from langchain_structrag.splitters import ContentAwareTextSplitter, FixedTextSplitter
from langchain_structrag.store_filters import StoreFilter
from langchain_structrag.stores import LangChainDenseStore
from langchain_structrag.tools import ToolRetriever
from structrag.errors import (
    InvalidParameter,
    check_arguments,
    check_at_least,
    check_ids,
)
from structrag.hosts.documents import read_document, with_own_names
from structrag.hosts.metadata import (
    heading_notes,
    oversize_notes,
    source_notes,
    without_page_starts,
)
from structrag.hosts.places import beside, trimmed
from structrag.hosts.retrievers import (
    alike,
    chosen_embedding,
    lost_retriever,
    results_of,
    warn_of_chunks,
)
from structrag.index.corpus import CorpusStore
from structrag.index.index import Index
from structrag.records import Hit
from structrag.retrieval.retriever import Retriever

SAME = {"filter": "where"}  # other names that are taken


class IndexRetriever(KnownFields, ToolRetriever):
    """A retriever over a structrag index.

    Subclasses say how it is searched, most by a retriever of the core with their own fields.
    """

    SETTINGS: ClassVar[tuple[str, ...]] = ()
    OPTIONS: ClassVar[type] = RetrieverFields  # the arguments of `from_documents`

    model_config: ClassVar[ConfigDict] = ConfigDict(
        extra="forbid", arbitrary_types_allowed=True
    )

    index: Any = Field(repr=False)
    """What is searched."""
    format: str = "auto"
    """Of the documents added: "markdown", "html", "text" or "auto"."""
    metadata_lists: bool = False
    """Whether `heading_path` is a list of titles; else they are joined by " > "."""

    # Settings, and the retriever of the core that was made with them.
    _current: tuple[dict[str, Any], Any] | None = PrivateAttr(None)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse now what a search would refuse."""
        super().model_post_init(context)
        if self.SETTINGS:
            self._core()

    def __str__(self) -> str:
        return repr(self)  # with the class's name

    def __deepcopy__(self, memo: Any = None) -> Self:
        """Another retriever over the same index.

        Its models and files cannot be copied.
        """
        return self.model_copy()

    def _core(self) -> Any:
        """The retriever of the core.

        It is made anew when a field named in SETTINGS has changed.
        """
        settings = {name: getattr(self, name) for name in ("index", *self.SETTINGS)}
        if self._current is None or self._current[0] != settings:
            core = self._make_core({name: settings[name] for name in self.SETTINGS})
            self._current = (settings, core)
        return self._current[1]

    def _make_core(self, settings: dict[str, Any]) -> Any:
        """A retriever of the core over the index, with these settings."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _make_core, since it names SETTINGS."
        )

    def _search(
        self, query: str, k: float | None = None, where: Any = None
    ) -> list[Hit]:
        """The hits for a query."""
        hits: list[Hit] = self._core().search(query, k, where=where)
        return hits

    async def _asearch(
        self, query: str, k: float | None = None, where: Any = None
    ) -> list[Hit]:
        """`_search` on an event loop."""
        hits: list[Hit] = await self._core().asearch(query, k, where=where)
        return hits

    def _document(self, hit: Hit) -> Document:
        """A hit as a plain document."""
        document = hit_document(hit, self.index.store, lists=self.metadata_lists)
        before, behind = self._beside(hit.chunk)
        document.metadata["previous_id"] = before.id if before else ""
        document.metadata["next_id"] = behind.id if behind else ""
        return document

    def _documents(self, hits: Iterable[Hit]) -> list[Document]:
        """Hits as documents."""
        return list(results_of(hits, self._document))

    def neighbours(
        self, document: Document, before: int = 1, after: int = 1
    ) -> list[Document]:
        """A result with what stands before and behind it, in reading order.

        Args:
            document: A result of this retriever, by its `doc_id`, `previous_id` and `next_id`.
            before, after: Most of each, from 0. They have score 0.0 and rank 0.

        Raises:
            InvalidParameter: it is no result of this index, or a number is below 0.
        """
        check_at_least("before", before, 0)
        check_at_least("after", after, 0)
        facts = document.metadata
        if not {"doc_id", "previous_id", "next_id"} <= facts.keys():
            raise InvalidParameter(
                "document must be a result of this retriever; its metadata has no doc_id, "
                "previous_id and next_id. Pass what invoke gave."
            )
        chunks = self._chunks(facts["doc_id"])
        place = {chunk.id: number for number, chunk in enumerate(chunks)}
        until = place.get(facts["previous_id"], -1) + 1
        since = place.get(facts["next_id"], len(chunks))
        shown = [chunks[max(0, until - before) : until], chunks[since : since + after]]
        earlier, later = (
            [self._document(Hit(c, 0.0, 0)) for c in part] for part in shown
        )
        return [*earlier, document, *later]

    def _beside(self, chunk: core.Chunk) -> tuple[core.Chunk | None, core.Chunk | None]:
        """What stands before and behind a hit."""
        return beside(self.index.store.reader(), chunk)

    def _chunks(self, doc_id: str) -> list[core.Chunk]:
        """What a document consists of, in reading order."""
        chunks: list[core.Chunk] = self.index.store.chunks(doc_id)
        return chunks

    def _search_options(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """What a search was given besides the question.

        `filter` is another name of `where`.
        """
        names = [*signature(self._search).parameters, *SAME][1:]
        check_arguments(f"{type(self).__name__}.invoke", options, names, HINTS)
        return alike(dict(options), SAME)

    def _stepped(self) -> tuple[Retriever, Callable[[Hit], Document]]:
        """The retriever of the core, and how its hits become documents."""
        return self._core(), self._document

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        **options: Any,
    ) -> list[Document]:
        options = self._search_options(options)
        with inner_callbacks(run_manager.get_child()):
            return self._documents(self._search(query, **options))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **options: Any,
    ) -> list[Document]:
        options = self._search_options(options)
        with inner_callbacks(run_manager.get_child()):
            return self._documents(await self._asearch(query, **options))

    @classmethod
    def _from_documents(
        cls, documents: Iterable[Document], embedding: Any, options: Mapping[str, Any]
    ) -> Self:
        """A retriever over documents, with the options of `from_documents`."""
        retriever = cls._with_index(
            "from_documents", cls._new_index, embedding, options
        )
        with lost_retriever("from_documents", "add_documents", options.get("cache")):
            retriever.add_documents(documents)
        return retriever

    @classmethod
    async def _afrom_documents(
        cls, documents: Iterable[Document], embedding: Any, options: Mapping[str, Any]
    ) -> Self:
        """`_from_documents` on an event loop."""
        retriever = cls._with_index(
            "afrom_documents", cls._new_index, embedding, options
        )
        with lost_retriever("afrom_documents", "aadd_documents", options.get("cache")):
            await retriever.aadd_documents(documents)
        return retriever

    @classmethod
    def _load(
        cls, path: str | os.PathLike[str], embedding: Any, options: Mapping[str, Any]
    ) -> Self:
        """A retriever over a saved index, with the options of `from_documents`."""
        return cls._with_index(
            "load", partial(cls._opened_index, path), embedding, options
        )

    @classmethod
    def _new_index(cls, **options: Any) -> Any:
        """An empty index such as the retriever searches."""
        return make_index(**options)

    @classmethod
    def _opened_index(cls, path: str | os.PathLike[str], **options: Any) -> Any:
        """A saved index such as the retriever searches."""
        return load_index(path, **options)

    @classmethod
    def _with_index(
        cls, what: str, make: Any, embedding: Any, options: Mapping[str, Any]
    ) -> Self:
        """A retriever with the index that `make` returns.

        `what` was called, for errors. Options that are fields of the class stay here, shared ones
        go to both.
        """
        # fields of a user's subclass are arguments too
        added = [
            name for name in cls.model_fields if name not in IndexRetriever.model_fields
        ]
        check_options(
            f"{cls.__name__}.{what}", options, [*cls.OPTIONS.__annotations__, *added]
        )
        fields, for_index = {}, {"embedding": cls._embedding(what, embedding, options)}
        shared = cls._shared_options()
        for name, value in options.items():
            if name in cls.model_fields:
                fields[name] = value
            if name not in cls.model_fields or name in shared:
                for_index[name] = value
        index = make(**for_index)
        # A saved index has some of them itself.
        defaults = {
            name: getattr(index, name) for name in shared if hasattr(index, name)
        }
        return cls(index=index, **{**defaults, **fields})

    @classmethod
    def _embedding(cls, what: str, embedding: Any, options: Mapping[str, Any]) -> Any:
        """The embedding for an index; LSA is never taken without a word."""
        # A store and a token encoder embed by themselves; a saved index knows what it was made of.
        if embedding is None and (
            what == "load" or options.get("vectorstore") or options.get("token_encoder")
        ):
            return None
        return chosen_embedding("embedding", embedding)

    @classmethod
    def _shared_options(cls) -> tuple[str, ...]:
        """Fields that the index has too."""
        return ()

    def add_documents(self, documents: Iterable[Document]) -> Any:
        """Add whole documents, and return the index's report.

        Unchanged ones cost nothing, one that changed under its id is replaced.
        """
        return self._adding(documents).invoke(f"documents for {type(self).__name__}")

    async def aadd_documents(self, documents: Iterable[Document]) -> Any:
        """`add_documents` on an event loop."""
        return await self._adding(documents).ainvoke(
            f"documents for {type(self).__name__}"
        )

    def _adding(self, documents: Iterable[Document]) -> RunnableLambda[str, Any]:
        """What adds documents as one run. Its children are the calls of models."""
        sources = list(core_documents(documents, self.format))

        # Before Python 3.11 what is awaited does not inherit the run, so it is handed on.
        def add(what: str, run_manager: CallbackManagerForChainRun) -> Any:
            with inner_callbacks(run_manager.get_child()):
                return self.index.add(sources)

        async def aadd(what: str, run_manager: AsyncCallbackManagerForChainRun) -> Any:
            with inner_callbacks(run_manager.get_child()):
                return await self.index.aadd(sources)

        return RunnableLambda(add, aadd, name="add_documents")

    def delete(self, ids: str | Sequence[str]) -> bool:
        """Remove documents (not chunks) by id, from every view.

        False if one was not there.
        """
        return bool(self.index.delete(check_ids("ids", ids)))

    async def adelete(self, ids: str | Sequence[str]) -> bool:
        """`delete` in a worker thread."""
        return await run_in_executor(None, self.delete, ids)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder.

        Models and a host's stores are not part of it.
        """
        self.index.save(path)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        embedder, store = self.index.embedder, vectorstore_of(self.index)
        if isinstance(embedder, LangChainEmbedder):
            params["ls_embedding_provider"] = type(embedder.embeddings).__name__
            params["ls_embedding_model"] = embedder.name
        if store is not None:
            params["ls_vector_store_provider"] = type(store).__name__
        return params


def make_index(**options: Any) -> Index:
    """An empty index; takes what `index_options` takes."""
    return _bound(Index(**index_options(**options)), options)


def load_index(
    path: str | os.PathLike[str], *, verify: bool = False, **options: Any
) -> Index:
    """A saved index with its models; takes what `index_options` takes besides."""
    return _bound(Index.load(path, verify=verify, **index_options(**options)), options)


def index_options(
    *,
    embedding: Any = None,
    llm: Any = None,
    splitter: Any = None,
    vectorstore: Any = None,
    store_filter: StoreFilter | None = None,
    max_results: int | None = None,
    **options: Any,
) -> dict[str, Any]:
    """The arguments of `Index` for LangChain's objects; `options` are passed on."""
    chosen = {
        "embedder": as_embedder(embedding),
        "llm": as_language_model(llm),
        "splitter": _core_splitter(splitter),
    }
    if vectorstore is not None:
        if embedding is not None:
            raise InvalidParameter(
                "embedding must be None where vectorstore is given: the store embeds by itself. "
                "Make the store with that embedding."
            )
        is_wrapped = isinstance(vectorstore, LangChainDenseStore)
        if not is_wrapped:
            vectorstore = LangChainDenseStore(
                vectorstore, max_results=max_results, store_filter=store_filter
            )
        chosen["dense_store"] = vectorstore
    return {
        **{name: value for name, value in chosen.items() if value is not None},
        **options,
    }


def core_documents(
    documents: Iterable[Document], format: str
) -> Iterator[core.Document]:
    """Structrag documents, each with an id of its own."""
    checked = check_documents(documents)
    warn_of_chunks(
        "section_id" in document.metadata
        or _begins_later(document.metadata.get("start_index"))
        for document in checked
    )
    for name, host in with_own_names(map(as_host, checked)):
        yield read_document(host, format=format, id=name)


def _begins_later(start: Any) -> bool:
    """Whether a splitter's `start_index` says that something stands before."""
    return isinstance(start, int) and start > 0


def vectorstore_of(index: Any) -> VectorStore | None:
    """The LangChain store an index searches, if it was given one."""
    store = getattr(index, "dense_store", None)  # D3 has none
    return store.vectorstore if isinstance(store, LangChainDenseStore) else None


def _bound(index: Index, options: Mapping[str, Any]) -> Index:
    """The index, known to its store; the paper's indexes no heading path."""
    if index.preset == "paper":
        splitter = options.get("splitter")
        if isinstance(splitter, ContentAwareTextSplitter | FixedTextSplitter):
            index.splitter = splitter.core
    if isinstance(index.dense_store, LangChainDenseStore):
        index.dense_store.index = index
    return index


def _core_splitter(splitter: Any) -> Any:
    """The splitter of the core.

    Ours with the heading path, since their `add_context` is about `page_content`.
    """
    if isinstance(splitter, ContentAwareTextSplitter | FixedTextSplitter):
        return replace(splitter.core, context=True)
    if isinstance(splitter, HiQATransformer):
        return splitter.core
    if isinstance(splitter, ReadingTextSplitter):
        return splitter.indexing_core()
    is_of_structrag = hasattr(splitter, "split") and not isinstance(
        splitter, TextSplitter
    )
    if splitter is not None and not is_of_structrag:
        raise InvalidParameter(
            "splitter must be one of langchain_structrag or of structrag, which know a document's "
            "sections; got "
            f"{type(splitter).__name__}."
        )
    return splitter


def hit_document(hit: Hit, store: CorpusStore, *, lists: bool = False) -> Document:
    """A hit as a LangChain document with JSON metadata.

    The text is without blank lines before and white space after it, and offsets moved with it.
    """
    chunk = trimmed(hit.chunk)
    meta = store.document(chunk.doc_id).meta
    metadata = {
        **without_page_starts(meta),
        "doc_id": chunk.doc_id,
        **heading_notes(chunk, lists=lists),
        "start_index": chunk.start,
        "end_index": chunk.end,
        "score": float(hit.score),
        "rank": hit.rank,
        **oversize_notes(chunk),
        **source_notes(chunk),
        **page_notes(meta, chunk),
    }
    return Document(page_content=chunk.text, metadata=metadata, id=chunk.id)
