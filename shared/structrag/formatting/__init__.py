"""Any source to structured Markdown, with a model or by rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.formatting.formatter import HiQAFormatter

_HOMES = {
    "HiQAFormatter": "structrag.formatting.formatter",
}
__all__ = [
    "HiQAFormatter",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
