"""LangChain and LlamaIndex behind one face, for tests of what both adapters promise.

Both take `embedding`, `k`, `splitter` and most options by the same names; a `Framework` hides the
rest. Results and chunks are `Passage`s, whose `host` is the framework's own object.
"""

from __future__ import annotations

import asyncio
import copy
import re
import time
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

import langchain_core.documents
import llama_index.core
from doubles import HashEmbedder
from langchain_core.document_loaders import Blob
from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.language_models import LLM, BaseChatModel, FakeListChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import InMemoryVectorStore
from langchain_fakes import BagOfWords, Scripted
from llama_index.core import MockEmbedding
from llama_index.core.base.base_retriever import BaseRetriever as LlamaIndexRetriever
from llama_index.core.base.llms.types import LogProb
from llama_index.core.bridge.pydantic import Field, PrivateAttr
from llama_index.core.llms import ChatMessage, ChatResponse, LLMMetadata
from llama_index.core.schema import MetadataMode, NodeWithScore, TextNode
from llama_index_fakes import HashEmbedding, ListStore, ScriptedLLM

import langchain_structrag.bridges
import langchain_structrag.conversion
import llama_index_structrag.bridges
import llama_index_structrag.conversion
from structrag.integrations.metadata import HitMetadata

RETRIEVERS = ("MultiView", "HiQA", "D3", "Evidence")
SPLITTERS = ("ContentAware", "Fixed", "PIC", "IDMS", "HiQA")


@dataclass(frozen=True)
class Passage:
    """A chunk or a result. Two are equal if text, place and metadata are."""

    text: str
    doc_id: str
    start: int
    end: int
    metadata: dict[str, Any]
    id: str = field(compare=False)
    score: float = field(compare=False)
    host: Any = field(compare=False, repr=False)


def count_words(text: str) -> int:
    return len(text.split())


class Framework:
    """What the tests do with either framework; its methods are described in `LangChain`."""

    package: ModuleType
    bridges: ModuleType  # what takes documents of other readers
    name: str
    prefix: str  # of the adapter's classes of models
    adding: str  # the method by which its vector stores are filled
    kept: str  # and where `store()` keeps what it has
    embedding_name: str  # what it calls the model that embeds
    k_name: str  # the number of results
    store_name: str  # a vector store
    counter_name: str  # what counts tokens
    counter: Any  # and one that counts words
    strip_name: str  # and whether chunks are stripped of white space
    file_key: str  # where its loaders tell a document's name
    path_key: str  # and its path

    def __repr__(self) -> str:
        return self.name

    def get(self, name: str) -> Any:
        """A public class of the adapter."""
        return getattr(self.package, name)

    def documents(self, texts: Mapping[str, str], **metadata: Any) -> list[Any]:
        return [self.document(text, id, **metadata) for id, text in texts.items()]

    def passages(self, hosts: Iterable[Any]) -> list[Passage]:
        return [self.passage(host) for host in hosts]

    def split(self, splitter: Any, *documents: Any) -> list[Passage]:
        return self.passages(self.split_all(splitter, [*documents]))

    def size(self, passage: Passage) -> int:
        return count_words(self.embedded(passage))

    def kind(self, name: str) -> Any:
        return self.get(f"{name}Retriever")

    def index(self, name: str, documents: Sequence[Any], **options: Any) -> Any:
        """A retriever over documents; it embeds by words unless the options say otherwise."""
        if not {"embedding", "vectorstore", "vector_store"} & options.keys():
            options["embedding"] = self.embedding()
        return self.kind(name).from_documents(documents, **options)

    def load_index(self, name: str, path: Any, **options: Any) -> Any:
        return self.kind(name).load(path, **{"embedding": self.embedding(), **options})

    def blocking(self, engine: Any, seconds: float) -> Any:
        """An engine that takes so long to search."""
        engine.__dict__["seconds"] = seconds
        return engine

    def language_model(self, script: Callable[[str], str]) -> Any:
        """`model` as the core takes it, by a name that stays."""
        return self.get(f"{self.prefix}Model")(self.model(script), "scripted")

    def language(self, model: Any, **options: Any) -> Any:
        """A language model of the framework as the core takes it."""
        return self.get(f"{self.prefix}Model")(getattr(model, "host", model), **options)

    def embedder(self, model: Any, **options: Any) -> Any:
        """An embedding model of the framework as the core takes it."""
        return self.get(f"{self.prefix}Embedder")(model, **options)

    def batch_sizes(self, store: Any) -> list[int]:
        """How many entries a store of `store()` is given at once, from now on."""
        sizes: list[int] = []
        add = getattr(store, self.adding)

        def counted(entries: Any, *args: Any, **options: Any) -> Any:
            sizes.append(len(entries))
            return add(entries, *args, **options)

        object.__setattr__(store, self.adding, counted)
        return sizes


class LangChain(Framework):
    package = langchain_structrag
    bridges = langchain_structrag.bridges
    name = "langchain"
    prefix = "LangChain"
    adding = "add_documents"
    kept = "store"
    embedding_name = "embedding"
    k_name = "k"
    store_name = "vectorstore"
    counter_name = "counter"
    counter = staticmethod(count_words)
    strip_name = "strip_whitespace"
    file_key = path_key = "source"

    def document(self, text: str, id: str = "", **metadata: Any) -> Any:
        return langchain_core.documents.Document(text, id=id or None, metadata=metadata)

    def passage(self, host: Any) -> Passage:
        facts = host.metadata
        start, end = facts.get("start_index"), facts.get("end_index")
        score = facts.get("score")
        return Passage(
            host.page_content,
            facts.get("doc_id"),
            start,
            end,
            facts,
            host.id,
            score,
            host,
        )

    def embedding(self) -> Any:
        """An embedding model of the framework: bags of words."""
        return BagOfWords()

    def model(self, script: Callable[[str], str]) -> Any:
        """A language model of the framework that answers a prompt by a function of it."""
        return Scripted(script=script)

    def engine(self, hosts: Sequence[Any]) -> Any:
        """A retriever of the framework by common words."""
        return LangChainWords(documents=list(hosts))

    def results_as(self, kind: str, retriever: Any) -> list[Any]:
        """What an engine over a retriever's segments gives: them, them without ids, or chunks that
        have a place alone."""
        if kind == "by its place":
            core = retriever.index.store.chunks()
            return [
                self.document(one.index_text, start_index=one.start, doc_id=one.doc_id)
                for one in core
            ]
        segments = retriever.segments()
        if kind == "without ids":
            return [self.document(one.page_content, **one.metadata) for one in segments]
        return list(segments)

    def seeing(self) -> Any:
        """A model that says what it is shown."""
        return LangChainSeeing(responses=[])

    def core_formatter(self, formatter: Any) -> Any:
        return formatter.core

    def format_file(self, formatter: Any, path: Any) -> list[Any]:
        return list(formatter.parse(Blob.from_path(path)))

    def chat(self, settings: ChatSettings, **fields: Any) -> Any:
        return LangChainChat(settings=settings, **fields)

    def transformers_model(self, model: Any, tokenizer: Any) -> Any:
        held = SimpleNamespace(model=model, tokenizer=tokenizer)
        return LangChainPipeline(pipeline=held)

    def different_embeddings(self) -> list[Any]:
        plain, prefixed, keyed = BagOfWords(), BagOfWords(), BagOfWords()
        prefixed.prefix, keyed.model_name, keyed.api_key = "query: ", "e5", "sk-secret"
        sizes = [DeterministicFakeEmbedding(size=size) for size in (4, 5)]
        return [plain, prefixed, keyed, *sizes]

    def with_encoder(self, encoder: Any) -> Any:
        """An embedding model that holds an encoder."""
        model = BagOfWords()
        model.client = encoder
        return model

    def hosted(self, embedder: Any) -> Any:
        """An embedder of the core as the framework's."""
        return self.get("StructragEmbeddings")(embedder)

    def vectors(self, hosted: Any, texts: list[str]) -> Any:
        return hosted.embed_documents(texts)

    async def avectors(self, hosted: Any, texts: list[str]) -> Any:
        return await hosted.aembed_documents(texts)

    def query_vector(self, hosted: Any, text: str) -> Any:
        return hosted.embed_query(text)

    def store(self, store: Any = None) -> dict[str, Any]:
        """Options with a vector store of the framework, by default one in memory."""
        return {"vectorstore": store or InMemoryVectorStore(BagOfWords())}

    def piece(self, text: str, start: int = 0, id: str = "", **metadata: Any) -> Any:
        """A chunk as another splitter gives it, with its place."""
        places = {"start_index": start, "end_index": start + len(text)}
        return self.document(text, id, **places, **metadata)

    def with_text(self, host: Any, text: str) -> Any:
        """A copy of a result with another text."""
        changed = host.model_copy()
        changed.page_content = text
        return changed

    def holding(self, encoder: Any) -> Any:
        """An embedding model that holds a SentenceTransformer."""
        model = BagOfWords()
        model._client = encoder.model
        model.embed_documents = lambda texts: encoder.embed(texts).tolist()
        return model

    def over(self, name: str, index: Any, **options: Any) -> Any:
        """A retriever over an index of the core."""
        return self.kind(name)(index=index, **options)

    def add(self, retriever: Any, documents: Sequence[Any]) -> Any:
        return retriever.add_documents(documents)

    async def aadd(self, retriever: Any, documents: Sequence[Any]) -> Any:
        return await retriever.aadd_documents(documents)

    def ask(self, retriever: Any, question: str, **limits: Any) -> list[Passage]:
        """The results; limits are `k` and `where`."""
        return self.passages(retriever.invoke(question, **limits))

    async def aask(self, retriever: Any, question: str, **limits: Any) -> list[Passage]:
        return self.passages(await retriever.ainvoke(question, **limits))

    def core(self, retriever: Any) -> Any:
        """The core's retriever inside."""
        return retriever._core()

    def shorten(
        self, hosts: Sequence[Any], question: str, **settings: Any
    ) -> list[Passage]:
        """Results shortened to the evidence in them."""
        compressor = self.get("EvidenceCompressor")(**settings)
        return self.passages(compressor.compress_documents(hosts, question))

    async def ashorten(
        self, hosts: Sequence[Any], question: str, **settings: Any
    ) -> list[Passage]:
        compressor = self.get("EvidenceCompressor")(**settings)
        return self.passages(await compressor.acompress_documents(hosts, question))

    def self_ask(self, retriever: Any, llm: Any, **settings: Any) -> Any:
        return self.get("SelfAsk")(retriever, llm, **settings)

    def answer(self, chain: Any, question: str, where: Any = None) -> dict[str, Any]:
        """`answer`, `evidence`, `trace`, `stopped`, `cost` and `failures` of self-ask."""
        output = chain.invoke(question, where=where)
        return {**output, "evidence": self.passages(output["evidence"])}

    async def aanswer(self, chain: Any, question: str) -> dict[str, Any]:
        output = await chain.ainvoke(question)
        return {**output, "evidence": self.passages(output["evidence"])}

    def about(self, tool: Any) -> tuple[str, str, list[str]]:
        """Name, description and arguments of a tool."""
        return tool.name, tool.description, list(tool.args)

    def call(self, tool: Any, **arguments: Any) -> str:
        return str(tool.invoke(arguments))

    async def acall(self, tool: Any, **arguments: Any) -> str:
        return str(await tool.ainvoke(arguments))

    def splitter_class(self, name: str) -> Any:
        return self.get("HiQATransformer" if name == "HiQA" else f"{name}TextSplitter")

    def splitter(self, name: str, size: int | None = None, **settings: Any) -> Any:
        """A splitter that measures words."""
        sizes = {} if size is None else {"chunk_size": size}
        make = self.splitter_class(name)
        return make(**sizes, length_function=count_words, **settings)

    def split_all(self, splitter: Any, documents: Any) -> list[Any]:
        """The framework's own chunks."""
        return splitter.split_documents(documents)

    async def asplit(self, splitter: Any, *documents: Any) -> list[Passage]:
        return self.passages(await splitter.atransform_documents(list(documents)))

    def embedded(self, passage: Passage) -> str:
        """What is embedded of a chunk."""
        return passage.host.page_content

    def enrich(self, hosts: Sequence[Any], **settings: Any) -> list[Any]:
        """Chunks enriched by IDMS, twice: sync and async."""
        transformer = self.get("IDMSEnrichmentTransformer")(**settings)
        enriched = list(transformer.transform_documents(hosts))
        assert asyncio.run(transformer.atransform_documents(hosts)) == enriched
        return enriched

    def load(self, path: Any, **options: Any) -> list[Any]:
        return list(self.get("StructragLoader")(path, **options).load())

    def lazy_load(self, path: Any) -> Iterator[Any]:
        return iter(self.get("StructragLoader")(path).lazy_load())

    async def aload(self, path: Any) -> list[Any]:
        return list(await self.get("StructragLoader")(path).aload())

    def read(self, passage: Passage) -> str:
        """What a language model reads of a chunk, without metadata."""
        return passage.text

    def to_core(self, host: Any) -> Any:
        return langchain_structrag.conversion.to_core(host)

    def first_arguments(self, name: str) -> list[Any]:
        """Those without which a class cannot be made."""
        first = {
            "ImageDescriber": self.seeing,
            "LangChainEmbedder": self.embedding,
            "LangChainModel": self.seeing,
            "SelfAsk": lambda: self.engine([]),
            "StructragEmbeddings": lambda: HashEmbedder(),
            "StructragLoader": lambda: "docs",
        }
        return [first[name]()] if name in first else []

    def format(self, formatter: Any, *documents: Any) -> list[Any]:
        return list(formatter.transform_documents(documents))


class LlamaIndex(Framework):
    package = llama_index_structrag
    bridges = llama_index_structrag.bridges
    name = "llama_index"
    prefix = "LlamaIndex"
    adding = "add"
    kept = "nodes"
    embedding_name = "embed_model"
    k_name = "similarity_top_k"
    store_name = "vector_store"
    counter_name = "tokenizer"
    counter = staticmethod(str.split)
    strip_name = "strip"
    file_key = "file_name"
    path_key = "file_path"

    def document(self, text: str, id: str = "", **metadata: Any) -> Any:
        named = {"id_": id} if id else {}
        return llama_index.core.Document(text=text, metadata=metadata, **named)

    def passage(self, host: Any) -> Passage:
        score = host.score if isinstance(host, NodeWithScore) else 0.0
        node = host.node if isinstance(host, NodeWithScore) else host
        start = getattr(node, "start_char_idx", None)
        end = getattr(node, "end_char_idx", None)
        text = node.get_content(metadata_mode=MetadataMode.NONE)
        return Passage(
            text,
            node.ref_doc_id,
            start,
            end,
            HitMetadata(node.metadata),  # as nodes of hits are compared
            node.node_id,
            score,
            host,
        )

    def embedding(self) -> Any:
        return HashEmbedding()

    def model(self, script: Callable[[str], str]) -> Any:
        return ScriptedLLM(script=script)

    def engine(self, hosts: Sequence[Any]) -> Any:
        return LlamaIndexWords(hosts)

    def results_as(self, kind: str, retriever: Any) -> list[Any]:
        segments = retriever.segments()
        if kind == "without ids":
            return [TextNode(text=one.text, metadata=one.metadata) for one in segments]
        if kind == "by its place":
            core = retriever.index.store.chunks()
            return [
                TextNode(
                    text=chunk.index_text,
                    start_char_idx=chunk.start,
                    end_char_idx=chunk.end,
                    relationships=segment.relationships,
                )
                for chunk, segment in zip(core, segments, strict=True)
            ]
        return list(segments)

    def seeing(self) -> Any:
        return LlamaIndexSeeing()

    def core_formatter(self, formatter: Any) -> Any:
        return formatter._core()

    def format_file(self, formatter: Any, path: Any) -> list[Any]:
        return list(formatter.load_data(path))

    def chat(self, settings: ChatSettings, **fields: Any) -> Any:
        return LlamaIndexChat(settings=settings, **fields)

    def transformers_model(self, model: Any, tokenizer: Any) -> Any:
        return LlamaIndexLocal(model, tokenizer)

    def different_embeddings(self) -> list[Any]:
        settings: list[dict[str, Any]] = [
            {},
            {"dimensions": 8},
            {"model_name": "other"},
        ]
        mocks = [MockEmbedding(embed_dim=size) for size in (8, 9)]
        return [*(HashEmbedding(**one) for one in settings), *mocks]

    def with_encoder(self, encoder: Any) -> Any:
        return Holding(encoder)

    def hosted(self, embedder: Any) -> Any:
        return self.get("StructragEmbedding")(embedder)

    def vectors(self, hosted: Any, texts: list[str]) -> Any:
        return hosted.get_text_embedding_batch(texts)

    async def avectors(self, hosted: Any, texts: list[str]) -> Any:
        return await hosted.aget_text_embedding_batch(texts)

    def query_vector(self, hosted: Any, text: str) -> Any:
        return hosted.get_query_embedding(text)

    def store(self, store: Any = None) -> dict[str, Any]:
        store = store or ListStore(nodes={}, queries=[])
        return {"embed_model": HashEmbedding(), "vector_store": store}

    def piece(self, text: str, start: int = 0, id: str = "", **metadata: Any) -> Any:
        named = {"id_": id} if id else {}
        places = {"start_char_idx": start, "end_char_idx": start + len(text)}
        return TextNode(text=text, metadata=metadata, **places, **named)

    def with_text(self, host: Any, text: str) -> Any:
        changed = host.model_copy(deep=True)
        changed.node.set_content(text)
        return changed

    def holding(self, encoder: Any) -> Any:
        return Holding(encoder.model)

    def over(self, name: str, index: Any, **options: Any) -> Any:
        return self.kind(name).from_index(index, **options)

    def add(self, retriever: Any, documents: Sequence[Any]) -> Any:
        return retriever.add(documents)

    async def aadd(self, retriever: Any, documents: Sequence[Any]) -> Any:
        return await retriever.aadd(documents)

    def ask(self, retriever: Any, question: str, **limits: Any) -> list[Passage]:
        return self.passages(_limited(retriever, **limits).retrieve(question))

    async def aask(self, retriever: Any, question: str, **limits: Any) -> list[Passage]:
        return self.passages(await _limited(retriever, **limits).aretrieve(question))

    def core(self, retriever: Any) -> Any:
        return retriever.retriever

    def shorten(
        self, hosts: Sequence[Any], question: str, **settings: Any
    ) -> list[Passage]:
        postprocessor = self.get("EvidencePostprocessor")(**settings)
        scored = [
            host if isinstance(host, NodeWithScore) else NodeWithScore(node=host)
            for host in hosts
        ]
        nodes = postprocessor.postprocess_nodes(scored, query_str=question)
        return self.passages(nodes)

    async def ashorten(
        self, hosts: Sequence[Any], question: str, **settings: Any
    ) -> list[Passage]:
        postprocessor = self.get("EvidencePostprocessor")(**settings)
        scored = [NodeWithScore(node=host) for host in hosts]
        shorten = postprocessor.apostprocess_nodes
        return self.passages(await shorten(scored, query_str=question))

    def self_ask(self, retriever: Any, llm: Any, **settings: Any) -> Any:
        return self.get("SelfAskQueryEngine")(retriever, llm, **settings)

    def answer(self, chain: Any, question: str, where: Any = None) -> dict[str, Any]:
        if where is not None:
            chain.retriever.where = where
        return self._told(chain.query(question))

    async def aanswer(self, chain: Any, question: str) -> dict[str, Any]:
        return self._told(await chain.aquery(question))

    def _told(self, response: Any) -> dict[str, Any]:
        evidence = self.passages(response.source_nodes)
        return {"answer": response.response, "evidence": evidence, **response.metadata}

    def about(self, tool: Any) -> tuple[str, str, list[str]]:
        facts = tool.metadata
        arguments = list(facts.get_parameters_dict()["properties"])
        return facts.name, facts.description, arguments

    def call(self, tool: Any, **arguments: Any) -> str:
        return str(tool.call(**arguments))

    async def acall(self, tool: Any, **arguments: Any) -> str:
        return str(await tool.acall(**arguments))

    def splitter_class(self, name: str) -> Any:
        return self.get(f"{name}NodeParser")

    def splitter(self, name: str, size: int | None = None, **settings: Any) -> Any:
        sizes = {} if size is None else {"chunk_size": size}
        if "embedding" in settings:
            settings["embed_model"] = settings.pop("embedding")
        make = self.splitter_class(name)
        return make(**sizes, tokenizer=str.split, **settings)

    def split_all(self, splitter: Any, documents: Any) -> list[Any]:
        return splitter.get_nodes_from_documents(documents)

    async def asplit(self, splitter: Any, *documents: Any) -> list[Passage]:
        nodes = await splitter.aget_nodes_from_documents(list(documents))
        return self.passages(nodes)

    def embedded(self, passage: Passage) -> str:
        shown = passage.host.get_content(metadata_mode=MetadataMode.EMBED)
        return shown.removeprefix("heading_context: ")

    def enrich(self, hosts: Sequence[Any], **settings: Any) -> list[Any]:
        if "embedding" in settings:
            settings["embed_model"] = settings.pop("embedding")
        component = self.get("IDMSEnrichment")(**settings)
        enriched = list(component(hosts))
        assert asyncio.run(component.acall(hosts)) == enriched
        return enriched

    def load(self, path: Any, **options: Any) -> list[Any]:
        return list(self.get("StructragReader")(**options).load_data(path))

    def lazy_load(self, path: Any) -> Iterator[Any]:
        return iter(self.get("StructragReader")().lazy_load_data(path))

    async def aload(self, path: Any) -> list[Any]:
        return list(await self.get("StructragReader")().aload_data(path))

    def read(self, passage: Passage) -> str:
        host = getattr(passage.host, "node", passage.host)  # of a result
        node = host.model_copy(deep=True)
        shown = ("heading_context", "segment_index_text", "segment_text")
        node.excluded_llm_metadata_keys += [
            key for key in node.metadata if key not in shown
        ]
        return node.get_content(MetadataMode.LLM).removeprefix("heading_context: ")

    def to_core(self, host: Any) -> Any:
        return llama_index_structrag.conversion.index_document(host)

    def first_arguments(self, name: str) -> list[Any]:
        first: dict[str, Any] = {
            "ImageDescriber": self.seeing,
            "LlamaIndexEmbedder": self.embedding,
            "LlamaIndexModel": self.seeing,
            "StructragEmbedding": lambda: HashEmbedder(),
        }
        if name in first:
            return [first[name]()]
        return [None] if name.endswith(("Retriever", "Engine")) else []

    def format(self, formatter: Any, *documents: Any) -> list[Any]:
        return list(formatter(documents))


@dataclass
class ChatSettings:
    """What a chat model of the tests answers, and what it was called with."""

    answer: str = "an answer"
    tokens: tuple[int, int] | None = None  # of prompt and answer, as reported
    logprobs: dict[str, float] | None = None  # of first tokens
    refuses: str = ""  # a parameter that it does not take
    parameters: list[dict[str, Any]] = field(default_factory=list)  # of all calls
    taken: list[dict[str, Any]] = field(
        default_factory=list
    )  # of those that were answered

    def called(self, parameters: dict[str, Any]) -> None:
        self.parameters.append(parameters)
        if self.refuses in parameters:
            raise TypeError(f"unexpected keyword argument {self.refuses!r}")
        self.taken.append(parameters)


class Chat:
    """A chat model of a framework; `host` is the framework's object."""

    def __init__(
        self,
        framework: Any,
        *,
        model: str = "chat-1",
        temperature: float = 0.2,
        seed: int = 0,
        server: str = "http://localhost:1/v1",
        **settings: Any,
    ) -> None:
        self.settings = ChatSettings(**settings)
        self.host = framework.chat(
            self.settings,
            model=model,
            temperature=temperature,
            seed=seed,
            base_url=server,
        )

    def __getattr__(self, name: str) -> Any:
        return getattr(self.settings, name)


class LangChainChat(BaseChatModel):
    model: str
    temperature: float
    seed: int
    base_url: str
    api_key: str = "sk-secret"
    settings: Any = Field(exclude=True)

    @property
    def _llm_type(self) -> str:
        return "fake"

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        chat = self.settings
        chat.called(kwargs)
        told: dict[str, Any] = {}
        if chat.tokens:
            told["usage_metadata"] = {
                "input_tokens": chat.tokens[0],
                "output_tokens": chat.tokens[1],
                "total_tokens": sum(chat.tokens),
            }
        if chat.logprobs and "logprobs" in kwargs:
            top = [
                {"token": token, "logprob": value}
                for token, value in chat.logprobs.items()
            ]
            first = {**top[0], "top_logprobs": top}
            told["response_metadata"] = {"logprobs": {"content": [first]}}
        message = AIMessage(content=chat.answer, **told)
        return ChatResult(generations=[ChatGeneration(message=message)])


def by_words(query: str, texts: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of texts and how many words of the query they have, best first."""
    wanted = set(re.findall(r"\w+", query.lower()))
    counts = [len(wanted & set(re.findall(r"\w+", text.lower()))) for text in texts]
    best = sorted(range(len(texts)), key=lambda place: -counts[place])
    return [(place, counts[place]) for place in best[:50] if counts[place]]


class LangChainWords(BaseRetriever):
    documents: list[Any]
    seconds: float = 0.0

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Any]:
        time.sleep(self.seconds)
        texts = [document.page_content for document in self.documents]
        return [self.documents[place] for place, _ in by_words(query, texts)]


class LlamaIndexWords(LlamaIndexRetriever):
    seconds = 0.0

    def __init__(self, nodes: Iterable[Any]) -> None:
        self.nodes = list(nodes)
        super().__init__()

    def _retrieve(self, query_bundle: Any) -> list[NodeWithScore]:
        time.sleep(self.seconds)
        texts = [node.get_content(MetadataMode.EMBED) for node in self.nodes]
        return [
            NodeWithScore(node=self.nodes[place], score=float(count))
            for place, count in by_words(query_bundle.query_str, texts)
        ]


class LangChainSeeing(FakeListChatModel):
    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        text, image = messages[0].content
        data = b64decode(image.get("base64", "")).decode()
        shown = image.get("url") or f"{image['mime_type']} {data}"
        message = AIMessage(content=f"{text['text']} {shown}")
        return ChatResult(generations=[ChatGeneration(message=message)])


class LlamaIndexSeeing(ScriptedLLM):
    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        text, image = messages[0].blocks
        data = b64decode(image.image or b"").decode()
        shown = str(image.url) if image.url else f"{image.image_mimetype} {data}"
        message = ChatMessage(role="assistant", content=f"{text.text} {shown}")
        return ChatResponse(message=message)


class LangChainPipeline(LLM):
    """Holds a pipeline of transformers, as HuggingFacePipeline does."""

    pipeline: Any = None
    model_id: str = "small"

    @property
    def _llm_type(self) -> str:
        return "pipeline"

    def _call(self, prompt: str, *args: Any, **kwargs: Any) -> str:
        return f"{prompt} Dogs."


class LlamaIndexChat(ScriptedLLM):
    model: str
    seed: int
    base_url: str
    settings: Any = Field(exclude=True)

    @property
    def metadata(self) -> LLMMetadata:
        return LLMMetadata(model_name=self.model, is_chat_model=True)

    def chat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        chat = self.settings
        chat.called(kwargs)
        told: dict[str, Any] = {}
        if chat.tokens:
            usage = zip(
                ("prompt_tokens", "completion_tokens"), chat.tokens, strict=True
            )
            told["raw"] = {"usage": dict(usage)}
        if chat.logprobs:
            told["logprobs"] = [
                [
                    LogProb(token=token, logprob=value)
                    for token, value in chat.logprobs.items()
                ]
            ]
        return ChatResponse(
            message=ChatMessage(content=chat.answer, role="assistant"), **told
        )

    async def achat(self, messages: Any, **kwargs: Any) -> ChatResponse:
        return self.chat(messages, **kwargs)


class LlamaIndexLocal(ScriptedLLM):
    """Keeps a model of transformers where HuggingFaceLLM does."""

    _model: Any = PrivateAttr()
    _tokenizer: Any = PrivateAttr()

    def __init__(self, model: Any, tokenizer: Any) -> None:
        super().__init__()
        self._model, self._tokenizer = model, tokenizer


class Holding(HashEmbedding):
    """Embeds by a SentenceTransformer, as HuggingFaceEmbedding does."""

    _model: Any = PrivateAttr()

    def __init__(self, model: Any) -> None:
        super().__init__(embed_batch_size=64)
        self._model = model

    def _vector(self, text: str) -> list[float]:
        vector: list[float] = self._model.encode([text])[0].tolist()
        return vector


def _limited(retriever: Any, k: float | None = None, where: Any = None) -> Any:
    """A retriever of LlamaIndex with limits that LangChain's take at the call."""
    limited = copy.copy(retriever)
    if k is not None:
        limited.similarity_top_k = k
    if where is not None:
        limited.where = where
    return limited


FRAMEWORKS: list[Framework] = [LangChain(), LlamaIndex()]
