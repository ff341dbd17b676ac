"""Structure-aware splitters and retrievers for LangChain, over the core package `structrag`."""

from langchain_structrag.d3 import D3Retriever
from langchain_structrag.embedding import StructragEmbeddings
from langchain_structrag.evidence import EvidenceCompressor, EvidenceRetriever
from langchain_structrag.formatting import HiQAFormatter
from langchain_structrag.hiqa import HiQATransformer
from langchain_structrag.hiqa_retriever import HiQARetriever
from langchain_structrag.idms import IDMSTextSplitter
from langchain_structrag.loading import StructragLoader, StructragParser
from langchain_structrag.models import LangChainEmbedder, LangChainModel
from langchain_structrag.multihop import SelfAsk, TwoHopRetriever
from langchain_structrag.multiview import MultiViewRetriever
from langchain_structrag.pic import PICTextSplitter
from langchain_structrag.splitters import ContentAwareTextSplitter, FixedTextSplitter
from langchain_structrag.tree import TreeRetriever
from langchain_structrag.vision import ImageDescriber

__all__ = [
    "ContentAwareTextSplitter",
    "D3Retriever",
    "EvidenceCompressor",
    "EvidenceRetriever",
    "FixedTextSplitter",
    "HiQAFormatter",
    "HiQARetriever",
    "HiQATransformer",
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
    "TreeRetriever",
    "TwoHopRetriever",
]
