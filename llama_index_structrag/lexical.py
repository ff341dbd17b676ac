"""Any LlamaIndex retriever in the place of BM25, such as `BM25Retriever` or one over Elasticsearch
or OpenSearch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import (
    BaseNode,
    NodeRelationship,
    NodeWithScore,
    RelatedNodeInfo,
    TextNode,
)

from llama_index_structrag.hosted import aretrieved
from structrag.asking.requests import Ranking, Search
from structrag.errors import InvalidParameter
from structrag.hosts.metadata import CHUNK_KEY, DOCUMENT_KEY
from structrag.hosts.places import chunk_at
from structrag.index.index import Index
from structrag.index.store import Store


@dataclass(frozen=True)
class LexicalRoute:
    """A LlamaIndex retriever as a route of an index: its results are mapped back to the index's
    segments.

    A result is the segment that its node id or its metadata `structrag_chunk` names, else the one
    that holds its place: `ref_doc_id`, `start_char_idx` and `end_char_idx`. Results that are no
    segment (any more) are left out; InvalidParameter where none is one. Where a result has no
    score, all count by rank: 1, 1/2, 1/3.
    """

    retriever: BaseRetriever
    index: Index

    def search(self, request: Search) -> Ranking:
        """The segments found, best first. How many is the retriever's own setting."""
        return self._ranking(self.retriever.retrieve(request.query))

    async def asearch(self, request: Search) -> Ranking:
        """`search` by the retriever's own async call; in a worker thread where it has none."""
        return self._ranking(await aretrieved(self.retriever, request.query))

    def _ranking(self, found: Sequence[NodeWithScore]) -> Ranking:
        names = [self._segment(each.node) for each in found]
        if found and not any(names):
            first = found[0].node
            raise InvalidParameter(
                f"lexical must be a retriever over this index's segments; none of its {len(found)} "
                "results is one. The first has the id "
                f"{first.node_id!r}, ref_doc_id {first.ref_doc_id!r} and start_char_idx "
                f"{getattr(first, 'start_char_idx', None)!r}. "
                "Index what segments() gives."
            )
        scores = [each.score for each in found]
        told = [score for score in scores if score is not None]
        values = (
            told if len(told) == len(scores) else [1.0 / rank for rank in range(1, len(scores) + 1)]
        )
        return [(name, float(value)) for name, value in zip(names, values, strict=True) if name]

    def _segment(self, node: BaseNode) -> str | None:
        """The id of the segment; None if there is none."""
        store = self.index.store
        for name in (node.node_id, node.metadata.get(CHUNK_KEY)):
            if isinstance(name, str) and store.row_of(name) is not None:
                return name
        start, end = getattr(node, "start_char_idx", None), getattr(node, "end_char_idx", None)
        if node.ref_doc_id is None or start is None or end is None:
            return None
        chunk = chunk_at(store, node.ref_doc_id, start, end)
        return chunk.id if chunk else None


def segment_nodes(store: Store, view: str) -> list[TextNode]:
    """Every chunk as what is indexed of it in a view, under the chunk's id; chunks without the view
    are left out."""
    hidden = [CHUNK_KEY, DOCUMENT_KEY]
    nodes = []
    for row in range(len(store)):
        chunk, text = store.chunk(row), store.view_text(row, view)
        if text:
            nodes.append(
                TextNode(
                    id_=chunk.id,
                    text=text,
                    metadata={CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id},
                    excluded_embed_metadata_keys=list(hidden),
                    excluded_llm_metadata_keys=list(hidden),
                    relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.doc_id)},
                )
            )
    return nodes
