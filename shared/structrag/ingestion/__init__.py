"""Many files into one index, by several processes that may die."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.ingestion.ingesting import IngestReport, Progress, ingest

_HOMES = {
    "IngestReport": "structrag.ingestion.ingesting",
    "Progress": "structrag.ingestion.ingesting",
    "ingest": "structrag.ingestion.ingesting",
}
__all__ = ["IngestReport", "Progress", "ingest"]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
