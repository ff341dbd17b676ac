"""Structure-aware splitters and retrievers for LangChain, over the core package `structrag`."""

from langchain_structrag.idms import IDMSTextSplitter
from langchain_structrag.models import LangChainEmbedder, LangChainModel
from langchain_structrag.pic import PICTextSplitter
from langchain_structrag.retrievers import MultiViewRetriever
from langchain_structrag.splitters import ContentAwareTextSplitter, FixedTextSplitter

__all__ = [
    "ContentAwareTextSplitter",
    "FixedTextSplitter",
    "IDMSTextSplitter",
    "LangChainEmbedder",
    "LangChainModel",
    "MultiViewRetriever",
    "PICTextSplitter",
]
