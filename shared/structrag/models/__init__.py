"""Embedders, language models and scorers that run here, or functions instead."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.models.bundled import minilm
    from structrag.models.embedders import FunctionEmbedder, SentenceTransformerEmbedder
    from structrag.models.llm import FunctionModel, TransformersSummariser
    from structrag.models.lsa import LsaEmbedder
    from structrag.models.onnx_encoder import OnnxEncoder
    from structrag.models.scorers import CrossEncoderScorer, MonoT5
    from structrag.models.static import StaticEmbedder
    from structrag.models.token_vectors import ColbertTokens, TransformersTokens
    from structrag.models.transformers_model import (
        TransformersMargin,
        TransformersModel,
    )

_HOMES = {
    "ColbertTokens": "structrag.models.token_vectors",
    "CrossEncoderScorer": "structrag.models.scorers",
    "FunctionEmbedder": "structrag.models.embedders",
    "FunctionModel": "structrag.models.llm",
    "LsaEmbedder": "structrag.models.lsa",
    "MonoT5": "structrag.models.scorers",
    "OnnxEncoder": "structrag.models.onnx_encoder",
    "SentenceTransformerEmbedder": "structrag.models.embedders",
    "StaticEmbedder": "structrag.models.static",
    "TransformersMargin": "structrag.models.transformers_model",
    "TransformersModel": "structrag.models.transformers_model",
    "TransformersSummariser": "structrag.models.llm",
    "TransformersTokens": "structrag.models.token_vectors",
    "minilm": "structrag.models.bundled",
}
__all__ = [
    "ColbertTokens",
    "CrossEncoderScorer",
    "FunctionEmbedder",
    "FunctionModel",
    "LsaEmbedder",
    "MonoT5",
    "OnnxEncoder",
    "SentenceTransformerEmbedder",
    "StaticEmbedder",
    "TransformersMargin",
    "TransformersModel",
    "TransformersSummariser",
    "TransformersTokens",
    "minilm",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
