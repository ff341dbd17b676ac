"""Stores that chunks are searched in: exact vectors, BM25, and both for every view of many
documents."""

from structrag.index.dense import DenseIndex
from structrag.index.entries import Entry, Vectors
from structrag.index.lexical import Bm25, LexicalIndex
from structrag.index.storage import manifest_config
from structrag.index.store import Store
from structrag.text.terms import Tokenizer, terms

__all__ = [
    "Bm25",
    "DenseIndex",
    "Entry",
    "LexicalIndex",
    "Store",
    "Tokenizer",
    "Vectors",
    "manifest_config",
    "terms",
]
