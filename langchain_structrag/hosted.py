"""LangChain retrievers as retrievers of the core, for the parts that search several times."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_structrag.conversion import digest, document_id
from langchain_structrag.models import inner_config
from structrag.context import SEPARATOR
from structrag.errors import InvalidParameter
from structrag.records import Chunk, Hit
from structrag.steps import Runner, Search, Steps

ROUTE = "host"


def stepped(retriever: BaseRetriever) -> tuple[Any, Callable[[Hit], Document]]:
    """A LangChain retriever as the core's multi-hop parts take it, and how its hits become documents.

    Raises InvalidParameter for anything else.
    """
    if not isinstance(retriever, BaseRetriever):
        raise InvalidParameter(f"retriever must be a LangChain retriever; got {type(retriever).__name__}.")
    own = getattr(retriever, "_stepped", None)
    return (HostRetriever(retriever), document_of) if own is None else own()


@dataclass(frozen=True)
class HostRetriever:
    """A LangChain retriever with `steps`, as the core's retrievers have them; each result is a hit, ranked as it came."""

    retriever: BaseRetriever
    runner: Runner = field(default_factory=Runner)

    def __post_init__(self) -> None:
        self.runner.routes[ROUTE] = self

    def steps(self, question: str, /, *, where: Any = None) -> Steps[list[Hit]]:
        """The results as hits. Raises InvalidParameter for a `where`, which only the retrievers of this package know."""
        if where is not None:
            raise InvalidParameter(
                f"where must be None with a {type(self.retriever).__name__}: only the retrievers of langchain_structrag take it. "
                "Set a filter in that retriever."
            )
        (found,) = yield [Search(ROUTE, question, None, 0)]
        return [Hit(chunk_of(document), 1 / rank, rank) for rank, document in enumerate(found, start=1)]

    def search(self, request: Search) -> Any:
        """The retriever's documents."""
        return self.retriever.invoke(request.query, inner_config())

    async def asearch(self, request: Search) -> Any:
        """`search` by the retriever's own async call."""
        return await self.retriever.ainvoke(request.query, inner_config())


def chunk_of(document: Document) -> Chunk:
    """A result of another retriever as a chunk; where its metadata has a heading path, that is its context."""
    path = document.metadata.get("heading_path")
    titles = tuple(map(str, path)) if isinstance(path, list | tuple) else ()
    start = document.metadata.get("start_index")
    start = start if isinstance(start, int) else 0
    return Chunk(
        id=str(document.id or digest(document)),
        doc_id=document_id(document),
        section_id="",
        start=start,
        end=start + len(document.page_content),
        text=document.page_content,
        context=SEPARATOR.join(titles),
        path=titles,
        extras={"id": document.id, "metadata": document.metadata},
    )


def document_of(hit: Hit) -> Document:
    """The document that `chunk_of` made the hit's chunk of."""
    extras = hit.chunk.extras
    return Document(page_content=hit.chunk.text, metadata=deepcopy(dict(extras["metadata"])), id=extras["id"])
