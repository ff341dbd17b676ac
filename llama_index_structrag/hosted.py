"""Any LlamaIndex retriever as one of the core, for the parts that work over several searches."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from llama_index.core.base.base_retriever import BaseRetriever
from llama_index.core.schema import MetadataMode, NodeWithScore

from llama_index_structrag.keys import CONTEXT_KEY
from llama_index_structrag.retrieving import IndexRetriever
from structrag.errors import InvalidParameter
from structrag.hosts.retrievers import HostRetriever, passage
from structrag.records import Chunk, Hit
from structrag.retrieval.retriever import Retriever


async def aretrieved(retriever: BaseRetriever, query: str) -> list[NodeWithScore]:
    """What a retriever finds, by its own asynchronous call; in a worker thread where it has none."""
    if type(retriever)._aretrieve is BaseRetriever._aretrieve:
        return await asyncio.to_thread(retriever.retrieve, query)
    return await retriever.aretrieve(query)


@dataclass(frozen=True)
class Stepped:
    """A LlamaIndex retriever as the parts that work over several searches take it."""

    core: Retriever
    where: Any  # the condition on documents that it was made with
    nodes_of: Callable[[Sequence[Hit]], list[NodeWithScore]]  # from its hits to nodes


def stepped(retriever: Any) -> Stepped:
    """A retriever of this package by the core's, another LlamaIndex retriever by its own calls;
    InvalidParameter if it is none."""
    if isinstance(retriever, IndexRetriever):
        return Stepped(retriever.retriever, retriever.where, retriever.nodes_of)
    if not isinstance(retriever, BaseRetriever):
        raise InvalidParameter(
            f"retriever must be a LlamaIndex retriever; got {type(retriever).__name__}."
        )
    host = HostRetriever(
        type(retriever).__name__,
        retriever.retrieve,
        lambda question: aretrieved(retriever, question),
        chunk_of,
    )
    return Stepped(host, None, lambda hits: [_node_of(hit) for hit in hits])


def chunk_of(scored: NodeWithScore) -> Chunk:
    """A result of another retriever as a chunk; where its metadata has a heading path, that is its
    context."""
    node = scored.node
    return passage(
        node.node_id,
        node.ref_doc_id or node.node_id,
        node.get_content(metadata_mode=MetadataMode.NONE),
        start=getattr(node, "start_char_idx", None),
        context=str(node.metadata.get(CONTEXT_KEY, "")),
        extras={"node": scored},
    )


def _node_of(hit: Hit) -> NodeWithScore:
    """The node that `chunk_of` made the hit's chunk of."""
    node: NodeWithScore = hit.chunk.extras["node"]
    return node
