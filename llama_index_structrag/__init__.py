"""structrag for LlamaIndex: node parsers and retrievers that follow a document's structure."""

from llama_index_structrag.d3 import D3Retriever
from llama_index_structrag.embedding import StructragEmbedding
from llama_index_structrag.events import (
    IndexBuildEndEvent,
    IndexBuildStartEvent,
    RetrievalCostEvent,
)
from llama_index_structrag.evidence import EvidencePostprocessor, EvidenceRetriever
from llama_index_structrag.formatting import HiQAFormatter
from llama_index_structrag.hiqa import HiQANodeParser
from llama_index_structrag.hiqa_retriever import HiQARetriever
from llama_index_structrag.idms import IDMSNodeParser
from llama_index_structrag.loading import StructragReader
from llama_index_structrag.models import LlamaIndexEmbedder, LlamaIndexModel
from llama_index_structrag.multihop import SelfAskQueryEngine, TwoHopRetriever
from llama_index_structrag.multiview import MultiViewRetriever
from llama_index_structrag.node_parsers import ContentAwareNodeParser, FixedNodeParser
from llama_index_structrag.pic import PICNodeParser
from llama_index_structrag.tree import TreeRetriever
from llama_index_structrag.vision import ImageDescriber

__all__ = [
    "ContentAwareNodeParser",
    "D3Retriever",
    "EvidencePostprocessor",
    "EvidenceRetriever",
    "FixedNodeParser",
    "HiQAFormatter",
    "HiQANodeParser",
    "HiQARetriever",
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
    "TreeRetriever",
    "TwoHopRetriever",
]
