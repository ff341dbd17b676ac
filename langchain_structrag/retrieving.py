"""Base of the retrievers: making, changing, saving and searching an index of LangChain
documents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

from langchain_core.callbacks import (
    AsyncCallbackManagerForChainRun,
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForChainRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import LangSmithRetrieverParams
from langchain_core.runnables import RunnableLambda
from langchain_text_splitters import TextSplitter
from pydantic import ConfigDict, Field, PrivateAttr
from typing_extensions import Self, Unpack

import structrag.records as core
from langchain_structrag.conversion import (
    as_documents,
    as_host,
    check_documents,
    document_with,
    page_notes,
)
from langchain_structrag.hiqa import HiQATransformer
from langchain_structrag.models import (
    LangChainEmbedder,
    answering,
    as_embedder,
    as_language_model,
    inner_callbacks,
)
from langchain_structrag.options import HINTS, KnownFields, RetrieverOptions
from langchain_structrag.reading import ReadingTextSplitter, taken_embedding
from langchain_structrag.splitters import ContentAwareTextSplitter, FixedTextSplitter
from langchain_structrag.stores import LangChainDenseStore
from langchain_structrag.tools import ToolRetriever
from structrag.errors import (
    InvalidParameter,
    check_arguments,
    check_at_least,
    check_ids,
)
from structrag.index.selection import narrowed
from structrag.integrations.arguments import (
    chosen_embedding,
    in_host_words,
    resolve_aliases,
)
from structrag.integrations.kinds import RetrieverKind, chunks_of, neighbours_of
from structrag.integrations.metadata import (
    heading_notes,
    without_page_starts,
)
from structrag.integrations.parts import is_part_id, read_with_own_ids, sources_in_parts
from structrag.integrations.places import trimmed
from structrag.integrations.retrievers import (
    lost_retriever,
    results_of,
    warn_of_chunks,
    warn_of_fallbacks,
)
from structrag.model_calls.calling import stores_awaited
from structrag.records import Hit
from structrag.retrieval.retriever import Retriever

SAME = {"filter": "where"}  # other names that are taken
STORE_OPTIONS = ("store_filter", "max_results")  # of a vector store


class IndexRetriever(KnownFields, ToolRetriever):
    """A retriever over a structrag index; KIND names its classes."""

    KIND: ClassVar[RetrieverKind]

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
    # `sources_in_parts` of the index, once it is needed.
    _in_parts: set[str] | None = PrivateAttr(None)

    @classmethod
    def from_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[RetrieverOptions],
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Pass documents, not chunks. The id of a document is its own id, else its source (and page or
        row), else it is derived from its content.

        Args:
            embedding: LangChain `Embeddings`, or anything that structrag's `Index` accepts; "lsa"
                needs no model. None means LSA too, with a warning. If the object does not report
                the model's input limit, use `LangChainEmbedder(embeddings, max_tokens=512)`.
            options: The fields of this class, and the arguments of its structrag index class (such
                as `cache`, `max_calls`, `progress`), with LangChain objects where they apply: `llm`
                (a model or chain that writes summaries and keywords; None: they are extracted),
                `splitter` (of this package, which then always indexes the heading path and counts
                it towards the limit, or of structrag), `store` (where to keep everything: a folder,
                "lancedb:FOLDER" or "milvus:PLACE") and `vectorstore` (a LangChain `VectorStore`
                that keeps and embeds the views; `store_filter` and `max_results` as in
                `langchain_structrag.stores.LangChainDenseStore`).

        Raises:
            UnknownArgument: there is no such option (a TypeError); the message lists the options.
            InvalidParameter: a setting is not allowed (a ValueError).
            ModelFailed, InvalidAnswer: the embedding model or the store raised, or returned
                unusable vectors. No retriever is returned, and only the `cache` is kept; to keep
                finished documents, call `from_documents([], ...)`, then `add_documents`.
            BudgetExceeded: `max_calls` is reached; the same applies.
        """
        retriever = cls._over(cls.KIND.index, "from_documents", embedding, options)
        with lost_retriever("from_documents", "add_documents", options.get("cache")):
            retriever.add_documents(documents)
        warn_of_fallbacks(retriever.index.usage)
        return retriever

    @classmethod
    async def afrom_documents(
        cls,
        documents: Iterable[Document],
        embedding: Any = None,
        **options: Unpack[RetrieverOptions],
    ) -> Self:
        """`from_documents` on an event loop."""
        retriever = cls._over(cls.KIND.index, "afrom_documents", embedding, options)
        with lost_retriever("afrom_documents", "aadd_documents", options.get("cache")):
            await retriever.aadd_documents(documents)
        warn_of_fallbacks(retriever.index.usage)
        return retriever

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[RetrieverOptions],
    ) -> Self:
        """`from_documents` for strings; `metadatas` is one mapping per text."""
        documents = as_documents(texts, metadatas)
        return cls.from_documents(documents, embedding, **options)

    @classmethod
    async def afrom_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Unpack[RetrieverOptions],
    ) -> Self:
        """`from_texts` on an event loop."""
        documents = as_documents(texts, metadatas)
        return await cls.afrom_documents(documents, embedding, **options)

    @classmethod
    def load(
        cls,
        path: str | os.PathLike[str],
        embedding: Any = None,
        **options: Unpack[RetrieverOptions],
    ) -> Self:
        """Open an index that `save` wrote. Pass the models it was built with; `options` as for
        `from_documents`. `verify=True` checks all bytes now."""
        make = partial(cls.KIND.index.load, path)
        return cls._over(make, "load", embedding, options)

    @classmethod
    def _over(
        cls, make: Callable[..., Any], what: str, embedding: Any, options: Any
    ) -> Self:
        """A retriever over the index that `make` returns; `what` was called, for errors."""
        embedding, options = taken_embedding(embedding, options)
        class_fields = [name for name in cls.model_fields if name != "index"]
        option_names = [*class_fields, *cls._index_options(what)]
        check_arguments(f"{cls.__name__}.{what}", options, option_names, HINTS)
        # A store and a token encoder embed by themselves; a saved index knows what it was made of.
        if embedding is not None or not (
            what == "load" or options.get("vectorstore") or options.get("token_encoder")
        ):
            embedding = chosen_embedding("embedding", embedding)
        fields, for_index = cls.KIND.divided(options, class_fields, what)
        with in_host_words(embedder="embedding", dense_store="vectorstore"):
            index = make(**_core_options(for_index, embedding, cls.KIND.embedder))
        splitter = options.get("splitter")
        is_plain = isinstance(splitter, ContentAwareTextSplitter | FixedTextSplitter)
        if is_plain and index.preset == "paper":  # whose chunks have no heading path
            index.splitter = splitter.core
        cls.KIND.finish(index, splitter, options.get("preset"))
        return cls(index=index, **{**cls.KIND.saved(index), **fields})

    @classmethod
    def _index_options(cls, what: str) -> list[str]:
        """Arguments of the index, by LangChain's names."""
        names = cls.KIND.index_options(what)
        if "dense_store" not in names:
            return names
        names.remove("dense_store")
        return [*names, "vectorstore", *STORE_OPTIONS]

    def model_post_init(self, context: Any, /) -> None:
        """Check now what a search would reject."""
        super().model_post_init(context)
        self._core()

    def __str__(self) -> str:
        return repr(self)  # with the class's name

    def __getstate__(self) -> dict[Any, Any]:
        """For pickle: a saved index by its place. The core's retriever is made anew."""
        state = super().__getstate__()
        private = {**(state["__pydantic_private__"] or {}), "_current": None}
        return {**state, "__pydantic_private__": private}

    def __deepcopy__(self, memo: Any = None) -> Self:
        """Another retriever over the same index. Its models and files cannot be copied."""
        return self.model_copy()

    def _core(self) -> Any:
        """The retriever of the core, made anew when a setting has changed."""
        names = set(self.KIND.settings)
        if not names:
            return self.index
        settings = {
            name: getattr(self, name)
            for name in type(self).model_fields
            if name in names
        }
        if self._current is None or self._current[0] != settings:
            core = self.KIND.core(**self._core_settings(settings))
            self._current = (settings, core)
        return self._current[1]

    def _core_settings(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """The settings as the core takes them."""
        return _core_options(settings)

    def _chosen(self, hits: list[Hit]) -> list[Hit]:
        """Select the hits that are results."""
        return hits

    def _document(self, hit: Hit) -> Document:
        """A hit as a plain document."""
        chunk = trimmed(hit.chunk)
        meta = self.index.store.document(chunk.doc_id).meta
        before, after = neighbours_of(self.index, hit.chunk)
        metadata = {
            "score": float(hit.score),
            "rank": hit.rank,
            "previous_id": before.id if before else "",
            "next_id": after.id if after else "",
            **self.KIND.notes(hit, lists=self.metadata_lists),
            **without_page_starts(meta),  # the document's own come first
            "doc_id": chunk.doc_id,
            **heading_notes(chunk, lists=self.metadata_lists),
            "start_index": chunk.start,
            "end_index": chunk.end,
            **page_notes(meta, chunk),
        }
        return document_with(chunk.text, metadata, chunk.id)

    def _documents(self, hits: Iterable[Hit]) -> list[Document]:
        """Hits as documents."""
        return list(results_of(hits, self._document))

    def neighbours(
        self, document: Document, before: int = 1, after: int = 1
    ) -> list[Document]:
        """A result with the passages before and after it, in reading order.

        Args:
            document: A result of this retriever, with its `doc_id`, `previous_id` and `next_id`.
            before, after: The largest number of each, from 0. They have score 0.0 and rank 0.

        Raises:
            InvalidParameter: it is not a result of this index, or a number is below 0.
        """
        check_at_least("before", before, 0)
        check_at_least("after", after, 0)
        facts = document.metadata
        if None in map(facts.get, ("doc_id", "previous_id", "next_id")):
            raise InvalidParameter(
                "document must be a result of this retriever; its metadata has no doc_id, "
                "previous_id and next_id. Pass a document that invoke returned."
            )
        chunks = chunks_of(self.index, facts["doc_id"])
        place = {chunk.id: number for number, chunk in enumerate(chunks)}
        until = place.get(facts["previous_id"], -1) + 1
        since = place.get(facts["next_id"], len(chunks))
        shown = [chunks[max(0, until - before) : until], chunks[since : since + after]]
        earlier, later = (
            [self._document(Hit(c, 0.0, 0)) for c in part] for part in shown
        )
        return [*earlier, document, *later]

    def _limits(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a search besides the question. Limits that are not given are those of the
        fields; `filter` is another name of `where`."""
        names = self.KIND.limits
        check_arguments(
            f"{type(self).__name__}.invoke", options, [*names, *SAME], HINTS
        )
        options = resolve_aliases(dict(options), SAME)
        limits = dict(options)
        for name in names:
            if name not in limits and name in type(self).model_fields:
                limits[name] = getattr(self, name)
        return {**limits, "where": narrowed(self.where, options.get("where"))}

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
        limits = self._limits(options)
        with answering(run_manager):
            hits = self._core().search(query, **limits)
            return self._documents(self._chosen(hits))

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        **options: Any,
    ) -> list[Document]:
        limits = self._limits(options)
        with answering(run_manager):
            hits = await self._core().asearch(query, **limits)
            return self._documents(self._chosen(hits))

    def add_documents(self, documents: Iterable[Document]) -> Any:
        """Add whole documents, and return the index's report. Unchanged documents cost nothing; a
        changed document with the same id is replaced."""
        return self._adding(documents).invoke(f"documents for {type(self).__name__}")

    async def aadd_documents(self, documents: Iterable[Document]) -> Any:
        """`add_documents` on an event loop."""
        return await self._adding(documents).ainvoke(
            f"documents for {type(self).__name__}"
        )

    def _adding(self, documents: Iterable[Document]) -> RunnableLambda[str, Any]:
        """A runnable that adds documents as one run, whose children are the calls of models."""
        sources = self._read(documents)

        # Before Python 3.11 what is awaited does not inherit the run, so it is handed on.
        def add(what: str, run_manager: CallbackManagerForChainRun) -> Any:
            with inner_callbacks(run_manager.get_child()):
                return self.index.add(sources)

        async def aadd(what: str, run_manager: AsyncCallbackManagerForChainRun) -> Any:
            with inner_callbacks(run_manager.get_child()):
                return await self.index.aadd(sources)

        return RunnableLambda(add, aadd, name="add_documents")

    def _read(self, documents: Iterable[Document]) -> list[core.Document]:
        """Structrag documents, each with an id of its own."""
        checked = check_documents(documents)
        warn_of_chunks(
            "section_id" in document.metadata
            or _begins_later(document.metadata.get("start_index"))
            for document in checked
        )
        if self._in_parts is None:
            self._in_parts = sources_in_parts(self.index)
        hosts = map(as_host, checked)
        return list(
            read_with_own_ids(hosts, self.index, self._in_parts, format=self.format)
        )

    def delete(self, ids: str | Sequence[str]) -> bool:
        """Remove documents (not chunks) by id, from every view. False if one is missing."""
        names = check_ids("ids", ids)
        if any(map(is_part_id, names)):
            self._in_parts = None
        return bool(self.index.delete(names))

    async def adelete(self, ids: str | Sequence[str]) -> bool:
        """`delete` on an event loop."""
        with stores_awaited():
            return await asyncio.to_thread(self.delete, ids)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder, without models and external stores."""
        self.index.save(path)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        embedder = self.index.embedder
        store = getattr(self.index, "dense_store", None)
        if isinstance(embedder, LangChainEmbedder):
            params["ls_embedding_provider"] = type(embedder.embeddings).__name__
            params["ls_embedding_model"] = embedder.name
        if isinstance(store, LangChainDenseStore):
            params["ls_vector_store_provider"] = type(store.vectorstore).__name__
        return params


def _core_options(
    options: Mapping[str, Any], embedding: Any = None, embedder: str = ""
) -> dict[str, Any]:
    """Options as the core takes them, with its own objects in place of LangChain's. `embedder`
    is what the embedding is called there."""
    read = {name: _core_value(name, value) for name, value in options.items()}
    store = read.pop("vectorstore", None)
    of_store = {name: read.pop(name, None) for name in STORE_OPTIONS}
    if store is not None:
        if embedding is not None:
            raise InvalidParameter(
                "embedding must be None when vectorstore is given, because the store embeds "
                "texts itself. Create the store with that embedding."
            )
        is_wrapped = isinstance(store, LangChainDenseStore)
        read["dense_store"] = (
            store if is_wrapped else LangChainDenseStore(store, **of_store)
        )
    if embedding is not None:
        read[embedder] = as_embedder(embedding)
    return read


def _core_value(name: str, value: Any) -> Any:
    """A model, a splitter or a retriever of LangChain's as the core's."""
    if name == "llm":
        return as_language_model(value)
    if name == "token_encoder":
        return as_embedder(value)
    if name == "splitter":
        return _core_splitter(value)
    if name == "evidence" and isinstance(value, IndexRetriever):
        return value.index
    return value


def _begins_later(start: Any) -> bool:
    """Whether a splitter's `start_index` says that something stands before."""
    return isinstance(start, int) and start > 0


def _core_splitter(splitter: Any) -> Any:
    """The splitter of the core. Ours with the heading path, since their `add_context` is about
    `page_content`."""
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
