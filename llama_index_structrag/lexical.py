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
from structrag.hosts.metadata import CHUNK_KEY, DOCUMENT_KEY
from structrag.hosts.segments import EngineResult, indexed_segments, segment_ranking
from structrag.index.index import Index
from structrag.index.store import Store


@dataclass(frozen=True)
class LexicalRoute:
    """A LlamaIndex retriever as a route of an index: its results are mapped back to the index's
    segments.

    A result is the segment that its node id or its metadata `structrag_chunk` names, else the one
    that holds its place: `ref_doc_id`, `start_char_idx` and `end_char_idx`. Results that are no
    segment (any more) are left out; InvalidParameter where none is one. Where a result has no
    score, or scores rise, all count by rank: 1, 1/2, 1/3.
    """

    retriever: BaseRetriever
    index: Index

    def search(self, request: Search) -> Ranking:
        """The segments found, best first. How many is the retriever's own setting."""
        return self._ranking(self.retriever.retrieve(request.query))

    async def asearch(self, request: Search) -> Ranking:
        """`search` by the retriever's own async call; in a worker thread where it has none."""
        return self._ranking(await aretrieved(self.retriever, request.query))

    def _ranking(self, nodes: Sequence[NodeWithScore]) -> Ranking:
        def describe_first() -> str:
            node = nodes[0].node
            return (
                f"the id {node.node_id!r}, ref_doc_id {node.ref_doc_id!r} and start_char_idx "
                f"{getattr(node, 'start_char_idx', None)!r}"
            )

        results = [_engine_result(scored.node, scored.score) for scored in nodes]
        return segment_ranking(results, self.index.store, describe_first)


def _engine_result(node: BaseNode, score: float | None) -> EngineResult:
    """What a node says of the segment that it is."""
    return EngineResult(
        chunk_id=node.metadata.get(CHUNK_KEY),
        names=(node.node_id,),
        doc_id=node.ref_doc_id,
        start=getattr(node, "start_char_idx", None),
        end=getattr(node, "end_char_idx", None),
        score=score,
    )


def segment_nodes(store: Store, view: str) -> list[TextNode]:
    """Every chunk as what is indexed of it in a view, under the chunk's id; chunks without the view
    are left out."""
    hidden = [CHUNK_KEY, DOCUMENT_KEY]
    return [
        TextNode(
            id_=chunk.id,
            text=text,
            metadata={CHUNK_KEY: chunk.id, DOCUMENT_KEY: chunk.doc_id},
            excluded_embed_metadata_keys=list(hidden),
            excluded_llm_metadata_keys=list(hidden),
            relationships={NodeRelationship.SOURCE: RelatedNodeInfo(node_id=chunk.doc_id)},
        )
        for chunk, text in indexed_segments(store, view)
    ]
