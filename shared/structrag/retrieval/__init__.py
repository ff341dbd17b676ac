"""Retrievers: MultiView, `hiqa`, `d3`, `evidence`, and several searches for one question
(`multihop`)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.retrieval.d3.index import D3Index
    from structrag.retrieval.d3.outlines import Routing
    from structrag.retrieval.d3.retriever import D3Retriever
    from structrag.retrieval.d3.selection import Selection
    from structrag.retrieval.evidence.retriever import EvidenceRetriever
    from structrag.retrieval.hiqa.keywords import BodyNames
    from structrag.retrieval.hiqa.retriever import HiQARetriever
    from structrag.retrieval.hiqa.scores import LabelledQuestion
    from structrag.retrieval.multihop.agents import SelfAsk
    from structrag.retrieval.multiview import MultiViewRetriever
    from structrag.retrieval.packing import pack
    from structrag.retrieval.retriever import Retriever

_HOMES = {
    "BodyNames": "structrag.retrieval.hiqa.keywords",
    "D3Index": "structrag.retrieval.d3.index",
    "D3Retriever": "structrag.retrieval.d3.retriever",
    "EvidenceRetriever": "structrag.retrieval.evidence.retriever",
    "HiQARetriever": "structrag.retrieval.hiqa.retriever",
    "LabelledQuestion": "structrag.retrieval.hiqa.scores",
    "MultiViewRetriever": "structrag.retrieval.multiview",
    "Retriever": "structrag.retrieval.retriever",
    "Routing": "structrag.retrieval.d3.outlines",
    "Selection": "structrag.retrieval.d3.selection",
    "SelfAsk": "structrag.retrieval.multihop.agents",
    "pack": "structrag.retrieval.packing",
}
__all__ = [
    "BodyNames",
    "D3Index",
    "D3Retriever",
    "EvidenceRetriever",
    "HiQARetriever",
    "LabelledQuestion",
    "MultiViewRetriever",
    "Retriever",
    "Routing",
    "Selection",
    "SelfAsk",
    "pack",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
