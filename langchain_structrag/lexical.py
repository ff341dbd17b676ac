"""Any LangChain retriever in the place of BM25, such as one over Elasticsearch or OpenSearch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from langchain_structrag.callbacks import inner_config
from langchain_structrag.conversion import document_id
from structrag.asking.requests import Ranking, Search
from structrag.hosts.metadata import CHUNK_KEY
from structrag.hosts.segments import EngineResult, segment_ranking
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

    def _ranking(self, documents: Sequence[Document]) -> Ranking:
        def describe_first() -> str:
            keys = sorted(map(str, documents[0].metadata))
            return (
                f"the id {documents[0].id!r} and metadata {keys}: it needs {CHUNK_KEY}, or doc_id "
                "(or source) and a start_index inside one segment"
            )

        results = [_engine_result(document) for document in documents]
        return segment_ranking(results, self.index.store, describe_first)


def _engine_result(document: Document) -> EngineResult:
    """What a LangChain document says of the segment that it is."""
    facts = list(_facts(document))
    named = next((fact for fact in facts if isinstance(fact.get(CHUNK_KEY), str)), {})
    placed = next((fact for fact in facts if isinstance(fact.get("start_index"), int)), {})
    return EngineResult(
        chunk_id=named.get(CHUNK_KEY),
        names=(document.id, document.metadata.get("_id")),
        doc_id=_parent_id(placed) if placed else None,
        start=placed.get("start_index"),
        end=placed.get("end_index"),
        score=next(
            (document.metadata[key] for key in SCORE_KEYS if key in document.metadata), None
        ),
    )


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
