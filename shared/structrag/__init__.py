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
    from structrag.chunks.idms import IDMSSplitter
    from structrag.chunks.pic import PICSplitter
    from structrag.enrichment import IDMSEnricher
    from structrag.errors import StructragError
    from structrag.index.index import Index
    from structrag.models.embedders import FunctionEmbedder, LsaEmbedder, SentenceTransformerEmbedder
    from structrag.models.llm import FunctionModel
    from structrag.models.transformers_margin import TransformersMargin
    from structrag.reading import find_files, read_file, read_text
    from structrag.records import Block, Chunk, Document, Hit, Section
    from structrag.report import plot_explanation
    from structrag.retrieval.multiview import MultiViewRetriever
    from structrag.sections import parse
    from structrag.sections.outline import Outline
    from structrag.tokens import huggingface_counter, tiktoken_counter
    from structrag.views import Prompts

_HOMES = {
    "Block": "structrag.records",
    "Cache": "structrag.cache",
    "Chunk": "structrag.records",
    "ContentAwareSplitter": "structrag.chunks.content_aware",
    "Document": "structrag.records",
    "FixedSplitter": "structrag.chunks.fixed",
    "FunctionEmbedder": "structrag.models.embedders",
    "FunctionModel": "structrag.models.llm",
    "Hit": "structrag.records",
    "IDMSEnricher": "structrag.enrichment",
    "IDMSSplitter": "structrag.chunks.idms",
    "Index": "structrag.index.index",
    "LsaEmbedder": "structrag.models.embedders",
    "MultiViewRetriever": "structrag.retrieval.multiview",
    "Outline": "structrag.sections.outline",
    "PICSplitter": "structrag.chunks.pic",
    "Prompts": "structrag.views",
    "Section": "structrag.records",
    "SentenceTransformerEmbedder": "structrag.models.embedders",
    "StructragError": "structrag.errors",
    "TransformersMargin": "structrag.models.transformers_margin",
    "find_files": "structrag.reading",
    "huggingface_counter": "structrag.tokens",
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
    "Document",
    "FixedSplitter",
    "FunctionEmbedder",
    "FunctionModel",
    "Hit",
    "IDMSEnricher",
    "IDMSSplitter",
    "Index",
    "LsaEmbedder",
    "MultiViewRetriever",
    "Outline",
    "PICSplitter",
    "Prompts",
    "Section",
    "SentenceTransformerEmbedder",
    "StructragError",
    "TransformersMargin",
    "find_files",
    "huggingface_counter",
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
