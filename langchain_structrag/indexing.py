"""From LangChain's documents, models and stores to a structrag `Index`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from langchain_core.documents import Document
from langchain_core.vectorstores import VectorStore
from langchain_text_splitters import TextSplitter

import structrag.records as core
from langchain_structrag.conversion import as_host, check_documents
from langchain_structrag.hiqa import HiQATransformer
from langchain_structrag.models import as_embedder, as_language_model
from langchain_structrag.splitters import ContentAwareTextSplitter, FixedTextSplitter
from langchain_structrag.stores import LangChainDenseStore
from structrag.errors import InvalidParameter
from structrag.hosts.documents import read_document, with_own_names
from structrag.index.index import Index


def make_index(**options: Any) -> Index:
    """An empty index; takes what `index_options` takes."""
    return _bound(Index(**index_options(**options)), options)


def load_index(path: str | os.PathLike[str], *, verify: bool = False, **options: Any) -> Index:
    """A saved index with the models it was built with; takes what `index_options` takes besides."""
    return _bound(Index.load(path, verify=verify, **index_options(**options)), options)


def index_options(
    *,
    embedding: Any = None,
    llm: Any = None,
    splitter: Any = None,
    vectorstore: Any = None,
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
        chosen["dense_store"] = vectorstore if is_wrapped else LangChainDenseStore(vectorstore)
    return {**{name: value for name, value in chosen.items() if value is not None}, **options}


def core_documents(documents: Iterable[Document], format: str) -> Iterator[core.Document]:
    """Structrag documents, each with an id of its own."""
    for name, host in with_own_names(map(as_host, check_documents(documents))):
        yield read_document(host, format=format, id=name)


def vectorstore_of(index: Index) -> VectorStore | None:
    """The LangChain store an index searches, if it was given one."""
    store = index.dense_store
    return store.vectorstore if isinstance(store, LangChainDenseStore) else None


def _bound(index: Index, options: Mapping[str, Any]) -> Index:
    """The index, known to its store; the paper's indexes no heading path."""
    splitter = options.get("splitter")
    if index.preset == "paper" and isinstance(
        splitter, ContentAwareTextSplitter | FixedTextSplitter
    ):
        index.splitter = splitter.core
    if isinstance(index.dense_store, LangChainDenseStore):
        index.dense_store.index = index
    return index


def _core_splitter(splitter: Any) -> Any:
    """The splitter of the core; ours with the heading path, since their `add_context` is about
    `page_content`."""
    if isinstance(splitter, ContentAwareTextSplitter | FixedTextSplitter):
        return replace(splitter.core, context=True)
    if isinstance(splitter, HiQATransformer):
        return splitter.core
    if isinstance(splitter, TextSplitter) or (
        splitter is not None and not hasattr(splitter, "split")
    ):
        raise InvalidParameter(
            "splitter must be a ContentAwareTextSplitter, a FixedTextSplitter, a HiQATransformer "
            "or a splitter of structrag, which know "
            f"a document's sections; got {type(splitter).__name__}."
        )
    return splitter
