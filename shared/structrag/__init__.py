"""Structure-aware splitting and retrieval: document -> sections -> chunks -> views -> index -> hits -> evidence.

The names here are loaded when they are first used, so that `import structrag` is quick and needs no optional package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from structrag.cache import Cache
    from structrag.chunks.content_aware import ContentAwareSplitter
    from structrag.chunks.fixed import FixedSplitter
    from structrag.chunks.hiqa import HiQASplitter
    from structrag.chunks.idms import IDMSSplitter
    from structrag.chunks.pic import PICSplitter
    from structrag.enrichment import IDMSEnricher
    from structrag.errors import StructragError
    from structrag.formatting.formatter import HiQAFormatter
    from structrag.index.index import Index
    from structrag.models.bundled import minilm
    from structrag.models.cross_encoder import CrossEncoderScorer
    from structrag.models.embedders import FunctionEmbedder, LsaEmbedder, SentenceTransformerEmbedder
    from structrag.models.llm import FunctionModel
    from structrag.models.monot5 import MonoT5
    from structrag.models.static import StaticEmbedder
    from structrag.models.summariser import TransformersSummariser
    from structrag.models.transformers_margin import TransformersMargin
    from structrag.reading import find_files, read_file, read_text
    from structrag.records import Block, Chunk, Document, Hit, Section
    from structrag.report import plot_explanation
    from structrag.retrieval.d3.index import D3Index
    from structrag.retrieval.d3.outlines import Routing
    from structrag.retrieval.d3.retriever import D3Retriever
    from structrag.retrieval.d3.selection import Selection
    from structrag.retrieval.d3.selfask import SelfAsk
    from structrag.retrieval.d3.twohop import TwoHop
    from structrag.retrieval.hiqa import HiQARetriever
    from structrag.retrieval.multiview import MultiViewRetriever
    from structrag.retrieval.packing import pack
    from structrag.retrieval.tuning import LabelledQuestion
    from structrag.sections import parse
    from structrag.sections.outline import Outline
    from structrag.tokens import huggingface_counter, tiktoken_counter
    from structrag.views import Prompts

_HOMES = {
    "Block": "structrag.records",
    "Cache": "structrag.cache",
    "Chunk": "structrag.records",
    "ContentAwareSplitter": "structrag.chunks.content_aware",
    "CrossEncoderScorer": "structrag.models.cross_encoder",
    "D3Index": "structrag.retrieval.d3.index",
    "D3Retriever": "structrag.retrieval.d3.retriever",
    "Document": "structrag.records",
    "FixedSplitter": "structrag.chunks.fixed",
    "FunctionEmbedder": "structrag.models.embedders",
    "FunctionModel": "structrag.models.llm",
    "HiQAFormatter": "structrag.formatting.formatter",
    "HiQARetriever": "structrag.retrieval.hiqa",
    "HiQASplitter": "structrag.chunks.hiqa",
    "Hit": "structrag.records",
    "IDMSEnricher": "structrag.enrichment",
    "IDMSSplitter": "structrag.chunks.idms",
    "Index": "structrag.index.index",
    "LabelledQuestion": "structrag.retrieval.tuning",
    "LsaEmbedder": "structrag.models.embedders",
    "MonoT5": "structrag.models.monot5",
    "MultiViewRetriever": "structrag.retrieval.multiview",
    "Outline": "structrag.sections.outline",
    "PICSplitter": "structrag.chunks.pic",
    "Prompts": "structrag.views",
    "Routing": "structrag.retrieval.d3.outlines",
    "Section": "structrag.records",
    "Selection": "structrag.retrieval.d3.selection",
    "SelfAsk": "structrag.retrieval.d3.selfask",
    "SentenceTransformerEmbedder": "structrag.models.embedders",
    "StaticEmbedder": "structrag.models.static",
    "StructragError": "structrag.errors",
    "TransformersMargin": "structrag.models.transformers_margin",
    "TransformersSummariser": "structrag.models.summariser",
    "TwoHop": "structrag.retrieval.d3.twohop",
    "find_files": "structrag.reading",
    "huggingface_counter": "structrag.tokens",
    "minilm": "structrag.models.bundled",
    "pack": "structrag.retrieval.packing",
    "parse": "structrag.sections",
    "plot_explanation": "structrag.report",
    "read_file": "structrag.reading",
    "read_text": "structrag.reading",
    "tiktoken_counter": "structrag.tokens",
}

__version__ = "0.1.0"
__all__ = [
    "Block",
    "Cache",
    "Chunk",
    "ContentAwareSplitter",
    "CrossEncoderScorer",
    "D3Index",
    "D3Retriever",
    "Document",
    "FixedSplitter",
    "FunctionEmbedder",
    "FunctionModel",
    "HiQAFormatter",
    "HiQARetriever",
    "HiQASplitter",
    "Hit",
    "IDMSEnricher",
    "IDMSSplitter",
    "Index",
    "LabelledQuestion",
    "LsaEmbedder",
    "MonoT5",
    "MultiViewRetriever",
    "Outline",
    "PICSplitter",
    "Prompts",
    "Routing",
    "Section",
    "Selection",
    "SelfAsk",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
    "StructragError",
    "TransformersMargin",
    "TransformersSummariser",
    "TwoHop",
    "find_files",
    "huggingface_counter",
    "minilm",
    "pack",
    "parse",
    "plot_explanation",
    "read_file",
    "read_text",
    "tiktoken_counter",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'structrag' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
