"""Strings only: tokens, sentences, terms, cuts, heading paths and names. No document, no model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.text.tokens import huggingface_counter, tiktoken_counter

_HOMES = {
    "huggingface_counter": "structrag.text.tokens",
    "tiktoken_counter": "structrag.text.tokens",
}
__all__ = [
    "huggingface_counter",
    "tiktoken_counter",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
