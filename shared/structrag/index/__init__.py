"""From chunks to views, and the store that they are searched in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.index.index import Index
    from structrag.index.views import Prompts

_HOMES = {
    "Index": "structrag.index.index",
    "Prompts": "structrag.index.views",
}
__all__ = [
    "Index",
    "Prompts",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
