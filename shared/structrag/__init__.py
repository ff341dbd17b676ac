"""Structure-aware splitting and retrieval: document -> sections -> chunks -> views -> index -> hits
-> evidence.

The names here are loaded when they are first used, so that `import structrag` is quick and needs no
optional package.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from structrag._version import __version__ as __version__

if TYPE_CHECKING:
    from structrag.asking.cache import Cache
    from structrag.chunks.content_aware import ContentAwareSplitter
    from structrag.chunks.enriching.enricher import IDMSEnricher
    from structrag.chunks.fixed import FixedSplitter
    from structrag.chunks.hiqa.splitter import HiQASplitter
    from structrag.chunks.idms.splitter import IDMSSplitter
    from structrag.chunks.pic.splitter import PICSplitter
    from structrag.errors import StructragError
    from structrag.formatting.formatter import HiQAFormatter
    from structrag.index.index import Index
    from structrag.index.views import Prompts
    from structrag.models.bundled import minilm
    from structrag.models.cross_encoder import CrossEncoderScorer
    from structrag.models.embedders import (
        FunctionEmbedder,
        LsaEmbedder,
        SentenceTransformerEmbedder,
    )
    from structrag.models.llm import FunctionModel
    from structrag.models.monot5 import MonoT5
    from structrag.models.static import StaticEmbedder
    from structrag.models.summariser import TransformersSummariser
    from structrag.models.transformers_margin import TransformersMargin
    from structrag.reading.files import find_files, read_file, read_text
    from structrag.reading.outline import Outline
    from structrag.reading.sections import parse
    from structrag.records import Block, Chunk, Document, Hit, Section
    from structrag.retrieval.d3.index import D3Index
    from structrag.retrieval.d3.outlines import Routing
    from structrag.retrieval.d3.retriever import D3Retriever
    from structrag.retrieval.d3.selection import Selection
    from structrag.retrieval.hiqa.retriever import HiQARetriever
    from structrag.retrieval.hiqa.tuning import LabelledQuestion
    from structrag.retrieval.multihop.selfask import SelfAsk
    from structrag.retrieval.multihop.twohop import TwoHop
    from structrag.retrieval.multiview import MultiViewRetriever
    from structrag.retrieval.packing import pack
    from structrag.show.explanation import plot_explanation
    from structrag.text.tokens import huggingface_counter, tiktoken_counter

_HOMES = {
    "Block": "structrag.records",
    "Cache": "structrag.asking.cache",
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
    "HiQARetriever": "structrag.retrieval.hiqa.retriever",
    "HiQASplitter": "structrag.chunks.hiqa.splitter",
    "Hit": "structrag.records",
    "IDMSEnricher": "structrag.chunks.enriching.enricher",
    "IDMSSplitter": "structrag.chunks.idms.splitter",
    "Index": "structrag.index.index",
    "LabelledQuestion": "structrag.retrieval.hiqa.tuning",
    "LsaEmbedder": "structrag.models.embedders",
    "MonoT5": "structrag.models.monot5",
    "MultiViewRetriever": "structrag.retrieval.multiview",
    "Outline": "structrag.reading.outline",
    "PICSplitter": "structrag.chunks.pic.splitter",
    "Prompts": "structrag.index.views",
    "Routing": "structrag.retrieval.d3.outlines",
    "Section": "structrag.records",
    "Selection": "structrag.retrieval.d3.selection",
    "SelfAsk": "structrag.retrieval.multihop.selfask",
    "SentenceTransformerEmbedder": "structrag.models.embedders",
    "StaticEmbedder": "structrag.models.static",
    "StructragError": "structrag.errors",
    "TransformersMargin": "structrag.models.transformers_margin",
    "TransformersSummariser": "structrag.models.summariser",
    "TwoHop": "structrag.retrieval.multihop.twohop",
    "find_files": "structrag.reading.files",
    "huggingface_counter": "structrag.text.tokens",
    "minilm": "structrag.models.bundled",
    "pack": "structrag.retrieval.packing",
    "parse": "structrag.reading.sections",
    "plot_explanation": "structrag.show.explanation",
    "read_file": "structrag.reading.files",
    "read_text": "structrag.reading.files",
    "tiktoken_counter": "structrag.text.tokens",
}

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
