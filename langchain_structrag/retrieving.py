"""What the retrievers share: an index of LangChain documents that can be made, changed, saved and
searched."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever, LangSmithRetrieverParams
from langchain_core.runnables import run_in_executor
from pydantic import Field, PrivateAttr
from typing_extensions import Self

from langchain_structrag.callbacks import inner_callbacks
from langchain_structrag.conversion import as_documents
from langchain_structrag.indexing import core_documents, load_index, make_index, vectorstore_of
from langchain_structrag.models import LangChainEmbedder
from langchain_structrag.results import hit_document
from structrag.hosts.failures import lost_retriever
from structrag.index.index import Index
from structrag.records import Hit
from structrag.retrieval.retriever import Retriever


class IndexRetriever(BaseRetriever):
    """A retriever over a structrag index. Subclasses say how it is searched, most by a retriever of
    the core with their own fields."""

    SETTINGS: ClassVar[tuple[str, ...]] = ()

    index: Any = Field(repr=False)
    """What is searched."""
    format: str = "auto"
    """Of the documents added: "markdown", "html", "text" or "auto"."""

    _known: tuple[dict[str, Any], Any] | None = PrivateAttr(None)

    def model_post_init(self, context: Any, /) -> None:
        """Refuse now what a search would refuse."""
        super().model_post_init(context)
        if self.SETTINGS:
            self._core()

    def _core(self) -> Any:
        """The retriever of the core, made anew when a field named in SETTINGS has changed."""
        settings = {name: getattr(self, name) for name in ("index", *self.SETTINGS)}
        if self._known is None or self._known[0] != settings:
            self._known = (
                settings,
                self._make_core({name: settings[name] for name in self.SETTINGS}),
            )
        return self._known[1]

    def _make_core(self, settings: dict[str, Any]) -> Any:
        """A retriever of the core over the index, with these settings."""
        raise NotImplementedError(
            f"{type(self).__name__} must define _make_core, since it names SETTINGS."
        )

    def _search(self, query: str, k: Any, where: Any) -> list[Hit]:
        """The hits for a query."""
        hits: list[Hit] = self._core().search(query, k, where=where)
        return hits

    async def _asearch(self, query: str, k: Any, where: Any) -> list[Hit]:
        """`_search` on an event loop."""
        hits: list[Hit] = await self._core().asearch(query, k, where=where)
        return hits

    def _document(self, hit: Hit) -> Document:
        """A hit as a plain document."""
        return hit_document(hit, self._searched().store)

    def _stepped(self) -> tuple[Retriever, Callable[[Hit], Document]]:
        """The retriever of the core, and how its hits become documents."""
        return self._core(), self._document

    def _searched(self) -> Index:
        """The index that the hits come from."""
        return self.index  # type: ignore[no-any-return]

    def _get_relevant_documents(
        self,
        query: str,
        *,
        run_manager: CallbackManagerForRetrieverRun,
        k: float | None = None,
        where: Any = None,
    ) -> list[Document]:
        with inner_callbacks(run_manager.get_child()):
            return [self._document(hit) for hit in self._search(query, k, where)]

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,
        k: float | None = None,
        where: Any = None,
    ) -> list[Document]:
        with inner_callbacks(run_manager.get_child()):
            return [self._document(hit) for hit in await self._asearch(query, k, where)]

    @classmethod
    def from_documents(
        cls, documents: Iterable[Document], embedding: Any = None, **options: Any
    ) -> Self:
        """Index documents and return a retriever over them.

        Args:
            documents: Whole documents, not chunks. A document's id is its own, else its source (and
                page or row), else derived from its content.
            embedding: LangChain `Embeddings`, or what structrag's `Index` takes; None: LSA, which
                needs no model. Where its object does not tell how much the model reads of a text:
                    `LangChainEmbedder(embeddings, max_tokens=512)`.
            options: The retriever's fields; `llm` (a LangChain model or chain that writes summaries
                and keywords; None: extractive), `vectorstore` (a LangChain `VectorStore` that keeps
                and embeds the views), `splitter` (one of this package, which then always indexes
                the heading path and counts it to its limit, or one of structrag), and the other
                arguments of structrag's `Index`: cache, language, batch_size, max_concurrency,
                max_calls, progress, prompts and so on.

        Raises:
            InvalidParameter: a setting is not allowed (a ValueError).
            ModelFailed, InvalidAnswer: the embedding model or the store raised, or gave no usable
                vectors. No retriever comes back, and only the `cache` is kept; `from_documents([],
                ...)` and `add_documents` keep the documents that were finished.
            BudgetExceeded: `max_calls` is reached; likewise.
        """
        retriever = cls._with_index(cls._new_index, {"embedding": embedding, **options})
        with lost_retriever("from_documents", "add_documents", options.get("cache")):
            retriever.add_documents(documents)
        return retriever

    @classmethod
    async def afrom_documents(
        cls, documents: Iterable[Document], embedding: Any = None, **options: Any
    ) -> Self:
        """`from_documents` on an event loop."""
        retriever = cls._with_index(cls._new_index, {"embedding": embedding, **options})
        with lost_retriever("afrom_documents", "aadd_documents", options.get("cache")):
            await retriever.aadd_documents(documents)
        return retriever

    @classmethod
    def from_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> Self:
        """`from_documents` for strings; `metadatas` is one mapping per text."""
        return cls.from_documents(as_documents(texts, metadatas), embedding, **options)

    @classmethod
    async def afrom_texts(
        cls,
        texts: Sequence[str],
        embedding: Any = None,
        metadatas: Sequence[Mapping[str, Any]] | None = None,
        **options: Any,
    ) -> Self:
        """`from_texts` on an event loop."""
        return await cls.afrom_documents(as_documents(texts, metadatas), embedding, **options)

    @classmethod
    def load(cls, path: str | os.PathLike[str], embedding: Any = None, **options: Any) -> Self:
        """A retriever over an index that `save` wrote, with the models it was built with; `options`
        as for `from_documents`."""
        return cls._with_index(
            partial(cls._opened_index, path), {"embedding": embedding, **options}
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
    def _with_index(cls, make: Any, options: dict[str, Any]) -> Self:
        """A retriever with what `make` returns; options that are fields of the class stay here,
        shared ones go to both."""
        fields = {name: value for name, value in options.items() if name in cls.model_fields}
        shared = cls._shared_options()
        index = make(
            **{
                name: value
                for name, value in options.items()
                if name not in fields or name in shared
            }
        )
        known = {name: getattr(index, name) for name in shared if hasattr(index, name)}
        return cls(index=index, **{**known, **fields})

    @classmethod
    def _shared_options(cls) -> tuple[str, ...]:
        """Fields that the index has too."""
        return ()

    def add_documents(self, documents: Iterable[Document]) -> Any:
        """Add whole documents. Unchanged ones cost nothing, one that changed under its id is
        replaced. Returns the index's report."""
        return self.index.add(core_documents(documents, self.format))

    async def aadd_documents(self, documents: Iterable[Document]) -> Any:
        """`add_documents` on an event loop."""
        return await self.index.aadd(core_documents(documents, self.format))

    def delete(self, ids: str | Sequence[str]) -> bool:
        """Remove documents (not chunks) by id, from every view; False if one was not there."""
        wanted = [ids] if isinstance(ids, str) else list(ids)
        deleted = [self.index.delete(name) for name in wanted]
        return all(deleted)

    async def adelete(self, ids: str | Sequence[str]) -> bool:
        """`delete` in a worker thread."""
        return await run_in_executor(None, self.delete, ids)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the index to a folder. Models and a host's stores are not part of it."""
        self.index.save(path)

    def _get_ls_params(self, **kwargs: Any) -> LangSmithRetrieverParams:
        params = super()._get_ls_params(**kwargs)
        embedder, store = self._searched().embedder, vectorstore_of(self._searched())
        if isinstance(embedder, LangChainEmbedder):
            params["ls_embedding_provider"] = type(embedder.embeddings).__name__
            params["ls_embedding_model"] = embedder.name
        if store is not None:
            params["ls_vector_store_provider"] = type(store).__name__
        return params
