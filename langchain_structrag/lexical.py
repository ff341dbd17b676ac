"""Any LangChain retriever in the place of BM25, such as one over Elasticsearch or OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_structrag.callbacks import inner_config
from langchain_structrag.conversion import document_id
from structrag.asking.requests import Ranking, Search
from structrag.errors import InvalidParameter
from structrag.hosts.metadata import CHUNK_KEY
from structrag.hosts.places import chunk_at
from structrag.index.index import Index

SCORE_KEYS = (
    "_score",
    "score",
    "relevance_score",
)  # where retrievers put a result's score in its metadata


@dataclass(frozen=True)
class LexicalRoute:
    """A LangChain retriever as a route of an index: its results are mapped back to the index's
    segments.

    A result is the segment that its metadata's `structrag_chunk` or its own id names (also within
    Elasticsearch's `_id` and `_source`), else the one that holds its place: `doc_id` (or what makes
    a document's id, such as `source`), `start_index` and, if known, `end_index`.
    Segments that the index no longer has are left out.

    Its scores are taken where all results have one that does not rise; else the first counts 1, the
    second 1/2, the third 1/3.
    """

    retriever: BaseRetriever
    index: Index

    def search(self, request: Search) -> Ranking:
        """The segments found, best first. How many is the retriever's own setting."""
        return self._ranking(self.retriever.invoke(request.query, inner_config()))

    async def asearch(self, request: Search) -> Ranking:
        """`search` by the retriever's own async call."""
        return self._ranking(await self.retriever.ainvoke(request.query, inner_config()))

    def _ranking(self, found: Sequence[Document]) -> Ranking:
        scores = scores_of(found)
        names = [self._segment(document) for document in found]
        if found and not any(names):
            keys = sorted(map(str, found[0].metadata))
            raise InvalidParameter(
                f"lexical must be a retriever over this index's segments; none of its {len(found)} "
                "results is one. The first has the id "
                f"{found[0].id!r} and metadata {keys}: it needs {CHUNK_KEY}, or doc_id (or source) "
                "and a start_index inside one segment. "
                "Index what segments() gives."
            )
        return [(name, score) for name, score in zip(names, scores, strict=True) if name]

    def _segment(self, document: Document) -> str | None:
        """The id of the segment; None if there is none."""
        for facts in _facts(document):
            if isinstance(facts.get(CHUNK_KEY), str):
                return str(facts[CHUNK_KEY])
        for name in (document.id, document.metadata.get("_id")):
            if isinstance(name, str) and self.index.store.row_of(name) is not None:
                return name
        for facts in _facts(document):
            start, end = facts.get("start_index"), facts.get("end_index")
            if isinstance(start, int):
                chunk = chunk_at(
                    self.index.store,
                    _parent_id(facts),
                    start,
                    end if isinstance(end, int) else start,
                )
                return chunk.id if chunk else None
        return None


def scores_of(documents: Sequence[Document]) -> list[float]:
    """One score a result: those in the metadata if each has one and they do not rise, else 1 /
    rank."""
    told = [
        next((d.metadata[key] for key in SCORE_KEYS if key in d.metadata), None) for d in documents
    ]
    numbers = [float(score) for score in told if isinstance(score, int | float)]
    if len(numbers) == len(documents) and all(a >= b for a, b in pairwise(numbers)):
        return numbers
    return [1.0 / rank for rank in range(1, len(documents) + 1)]


def _facts(document: Document) -> Iterator[Mapping[str, Any]]:
    """Where a result may say what it is: its metadata, and what Elasticsearch's retriever puts
    inside."""
    yield document.metadata
    source = document.metadata.get("_source")
    if isinstance(source, Mapping):
        yield source
        if isinstance(source.get("metadata"), Mapping):
            yield source["metadata"]


def _parent_id(facts: Mapping[str, Any]) -> str:
    """The id of the document that a result is a part of."""
    if isinstance(facts.get("doc_id"), str):
        return str(facts["doc_id"])
    of_parent = {
        key: value for key, value in facts.items() if key not in ("start_index", "end_index")
    }
    return document_id(Document(page_content="", metadata=of_parent))
