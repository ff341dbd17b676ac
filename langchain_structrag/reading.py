"""Base of the text splitters that call models: models, many documents, async."""

from __future__ import annotations

from collections import deque
from collections.abc import (
    AsyncIterator,
    Callable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import replace
from typing import Any, TypedDict

from langchain_core.documents import Document
from langchain_core.runnables import run_in_executor

from langchain_structrag.conversion import as_documents, check_documents, to_split
from langchain_structrag.models import models_of
from langchain_structrag.splitting import (
    ChunkNames,
    SplitterArguments,
    StructureSplitter,
)
from structrag.chunks.model_splitter import Explanation, ReadingSplitter
from structrag.integrations.arguments import LSA, chosen_embedding, with_one_embedder
from structrag.integrations.places import Origin
from structrag.integrations.splitters import (
    check_without_models,
    decides_on_vectors,
)
from structrag.model_calls.cache import Cache
from structrag.model_calls.requests import Progress
from structrag.model_calls.runner import Runner
from structrag.records import Chunk
from structrag.records import Document as CoreDocument


class EmbeddingNames(TypedDict, total=False):
    """Other names of `embedding`, which are taken as well."""

    embeddings: Any
    embed_model: Any
    embedder: Any


class ReadingArguments(EmbeddingNames, SplitterArguments, total=False):
    """Arguments of every splitter that calls models."""

    chunk_overlap: int
    cache: Cache | None
    batch_size: int
    max_concurrency: int
    progress: Progress | None


class PaperSizes(TypedDict, total=False):
    """Sizes of `paper`, which its splitter has as parameters of its own."""

    chunk_size: int
    min_chunk_size: int | None
    length_function: Callable[[str], int]
    add_context: bool


def taken_embedding(
    embedding: Any, settings: Mapping[str, Any]
) -> tuple[Any, dict[str, Any]]:
    """The embedding, by whichever name it came, and the other settings."""
    given = {} if embedding is None else {"embedding": embedding}
    read = with_one_embedder({**given, **settings}, "embedding")
    return read.pop("embedding", None), read


class ReadingTextSplitter(StructureSplitter):
    """Base of the splitters that call models. Documents are read in groups of limited size: the
    prompts of a group are sent together, its sentences in full batches.
    """

    core: ReadingSplitter

    def __init__(
        self,
        embedding: Any = None,
        llm: Any = None,
        *,
        cache: Cache | None = None,
        batch_size: int = 64,
        max_concurrency: int = 8,
        progress: Progress | None = None,
        **sizes: Any,
    ) -> None:
        super().__init__(**sizes)
        self._is_lsa_meant = isinstance(embedding, str) and embedding == LSA
        embedding = None if self._is_lsa_meant else embedding
        self._models = models_of(
            embedding,
            llm,
            cache=cache,
            batch_size=batch_size,
            max_concurrency=max_concurrency,
            progress=progress,
        )
        self._runner()

    def explain(self, document: Document | str) -> Explanation:
        """The numbers behind the cuts of a document, with the chunks."""
        parent = (
            Document(page_content=document) if isinstance(document, str) else document
        )
        return self.core.explain(
            to_split(parent, format=self._format)[0], runner=self._runner()
        )

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """The chunks of every document, in order. The documents are not changed."""
        if self._has_own_split_text():
            return super().split_documents(documents)  # which checks them
        return list(self.lazy_split_documents(check_documents(documents)))

    def lazy_split_documents(self, documents: Iterable[Document]) -> Iterator[Document]:
        """`split_documents` as a generator, which holds only a few documents at a time."""
        queue, names = DocumentQueue(documents, self._format), ChunkNames()
        for chunks in self.core.split_all(queue, runner=self._told_runner()):
            yield from names.numbered(self._chunk_documents(*queue.next(), chunks))

    async def asplit_documents(self, documents: Iterable[Document]) -> list[Document]:
        """`split_documents` on an event loop, by the models' own async calls."""
        if self._has_own_split_text():
            return await run_in_executor(None, self.split_documents, documents)
        return [
            chunk
            async for chunk in self.alazy_split_documents(check_documents(documents))
        ]

    async def alazy_split_documents(
        self, documents: Iterable[Document]
    ) -> AsyncIterator[Document]:
        """`lazy_split_documents` on an event loop."""
        queue, names = DocumentQueue(documents, self._format), ChunkNames()
        async for chunks in self.core.asplit_all(queue, runner=self._told_runner()):
            for chunk in names.numbered(self._chunk_documents(*queue.next(), chunks)):
                yield chunk

    async def asplit_text(self, text: str) -> list[str]:
        """`split_text` on an event loop."""
        chunks = await self.asplit_documents([Document(page_content=text)])
        return [chunk.page_content for chunk in chunks]

    async def acreate_documents(
        self, texts: list[str], metadatas: list[dict[Any, Any]] | None = None
    ) -> list[Document]:
        """`create_documents` on an event loop."""
        return await self.asplit_documents(as_documents(texts, metadatas))

    async def atransform_documents(
        self, documents: Sequence[Document], **kwargs: Any
    ) -> Sequence[Document]:
        """`transform_documents` on an event loop."""
        return await self.asplit_documents(documents)

    def _split(self, document: CoreDocument) -> list[Chunk]:
        return self.core.split(document, runner=self._told_runner())

    def indexing_core(self) -> Any:
        """The core's splitter for an index, which uses the models of the index. It adds heading
        paths if chunks end at sections."""
        models = self._models["embedder"], self._models["llm"]
        check_without_models(self, "splitter", "embedding", *models)
        return self._with_path()

    def _with_path(self) -> Any:
        core: Any = self.core
        return replace(core, context=core.respect_sections)

    def _told_runner(self) -> Runner:
        """`_runner`, after a warning where LSA takes the place of a model."""
        has_model = self._models["embedder"] is not None or self._is_lsa_meant
        core = getattr(self.core, "splitter", self.core)
        if not has_model and decides_on_vectors(core):
            chosen_embedding("embedding", None)
        return self._runner()

    def _runner(self) -> Runner:
        return Runner(**self._models)


class DocumentQueue:
    """Documents as they are read, with their parents until results are there."""

    def __init__(self, documents: Iterable[Document], format: str) -> None:
        self._documents = iter(documents)
        self._format = format
        self._waiting: deque[tuple[Document, CoreDocument, Origin]] = deque()

    def __iter__(self) -> Iterator[CoreDocument]:
        for document in self._documents:
            source, parent = to_split(document, format=self._format)
            self._waiting.append((document, source, parent))
            yield source

    def next(self) -> tuple[Document, CoreDocument, Origin]:
        """The document that the next result belongs to. As it came, and as it was split."""
        return self._waiting.popleft()
