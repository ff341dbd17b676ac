"""Pictures and the page of `structrag view`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.show.explanation import plot_explanation

_HOMES = {
    "plot_explanation": "structrag.show.explanation",
}
__all__ = [
    "plot_explanation",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
