"""structrag for LlamaIndex: node parsers and retrievers that follow a document's structure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from llama_index_structrag.d3 import D3Retriever
    from llama_index_structrag.events import (
        IndexBuildEndEvent,
        IndexBuildStartEvent,
        RetrievalCostEvent,
    )
    from llama_index_structrag.evidence import EvidencePostprocessor, EvidenceRetriever
    from llama_index_structrag.formatting import HiQAFormatter
    from llama_index_structrag.hiqa import HiQANodeParser, ImageDescriber
    from llama_index_structrag.hiqa_retriever import HiQARetriever
    from llama_index_structrag.idms import IDMSEnrichment, IDMSNodeParser
    from llama_index_structrag.loading import StructragReader
    from llama_index_structrag.models import (
        LlamaIndexEmbedder,
        LlamaIndexModel,
        StructragEmbedding,
    )
    from llama_index_structrag.multihop import SelfAskQueryEngine
    from llama_index_structrag.multiview import MultiViewRetriever
    from llama_index_structrag.node_parsers import (
        ContentAwareNodeParser,
        FixedNodeParser,
    )
    from llama_index_structrag.pic import PICNodeParser

_HOMES = {
    "ContentAwareNodeParser": "llama_index_structrag.node_parsers",
    "D3Retriever": "llama_index_structrag.d3",
    "EvidencePostprocessor": "llama_index_structrag.evidence",
    "EvidenceRetriever": "llama_index_structrag.evidence",
    "FixedNodeParser": "llama_index_structrag.node_parsers",
    "HiQAFormatter": "llama_index_structrag.formatting",
    "HiQANodeParser": "llama_index_structrag.hiqa",
    "HiQARetriever": "llama_index_structrag.hiqa_retriever",
    "IDMSEnrichment": "llama_index_structrag.idms",
    "IDMSNodeParser": "llama_index_structrag.idms",
    "ImageDescriber": "llama_index_structrag.hiqa",
    "IndexBuildEndEvent": "llama_index_structrag.events",
    "IndexBuildStartEvent": "llama_index_structrag.events",
    "LlamaIndexEmbedder": "llama_index_structrag.models",
    "LlamaIndexModel": "llama_index_structrag.models",
    "MultiViewRetriever": "llama_index_structrag.multiview",
    "PICNodeParser": "llama_index_structrag.pic",
    "RetrievalCostEvent": "llama_index_structrag.events",
    "SelfAskQueryEngine": "llama_index_structrag.multihop",
    "StructragEmbedding": "llama_index_structrag.models",
    "StructragReader": "llama_index_structrag.loading",
}
__all__ = [
    "ContentAwareNodeParser",
    "D3Retriever",
    "EvidencePostprocessor",
    "EvidenceRetriever",
    "FixedNodeParser",
    "HiQAFormatter",
    "HiQANodeParser",
    "HiQARetriever",
    "IDMSEnrichment",
    "IDMSNodeParser",
    "ImageDescriber",
    "IndexBuildEndEvent",
    "IndexBuildStartEvent",
    "LlamaIndexEmbedder",
    "LlamaIndexModel",
    "MultiViewRetriever",
    "PICNodeParser",
    "RetrievalCostEvent",
    "SelfAskQueryEngine",
    "StructragEmbedding",
    "StructragReader",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
