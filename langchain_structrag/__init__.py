"""Structure-aware splitters and retrievers for LangChain, over the core package `structrag`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from langchain_structrag.d3 import D3Retriever
    from langchain_structrag.evidence import EvidenceCompressor, EvidenceRetriever
    from langchain_structrag.formatting import HiQAFormatter
    from langchain_structrag.hiqa import HiQATransformer, ImageDescriber
    from langchain_structrag.hiqa_retriever import HiQARetriever
    from langchain_structrag.idms import IDMSEnrichmentTransformer, IDMSTextSplitter
    from langchain_structrag.loading import StructragLoader, StructragParser
    from langchain_structrag.models import (
        LangChainEmbedder,
        LangChainModel,
        StructragEmbeddings,
    )
    from langchain_structrag.multihop import SelfAsk
    from langchain_structrag.multiview import MultiViewRetriever
    from langchain_structrag.pic import PICTextSplitter
    from langchain_structrag.splitters import (
        ContentAwareTextSplitter,
        FixedTextSplitter,
    )

_HOMES = {
    "ContentAwareTextSplitter": "langchain_structrag.splitters",
    "D3Retriever": "langchain_structrag.d3",
    "EvidenceCompressor": "langchain_structrag.evidence",
    "EvidenceRetriever": "langchain_structrag.evidence",
    "FixedTextSplitter": "langchain_structrag.splitters",
    "HiQAFormatter": "langchain_structrag.formatting",
    "HiQARetriever": "langchain_structrag.hiqa_retriever",
    "HiQATransformer": "langchain_structrag.hiqa",
    "IDMSEnrichmentTransformer": "langchain_structrag.idms",
    "IDMSTextSplitter": "langchain_structrag.idms",
    "ImageDescriber": "langchain_structrag.hiqa",
    "LangChainEmbedder": "langchain_structrag.models",
    "LangChainModel": "langchain_structrag.models",
    "MultiViewRetriever": "langchain_structrag.multiview",
    "PICTextSplitter": "langchain_structrag.pic",
    "SelfAsk": "langchain_structrag.multihop",
    "StructragEmbeddings": "langchain_structrag.models",
    "StructragLoader": "langchain_structrag.loading",
    "StructragParser": "langchain_structrag.loading",
}
__all__ = [
    "ContentAwareTextSplitter",
    "D3Retriever",
    "EvidenceCompressor",
    "EvidenceRetriever",
    "FixedTextSplitter",
    "HiQAFormatter",
    "HiQARetriever",
    "HiQATransformer",
    "IDMSEnrichmentTransformer",
    "IDMSTextSplitter",
    "ImageDescriber",
    "LangChainEmbedder",
    "LangChainModel",
    "MultiViewRetriever",
    "PICTextSplitter",
    "SelfAsk",
    "StructragEmbeddings",
    "StructragLoader",
    "StructragParser",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
