"""Base of the retrievers: making, changing, saving and searching an index of LlamaIndex
documents."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import asdict, replace
from functools import cache, partial
from inspect import Parameter, signature
from typing import Any, ClassVar

from llama_index.core import Settings
from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.callbacks import CallbackManager
from llama_index.core.instrumentation import get_dispatcher  # type: ignore[attr-defined]
from llama_index.core.prompts import BasePromptTemplate, PromptTemplate
from llama_index.core.prompts.mixin import PromptDictType
from llama_index.core.schema import BaseNode, IndexNode, NodeWithScore, QueryBundle
from llama_index.core.storage.docstore import SimpleDocumentStore
from llama_index.core.vector_stores.types import (
    BasePydanticVectorStore,
    FilterCondition,
    MetadataFilters,
)
from typing_extensions import Self, Unpack

from llama_index_structrag.conversion import (
    check_nodes,
    hit_to_node,
    index_document,
    link_chunks,
)
from llama_index_structrag.events import IndexBuildEndEvent, IndexBuildStartEvent
from llama_index_structrag.models import core_embedder, core_model
from llama_index_structrag.options import (
    HINTS,
    RetrieverOptions,
    RetrieverSettings,
    Where,
    read_options,
)
from llama_index_structrag.parsing import StructureNodeParser
from llama_index_structrag.reading import ModelFields
from llama_index_structrag.settings import token_counter
from llama_index_structrag.stores import LlamaIndexDenseStore
from llama_index_structrag.tools import ToolRetriever
from structrag.errors import InvalidParameter, check_arguments
from structrag.index.selection import Filter, Filters
from structrag.integrations.arguments import (
    chosen_embedding,
    errors_of_models,
    in_host_words,
)
from structrag.integrations.kinds import RetrieverKind, chunks_of, neighbours_of
from structrag.integrations.retrievers import (
    embedded_as,
    lost_retriever,
    results_of,
    warn_of_chunks,
    warn_of_fallbacks,
)
from structrag.integrations.splitters import check_without_models
from structrag.model_calls.requests import Flow, T
from structrag.records import Chunk, Document, Hit

dispatcher = get_dispatcher(__name__)
CORE_NAMES = {"node_parser": "splitter", "vector_store": "dense_store"}
_PLACES = ("title", "text")
# The templates of views, each with its places.
_PROMPTS = {"merged": _PLACES, "summary": _PLACES, "keywords": _PLACES}
HOST_NAMES = {core: host for host, core in CORE_NAMES.items()}
EMBED_NAMES = {"embedder": "embed_model", "embedding": "embed_model"}
K_NAME = {"k": "similarity_top_k"}
NO_WORDS = "?"  # a question of vectors alone


class IndexRetriever(ToolRetriever):
    """A retriever over a structrag index; KIND names its classes."""

    KIND: ClassVar[RetrieverKind]
    OWN: ClassVar[Mapping[str, Any]] = {}  # settings that the core is not made with
    retriever: Any  # the core's, a `Retriever`

    def __init__(
        self,
        index: Any,
        *,
        similarity_top_k: float | None = None,
        where: Where | None = None,
        filters: MetadataFilters | None = None,
        format: str = "auto",
        metadata_lists: bool = False,
        callback_manager: CallbackManager | None = None,
        object_map: dict[str, Any] | None = None,
        objects: list[IndexNode] | None = None,
        verbose: bool = False,
        **settings: Unpack[RetrieverSettings],
    ) -> None:
        kind = type(self)
        of_index = kind._index_options("from_documents")
        made = "Create the retriever with from_documents, which accepts it."
        hints = {
            **HINTS,
            "k": "Pass similarity_top_k=.",
            **dict.fromkeys(of_index, made),
        }
        check_arguments(kind.__name__, settings, kind._arguments(), hints)
        super().__init__(callback_manager, object_map, objects, verbose)
        self.index = index
        self.where: Any = where_of(where, filters)
        self.format = format
        self.metadata_lists = metadata_lists
        chosen: dict[str, Any] = {**self.OWN, **settings}
        for name in self.OWN:
            setattr(self, name, chosen.pop(name))
        self._settings = chosen
        if similarity_top_k is not None:
            self._settings["k"] = similarity_top_k
        with in_host_words(**K_NAME):
            self.retriever = self._core()
        self.similarity_top_k: float | None = self._settings.get(
            "k", getattr(self.retriever, "k", None)
        )

    @classmethod
    def from_index(cls, index: Any, **arguments: Unpack[RetrieverOptions]) -> Self:
        """The same as calling the class."""
        return cls(index, **read_options(cls.__name__, arguments, cls._arguments()))

    @classmethod
    def from_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[RetrieverOptions]
    ) -> Self:
        """Index whole documents, and return a retriever over them.

        Pass documents, not chunks. Their `doc_id` identifies them.

        Args:
            options: The arguments of this class, and those of its structrag index class (such as
                `cache`, `max_calls`, `progress`), with LlamaIndex objects where they apply:
                `embed_model` (an embedding model or anything that structrag's `Index` accepts;
                None: the one of LlamaIndex's `Settings`, or LSA with a warning if none is set;
                "lsa" selects LSA; if the object does not report the model's input limit, use
                `LlamaIndexEmbedder(embed_model, max_tokens=512)`), `llm` (writes summaries and
                keywords; None: they are extracted), `vector_store` (keeps the vectors),
                `node_parser` (the heading path is indexed unless it has `add_context=False`) and
                `store` (where to keep everything: a folder, "lancedb:FOLDER" or "milvus:PLACE").
                `k`, `splitter` and `show_progress` are other names of `similarity_top_k`,
                `node_parser` and `progress`.

        Raises:
            UnknownArgument: there is no such option (a TypeError); the message lists the options.
            InvalidParameter: a setting is not allowed (a ValueError).
            ModelFailed, InvalidAnswer: the embedding model or the store raised, or returned
                unusable vectors. No retriever is returned, and only the `cache` is kept; to keep
                finished documents, call `from_documents([], ...)`, then `add`.
            BudgetExceeded: `max_calls` is reached; the same applies.
        """
        retriever = cls._over(cls.KIND.index, "from_documents", options)
        with lost_retriever("from_documents", "add", options.get("cache")):
            retriever.add(documents)
        warn_of_fallbacks(retriever.index.usage)
        return retriever

    @classmethod
    async def afrom_documents(
        cls, documents: Sequence[BaseNode], **options: Unpack[RetrieverOptions]
    ) -> Self:
        """`from_documents` on an event loop."""
        retriever = cls._over(cls.KIND.index, "afrom_documents", options)
        with lost_retriever("afrom_documents", "aadd", options.get("cache")):
            await retriever.aadd(documents)
        warn_of_fallbacks(retriever.index.usage)
        return retriever

    @classmethod
    def load(
        cls, persist_dir: str | os.PathLike[str], **options: Unpack[RetrieverOptions]
    ) -> Self:
        """Open an index that `save` wrote. Pass the models it was built with; `options` as for
        `from_documents`. `verify=True` checks all bytes now."""
        return cls._over(partial(cls.KIND.index.load, persist_dir), "load", options)

    @classmethod
    def _over(cls, make: Callable[..., Any], what: str, options: Any) -> Self:
        """A retriever over the index that `make` returns; `what` was called, for errors."""
        argument_names = cls._arguments()
        option_names = [*argument_names, *cls._index_options(what)]
        options = read_options(f"{cls.__name__}.{what}", options, option_names)
        embed_model = options.pop("embed_model", None)
        if embed_model is None and not options.get("token_encoder"):
            # The property of this name would make OpenAI's model where none was set.
            embed_model = getattr(Settings, "_embed_model", None)
        if embed_model is not None or not (
            what == "load"
            or options.get("vector_store")
            or options.get("token_encoder")
        ):
            embed_model = chosen_embedding("embed_model", embed_model)
        arguments, for_index = cls.KIND.divided(options, argument_names, what)
        with in_host_words(**HOST_NAMES, **EMBED_NAMES):
            index = make(**_core_options(for_index, embed_model, cls.KIND.embedder))
        cls.KIND.finish(index, options.get("node_parser"), options.get("preset"))
        return cls(index, **{**cls.KIND.saved(index), **arguments})

    @classmethod
    def _arguments(cls) -> list[str]:
        """The names of what the class is made with, but for its index."""
        parameters = [
            *signature(
                cls.__init__
            ).parameters.values(),  # a user's class may have more
            *signature(IndexRetriever.__init__).parameters.values(),
        ]
        names = [p.name for p in parameters if p.kind is not Parameter.VAR_KEYWORD]
        others = ("self", "index", "k")
        names += [*cls.KIND.settings, *cls.OWN]
        return [name for name in dict.fromkeys(names) if name not in others]

    @classmethod
    def _index_options(cls, what: str) -> list[str]:
        """Arguments of the index, by LlamaIndex's names."""
        names = cls.KIND.index_options(what)
        return ["embed_model", *(HOST_NAMES.get(name, name) for name in names)]

    def __getstate__(self) -> dict[str, Any]:
        """For pickle: a saved index by its place. The core's retriever is made anew."""
        left_out = ("retriever", "callback_manager")
        return {k: value for k, value in vars(self).items() if k not in left_out}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        vars(self).update(state)
        self.callback_manager = CallbackManager()
        self.retriever = self._core()

    def __copy__(self) -> Self:
        other = type(self).__new__(type(self))
        vars(other).update(vars(self))
        return other

    def __deepcopy__(self, memo: Any = None) -> Self:
        """Another retriever over the same index. Its models and files cannot be copied."""
        return copy(self)

    def _core(self) -> Any:
        """The retriever of the core with the settings."""
        if not self.KIND.settings:
            return self.index
        return self.KIND.core(self.index, **self._core_settings())

    def _core_settings(self) -> dict[str, Any]:
        """The settings as the core takes them."""
        return _core_options(self._settings)

    def _limits(self) -> dict[str, Any]:
        """Arguments of a search besides the question."""
        kind_limits = {
            name: getattr(self, name) for name in self.OWN if name in self.KIND.limits
        }
        return {"k": self.similarity_top_k, "where": self.where, **kind_limits}

    def _flow(self, query: QueryBundle) -> Flow[Any]:
        """The hits for a query as a flow, or what holds them."""
        return bundle_flow(query, self.retriever.flow, **self._limits())

    def _hits_in(self, answer: Any) -> list[Hit]:
        """The hits in what `_flow` returns."""
        return list(answer)

    def _retrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with errors_of_models(), in_host_words(**K_NAME):
            answer = self.retriever.run(self._flow(query_bundle))
        return self.nodes_of(self._chosen(self._hits_in(answer)))

    async def _aretrieve(self, query_bundle: QueryBundle) -> list[NodeWithScore]:
        with errors_of_models(), in_host_words(**K_NAME):
            answer = await self.retriever.arun(self._flow(query_bundle))
        return self.nodes_of(self._chosen(self._hits_in(answer)))

    def _chosen(self, hits: list[Hit]) -> list[Hit]:
        """Select the hits that are results."""
        return hits

    def nodes_of(self, hits: Sequence[Hit]) -> list[NodeWithScore]:
        """Hits of this retriever's index as scored nodes, in the same order."""
        document = cache(self.index.store.document)  # an engine is asked once

        def linked(hit: Hit) -> NodeWithScore:
            scored = self._node(hit, document(hit.chunk.doc_id))
            link_chunks(scored.node, *neighbours_of(self.index, hit.chunk))
            return scored

        return list(results_of(hits, linked))

    def docstore(self) -> SimpleDocumentStore:
        """All chunks as nodes, for `PrevNextNodePostprocessor`."""
        docstore = SimpleDocumentStore()
        for doc_id in self.index.document_ids:
            document = self.index.store.document(doc_id)
            chunks: list[Chunk | None] = [None, *chunks_of(self.index, doc_id), None]
            for before, chunk, after in zip(
                chunks, chunks[1:], chunks[2:], strict=False
            ):
                if chunk is not None:
                    node = self._node(Hit(chunk, 0.0, 0), document).node
                    link_chunks(node, before, after)
                    docstore.add_documents([node])
        return docstore

    def _node(self, hit: Hit, document: Document) -> NodeWithScore:
        lists = self.metadata_lists
        return hit_to_node(
            hit, document, self.KIND.notes(hit, lists=lists), lists=lists
        )

    @dispatcher.span
    def add(self, documents: Sequence[BaseNode]) -> Any:
        """Add whole documents, and return the index's report. Unchanged documents cost nothing; a
        changed document with the same id is replaced."""
        sources = self._read(documents)
        with self.callback_manager.as_trace("index_construction"):
            return self._reported(self.index.add(sources))

    @dispatcher.span
    async def aadd(self, documents: Sequence[BaseNode]) -> Any:
        """`add` on an event loop."""
        sources = await asyncio.to_thread(self._read, documents)
        with self.callback_manager.as_trace("index_construction"):
            return self._reported(await self.index.aadd(sources))

    def _reported(self, report: Any) -> Any:
        dispatcher.event(self._built(report))
        return report

    def _built(self, report: Any) -> IndexBuildEndEvent:
        """The event that tells the cost of adding documents."""
        return IndexBuildEndEvent.model_validate(asdict(report))

    def _read(self, documents: Sequence[BaseNode]) -> list[Document]:
        documents = check_nodes(documents)
        warn_of_chunks(document.source_node is not None for document in documents)
        dispatcher.event(IndexBuildStartEvent(n_documents=len(documents)))
        return [index_document(document, format=self.format) for document in documents]

    def delete(self, doc_id: str | Sequence[str]) -> bool:
        """Remove one or more documents from every view. False if one is missing."""
        return bool(self.index.delete(doc_id))

    async def adelete(self, doc_id: str | Sequence[str]) -> bool:
        """`delete` on an event loop."""
        return bool(await self.index.adelete(doc_id))

    def save(self, persist_dir: str | os.PathLike[str]) -> None:
        """Write the index to a folder, without models. Persist a vector store separately."""
        self.index.save(persist_dir)

    def _get_prompts(self) -> PromptDictType:
        return prompts_of(self.index.view_settings.prompts, _PROMPTS)

    def _update_prompts(self, prompts: PromptDictType) -> None:
        """Take templates for documents added from now on. Adding a document again makes its views
        anew."""
        settings = self.index.view_settings
        templates = updated_prompts(settings.prompts, _PROMPTS, prompts)
        self.index.view_settings = replace(settings, prompts=templates)


def bundle_flow(
    query: QueryBundle, flow: Callable[..., Flow[T]], **arguments: Any
) -> Flow[T]:
    """The flow of a question with its embedding, or the texts to embed in its place."""
    question, texts = query.query_str, query.custom_embedding_strs
    if not texts and not query.embedding:
        return flow(question, **arguments)
    question = question if question.strip() else NO_WORDS
    asked = flow(question, **arguments)
    return embedded_as(asked, question, texts or [question], query.embedding)


async def aretrieved(retriever: BaseRetriever, query: str) -> list[NodeWithScore]:
    """The results of a retriever by its async call, or else in a thread."""
    if type(retriever)._aretrieve is BaseRetriever._aretrieve:
        return await asyncio.to_thread(retriever.retrieve, query)
    return await retriever.aretrieve(query)


def _core_options(
    options: Mapping[str, Any], embed_model: Any = None, embedder: str = ""
) -> dict[str, Any]:
    """Options as the core takes them, with its own objects in place of LlamaIndex's. `embedder`
    is what the embedding model is called there."""
    read = {
        CORE_NAMES.get(name, name): _core_value(name, value, embed_model)
        for name, value in options.items()
    }
    if embed_model is not None:
        read[embedder] = core_embedder(embed_model)
    return read


def _core_value(name: str, value: Any, embed_model: Any) -> Any:
    """A model, a splitter, a store or a retriever of LlamaIndex's as the core's."""
    if name == "llm":
        return core_model(value)
    if name == "token_encoder":
        return core_embedder(value)
    if name == "node_parser":
        return _core_splitter(value)
    if name == "vector_store":
        return _dense_store(value, embed_model)
    if name == "evidence" and isinstance(value, IndexRetriever):
        return value.retriever
    return value


def where_of(where: Any, filters: MetadataFilters | None) -> Any:
    """One condition on documents from our `where` and LlamaIndex's filters. InvalidParameter if
    there are both."""
    if filters is None:
        return where
    if not isinstance(filters, MetadataFilters):
        raise InvalidParameter(
            f"filters must be LlamaIndex MetadataFilters; got {type(filters).__name__}. Pass a "
            "dict of metadata as where=."
        )
    if where is not None:
        raise InvalidParameter(
            "where and filters cannot be used together; put both conditions into one of them."
        )
    return core_filters(filters)


def core_filters(filters: MetadataFilters) -> Filters:
    """LlamaIndex's filters, which may hold filters again, as the core's. Raises InvalidParameter
    for an operator that it does not know."""
    condition = filters.condition or FilterCondition.AND
    parts = [
        core_filters(part)
        if isinstance(part, MetadataFilters)
        else Filter(part.key, part.operator.value, part.value)
        for part in filters.filters
    ]
    return Filters(condition.value, parts)


def prompt_of(template: str, places: Sequence[str]) -> PromptTemplate:
    """A template of the core as LlamaIndex's. Braces other than those of the places stand for
    themselves."""
    return PromptTemplate(template.format(**{name: f"{{{name}}}" for name in places}))


def template_of(prompt: BasePromptTemplate, places: Sequence[str]) -> str:
    """Any LlamaIndex prompt with these places as a template of the core."""
    marks: dict[str, Any] = {name: f"\x00{name}\x00" for name in places}
    template = prompt.format(**marks)
    template = template.replace("{", "{{").replace("}", "}}")
    for name in places:
        template = template.replace(f"\x00{name}\x00", f"{{{name}}}")
    return template


def prompts_of(
    templates: Any, places: Mapping[str, Sequence[str]]
) -> dict[str, BasePromptTemplate]:
    """The core's templates, fields of a record, as LlamaIndex's."""
    return {
        f"{name}_prompt": prompt_of(getattr(templates, name), among)
        for name, among in places.items()
    }


def updated_prompts(
    templates: Any,
    places: Mapping[str, Sequence[str]],
    changes: Mapping[str, BasePromptTemplate],
) -> Any:
    """The core's templates with those of `changes` replaced."""
    new = {
        name: template_of(changes[f"{name}_prompt"], among)
        for name, among in places.items()
        if f"{name}_prompt" in changes
    }
    return replace(templates, **new)


def _core_splitter(node_parser: Any) -> Any:
    """The splitter of the core, with the heading path unless the parser has `add_context=False`."""
    if isinstance(node_parser, StructureNodeParser):
        if "add_context" not in node_parser.model_fields_set:
            node_parser = node_parser.model_copy(update={"add_context": True})
        if isinstance(node_parser, ModelFields):
            models = node_parser.embed_model, node_parser.llm
            check_without_models(node_parser, "node_parser", "embed_model", *models)
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
