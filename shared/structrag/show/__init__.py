"""The page of `structrag view`, and where passages stand on the pages of a PDF."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.reading.pdf.boxes import boxes, page_image

_HOMES = {
    "boxes": "structrag.reading.pdf.boxes",
    "page_image": "structrag.reading.pdf.boxes",
}
__all__ = ["boxes", "page_image"]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
