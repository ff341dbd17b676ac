"""Structure-aware splitting and retrieval for documents with headings, and for those without. The
way is document -> sections -> chunks -> views -> index -> hits. Names used less often are imported
from their rooms: `from structrag.models import MonoT5`. All are loaded when first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names
from structrag._version import __version__ as __version__

if TYPE_CHECKING:
    from structrag.chunks.content_aware import ContentAwareSplitter
    from structrag.chunks.enriching.enricher import IDMSEnricher
    from structrag.chunks.fixed import FixedSplitter
    from structrag.chunks.hiqa.splitter import HiQASplitter
    from structrag.chunks.idms.splitter import IDMSSplitter
    from structrag.chunks.pic.splitter import PICSplitter
    from structrag.citations import resolve
    from structrag.errors import StructragError
    from structrag.formatting.formatter import HiQAFormatter
    from structrag.index.index import Index
    from structrag.ingestion.ingesting import ingest
    from structrag.model_calls.cache import Cache
    from structrag.models.bundled import minilm
    from structrag.models.embedders import FunctionEmbedder, SentenceTransformerEmbedder
    from structrag.models.llm import FunctionModel
    from structrag.reading.files import find_files, read_file, read_text
    from structrag.reading.sections import parse
    from structrag.records import Chunk, Document, Hit, Section
    from structrag.retrieval.d3.index import D3Index
    from structrag.retrieval.d3.retriever import D3Retriever
    from structrag.retrieval.evidence.retriever import EvidenceRetriever
    from structrag.retrieval.hiqa.retriever import HiQARetriever
    from structrag.retrieval.multihop.agents import SelfAsk
    from structrag.retrieval.multiview import MultiViewRetriever
    from structrag.retrieval.retriever import Retriever
    from structrag.text.tokens import huggingface_counter, tiktoken_counter

_HOMES = {
    "Cache": "structrag.model_calls.cache",
    "Chunk": "structrag.records",
    "ContentAwareSplitter": "structrag.chunks.content_aware",
    "D3Index": "structrag.retrieval.d3.index",
    "D3Retriever": "structrag.retrieval.d3.retriever",
    "Document": "structrag.records",
    "EvidenceRetriever": "structrag.retrieval.evidence.retriever",
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
    "MultiViewRetriever": "structrag.retrieval.multiview",
    "PICSplitter": "structrag.chunks.pic.splitter",
    "Retriever": "structrag.retrieval.retriever",
    "Section": "structrag.records",
    "SelfAsk": "structrag.retrieval.multihop.agents",
    "SentenceTransformerEmbedder": "structrag.models.embedders",
    "StructragError": "structrag.errors",
    "find_files": "structrag.reading.files",
    "huggingface_counter": "structrag.text.tokens",
    "ingest": "structrag.ingestion.ingesting",
    "minilm": "structrag.models.bundled",
    "parse": "structrag.reading.sections",
    "read_file": "structrag.reading.files",
    "read_text": "structrag.reading.files",
    "resolve": "structrag.citations",
    "tiktoken_counter": "structrag.text.tokens",
}
__all__ = [
    "Cache",
    "Chunk",
    "ContentAwareSplitter",
    "D3Index",
    "D3Retriever",
    "Document",
    "EvidenceRetriever",
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
    "MultiViewRetriever",
    "PICSplitter",
    "Retriever",
    "Section",
    "SelfAsk",
    "SentenceTransformerEmbedder",
    "StructragError",
    "find_files",
    "huggingface_counter",
    "ingest",
    "minilm",
    "parse",
    "read_file",
    "read_text",
    "resolve",
    "tiktoken_counter",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
