"""What the retrievers share: an index of LlamaIndex documents.

It can be made, changed, saved and searched.
"""

from __future__ import annotations

import asyncio
import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import cache, partial
from typing import Any, ClassVar

from llama_index.core import Settings
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.llms import LLM
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import BaseNode, IndexNode, NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    MetadataFilters,
)
from llama_index.core.vector_stores.utils import build_metadata_filter_fn
from typing_extensions import Self

from llama_index_structrag.conversion import (
    check_nodes,
    hit_to_node,
    index_document,
    link_chunks,
)
from llama_index_structrag.events import IndexBuildEndEvent, IndexBuildStartEvent
from llama_index_structrag.models import LlamaIndexModel, core_embedder
from llama_index_structrag.options import HINTS, RetrieverArguments, Where, read_options
from llama_index_structrag.parsing import StructureNodeParser
from llama_index_structrag.settings import token_counter
from llama_index_structrag.stores import LlamaIndexDenseStore
from llama_index_structrag.tools import ToolRetriever
from structrag.errors import InvalidParameter, check_arguments
from structrag.hosts.metadata import score_notes
from structrag.hosts.places import beside
from structrag.hosts.retrievers import (
    chosen_embedding,
    lost_retriever,
    results_of,
    warn_of_chunks,
)
from structrag.index.corpus import CorpusStore
from structrag.index.index import Index
from structrag.index.views import Prompts
from structrag.records import Chunk, Document, Hit

dispatcher = get_dispatcher(__name__)
ARGUMENT_HINTS = {
    **HINTS,
    "k": "Pass similarity_top_k=.",
    "embed_model": "Make the retriever by from_documents, which takes it.",
}


class IndexRetriever(ToolRetriever):
    """A retriever over a structrag `Index`. Subclasses set `retriever` and `similarity_top_k`."""

    SHARED_OPTIONS: ClassVar[tuple[str, ...]] = ()  # arguments that the index has too
    OPTIONS: ClassVar[type] = RetrieverArguments  # the arguments of `from_documents`
    retriever: Any  # the core's, a `Retriever`
    similarity_top_k: float | None

    def __init__(
        self,
        index: Any,
        *,
        where: Where | None = None,
        filters: MetadataFilters | None = None,
        format: str = "auto",
        metadata_lists: bool = False,
        callback_manager: CallbackManager | None = None,
        object_map: dict[str, Any] | None = None,
        objects: list[IndexNode] | None = None,
        verbose: bool = False,
        **unknown: Any,
    ) -> None:
        check_arguments(
            type(self).__name__, unknown, arguments_of(type(self)), ARGUMENT_HINTS
        )
        super().__init__(callback_manager, object_map, objects, verbose)
        bind(index)
        self.index = index
        self.where: Any = where_of(where, filters)
        self.format = format
        self.metadata_lists = metadata_lists

    def __deepcopy__(self, memo: Any = None) -> Self:
        """Another retriever over the same index.

        Its models and files cannot be copied.
        """
        return copy(self)

    def _search(self, query: str) -> list[Hit]:
        """The hits for a query."""
        hits: list[Hit] = self.retriever.search(
            query, self.similarity_top_k, where=self.where
        )
        return hits

    async def _asearch(self, query: str) -> list[Hit]:
        """`_search` on an event loop."""
        hits: list[Hit] = await self.retriever.asearch(
            query, self.similarity_top_k, where=self.where
        )
        return hits

    @classmethod
    def _from_documents(
        cls, documents: Sequence[BaseNode], options: Mapping[str, Any]
    ) -> Self:
        """A retriever over documents, with the options of `from_documents`."""
        retriever = cls._with_index("from_documents", cls._new_index, options)
        with lost_retriever("from_documents", "add", options.get("cache")):
            retriever.add(documents)
        return retriever

    @classmethod
    async def _afrom_documents(
        cls, documents: Sequence[BaseNode], options: Mapping[str, Any]
    ) -> Self:
        """`_from_documents` on an event loop."""
        retriever = cls._with_index("afrom_documents", cls._new_index, options)
        with lost_retriever("afrom_documents", "aadd", options.get("cache")):
            await retriever.aadd(documents)
        return retriever

    @classmethod
    def _load(
        cls, persist_dir: str | os.PathLike[str], options: Mapping[str, Any]
    ) -> Self:
        """A retriever over a saved index, with the options of `from_documents`."""
        return cls._with_index("load", partial(cls._opened_index, persist_dir), options)

    @classmethod
    def _new_index(cls, **options: Any) -> Any:
        """An empty index such as the retriever searches."""
        return Index(**index_options(**options))

    @classmethod
    def _opened_index(cls, persist_dir: str | os.PathLike[str], **options: Any) -> Any:
        """A saved index such as the retriever searches."""
        return Index.load(persist_dir, **index_options(**options))

    @classmethod
    def _with_index(
        cls, what: str, make: Callable[..., Any], options: Mapping[str, Any]
    ) -> Self:
        """A retriever with the index that `make` returns.

        `what` was called, for errors. Options that are the class's arguments stay here, shared ones
        go to both.
        """
        arguments = arguments_of(cls)
        # A user's subclass may have some.
        added = [name for name in arguments if name != "index"]
        options = read_options(f"{cls.__name__}.{what}", options, cls.OPTIONS, added)
        options["embed_model"] = cls._embedding(what, options)
        for_retriever, for_index = {}, {}
        for name, value in options.items():
            if name in arguments:
                for_retriever[name] = value
            is_shared = name in cls.SHARED_OPTIONS and value is not None
            if name not in arguments or is_shared:
                for_index[name] = value
        return cls(make(**for_index), **for_retriever)

    @classmethod
    def _embedding(cls, what: str, options: Mapping[str, Any]) -> Any:
        """The embedding model for an index.

        That of the options, else of LlamaIndex's `Settings`; LSA is never taken without a word.
        """
        embed_model = options.get("embed_model")
        if embed_model is None and not options.get("token_encoder"):
            # The property of this name would make OpenAI's model where none was set.
            embed_model = getattr(Settings, "_embed_model", None)
            if embed_model is None and (what == "load" or options.get("vector_store")):
                return None
        elif embed_model is None:
            return None
        return chosen_embedding("embed_model", embed_model)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.nodes_of(self._search(query_bundle.query_str))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        return self.nodes_of(await self._asearch(query_bundle.query_str))

    def nodes_of(self, hits: Sequence[Hit]) -> list[NodeWithScore]:
        """Hits of this retriever's index as scored nodes, in their order."""
        document = cache(self._store.document)  # an engine is asked once
        return list(
            results_of(hits, lambda hit: self._result(hit, document(hit.chunk.doc_id)))
        )

    def _result(self, hit: Hit, document: Document) -> NodeWithScore:
        """A hit as a search gives it."""
        return self._node(hit, document)

    def _node(self, hit: Hit, document: Document) -> NodeWithScore:
        return hit_to_node(hit, document, self._notes(hit), lists=self.metadata_lists)

    def _notes(self, hit: Hit) -> dict[str, Any]:
        """What metadata tells of a hit besides its document and place."""
        return score_notes(hit)

    @property
    def _store(self) -> CorpusStore:
        """Where the hits' chunks and documents are."""
        store: CorpusStore = self.index.store
        return store

    @dispatcher.span
    def add(self, documents: Sequence[BaseNode]) -> Any:
        """Add whole documents, and return the index's report.

        Unchanged ones cost nothing, one that changed under its id is replaced.
        """
        sources = self._read(documents)
        with self.callback_manager.as_trace("index_construction"):
            return self._reported(self.index.add(sources))

    @dispatcher.span
    async def aadd(self, documents: Sequence[BaseNode]) -> Any:
        """`add` on an event loop.

        In a worker thread where a vector store keeps the vectors.
        """
        sources = await asyncio.to_thread(self._read, documents)
        with self.callback_manager.as_trace("index_construction"):
            if getattr(self.index, "dense_store", None) is not None:
                return self._reported(await asyncio.to_thread(self.index.add, sources))
            return self._reported(await self.index.aadd(sources))

    def _reported(self, report: Any) -> Any:
        dispatcher.event(self._built(report))
        return report

    def _built(self, report: Any) -> IndexBuildEndEvent:
        """What documents have cost to add."""
        return IndexBuildEndEvent.model_validate(asdict(report))

    def _read(self, documents: Sequence[BaseNode]) -> list[Document]:
        documents = check_nodes(documents)
        warn_of_chunks(document.source_node is not None for document in documents)
        dispatcher.event(IndexBuildStartEvent(n_documents=len(documents)))
        return [index_document(document, format=self.format) for document in documents]

    def delete(self, doc_id: str | Sequence[str]) -> bool:
        """Remove a document, or several, from every view.

        False if there is none of an id.
        """
        return bool(self.index.delete(doc_id))

    def save(self, persist_dir: str | os.PathLike[str]) -> None:
        """Write the index to a folder.

        Models and a vector store are not part of it; persist the store by its own means.
        """
        self.index.save(persist_dir)

    def _get_prompts(self) -> PromptDictType:
        return prompts_of(self.index.view_settings.prompts)

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """Take templates for documents added from now on.

        Adding a document again makes its views anew.
        """
        settings = self.index.view_settings
        templates = updated_prompts(settings.prompts, prompts)
        self.index.view_settings = replace(settings, prompts=templates)


def arguments_of(cls: type) -> list[str]:
    """The names of the arguments of a retriever."""
    parameters = [
        *inspect.signature(cls.__init__).parameters.values(),  # type: ignore[misc]
        *inspect.signature(IndexRetriever.__init__).parameters.values(),
    ]
    names = [p.name for p in parameters if p.kind is not inspect.Parameter.VAR_KEYWORD]
    return [name for name in dict.fromkeys(names) if name != "self"]


class ChunkRetriever(IndexRetriever):
    """A retriever whose hits know what stands beside them in their document."""

    def _result(self, hit: Hit, document: Document) -> NodeWithScore:
        scored = super()._result(hit, document)
        link_chunks(scored.node, *self._beside(hit.chunk))
        return scored

    def docstore(self) -> SimpleDocumentStore:
        """All chunks as nodes, as `PrevNextNodePostprocessor` wants them beside the hits."""
        docstore = SimpleDocumentStore()
        for doc_id in self.index.document_ids:
            document = self._store.document(doc_id)
            chunks: list[Chunk | None] = [None, *self._chunks(doc_id), None]
            for before, chunk, behind in zip(
                chunks, chunks[1:], chunks[2:], strict=False
            ):
                if chunk is not None:
                    scored = self._node(Hit(chunk, 0.0, 0), document)
                    link_chunks(scored.node, before, behind)
                    docstore.add_documents([scored.node])
        return docstore

    def _beside(self, chunk: Chunk) -> tuple[Chunk | None, Chunk | None]:
        """What stands before and behind a hit."""
        return beside(self._store.reader(), chunk)

    def _chunks(self, doc_id: str) -> list[Chunk]:
        """What a document consists of, in reading order."""
        return self._store.chunks(doc_id)


async def aretrieved(retriever: BaseRetriever, query: str) -> list[NodeWithScore]:
    """What a retriever finds, by its async call, else in a thread."""
    if type(retriever)._aretrieve is BaseRetriever._aretrieve:
        return await asyncio.to_thread(retriever.retrieve, query)
    return await retriever.aretrieve(query)


_PLACES = ("title", "text")
# The templates of views, each with its places.
_PROMPTS = {
    "merged": _PLACES,
    "summary": _PLACES,
    "keywords": _PLACES,
}


def index_options(
    *,
    embed_model: Any = None,
    llm: Any = None,
    node_parser: Any = None,
    vector_store: Any = None,
    **options: Any,
) -> dict[str, Any]:
    """The arguments of `Index` for LlamaIndex's objects; `options` are passed on."""
    chosen = {
        "embedder": core_embedder(embed_model),
        "llm": LlamaIndexModel(llm) if isinstance(llm, LLM) else llm,
        "splitter": _core_splitter(node_parser),
        "dense_store": _dense_store(vector_store, embed_model),
    }
    return {
        **{name: value for name, value in chosen.items() if value is not None},
        **options,
    }


def bind(index: Any) -> None:
    """Make the index known to its vector store, if it has one."""
    store = getattr(index, "dense_store", None)
    if isinstance(store, LlamaIndexDenseStore):
        store.index = index


def where_of(where: Any, filters: MetadataFilters | None) -> Any:
    """One condition on documents from our `where` and LlamaIndex's filters.

    InvalidParameter if there are both.
    """
    if filters is None:
        return where
    if where is not None:
        raise InvalidParameter(
            "where and filters cannot be used together; put both conditions into one of them."
        )
    chosen: MetadataFilters = filters
    return lambda metadata: _meets(metadata, chosen)


def _meets(metadata: Mapping[str, Any], filters: MetadataFilters) -> bool:
    """Whether metadata meets filters, which may hold filters again.

    LlamaIndex's function knows no such, so it is asked for each alone.
    """
    results = [
        _meets(metadata, part)
        if isinstance(part, MetadataFilters)
        else build_metadata_filter_fn(
            lambda _: metadata, MetadataFilters(filters=[part])
        )("")
        for part in filters.filters
    ]
    if filters.condition == FilterCondition.OR and results:
        return any(results)
    if filters.condition == FilterCondition.NOT:
        return not any(results)
    return all(results)


def prompt_of(template: str, places: Sequence[str]) -> PromptTemplate:
    """A template of the core as LlamaIndex's.

    Braces other than those of the places stand for themselves.
    """
    return PromptTemplate(template.format(**{name: f"{{{name}}}" for name in places}))


def template_of(prompt: BasePromptTemplate, places: Sequence[str]) -> str:
    """Any LlamaIndex prompt with these places as a template of the core."""
    marks: dict[str, Any] = {name: f"\x00{name}\x00" for name in places}
    template = prompt.format(**marks)
    template = template.replace("{", "{{").replace("}", "}}")
    for name in places:
        template = template.replace(f"\x00{name}\x00", f"{{{name}}}")
    return template


def prompts_of(prompts: Prompts) -> dict[str, BasePromptTemplate]:
    """The core's templates of views as LlamaIndex's."""
    return {
        f"{name}_prompt": prompt_of(getattr(prompts, name), places)
        for name, places in _PROMPTS.items()
    }


def updated_prompts(
    prompts: Prompts, changes: Mapping[str, BasePromptTemplate]
) -> Prompts:
    """The core's templates with those of `changes` replaced."""
    new = {
        name: template_of(changes[f"{name}_prompt"], places)
        for name, places in _PROMPTS.items()
        if f"{name}_prompt" in changes
    }
    return replace(prompts, **new)


def _core_splitter(node_parser: Any) -> Any:
    """The splitter of the core.

    With the heading path unless the parser was told to leave it out.
    """
    if isinstance(node_parser, StructureNodeParser):
        if "add_context" not in node_parser.model_fields_set:
            node_parser = node_parser.model_copy(update={"add_context": True})
        counter = token_counter(node_parser.tokenizer)
        return node_parser.core_splitter(node_parser.chunk_size, counter)
    if node_parser is not None and not hasattr(node_parser, "split"):
        raise InvalidParameter(
            "node_parser must be one of llama_index_structrag or a splitter of structrag, which "
            f"know a document's sections; got {type(node_parser).__name__}."
        )
    return node_parser


def _dense_store(vector_store: Any, embed_model: Any) -> Any:
    if vector_store is None:
        return None
    if embed_model is None:
        raise InvalidParameter(
            "embed_model must be given with vector_store: LSA's vectors change with every document "
            "added. Pass a model, or set Settings.embed_model."
        )
    if isinstance(vector_store, BasePydanticVectorStore):
        return LlamaIndexDenseStore(vector_store)
    if hasattr(vector_store, "wants_vectors"):
        return vector_store
    raise InvalidParameter(
        "vector_store must be a LlamaIndex BasePydanticVectorStore; got "
        f"{type(vector_store).__name__}."
    )
