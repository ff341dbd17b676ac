"""Splitters: from an outline to chunks. Each paper has its folder (`pic`, `idms`, `hiqa`);
`enriching` is the second half of IDMS."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.chunks.content_aware import ContentAwareSplitter
    from structrag.chunks.enriching.density import DensitySettings
    from structrag.chunks.enriching.enricher import IDMSEnricher
    from structrag.chunks.enriching.prompts import EnrichmentPrompts
    from structrag.chunks.fixed import FixedSplitter
    from structrag.chunks.hiqa.splitter import HiQASplitter
    from structrag.chunks.idms.splitter import IDMSSplitter
    from structrag.chunks.pic.splitter import PICSplitter

_HOMES = {
    "ContentAwareSplitter": "structrag.chunks.content_aware",
    "DensitySettings": "structrag.chunks.enriching.density",
    "EnrichmentPrompts": "structrag.chunks.enriching.prompts",
    "FixedSplitter": "structrag.chunks.fixed",
    "HiQASplitter": "structrag.chunks.hiqa.splitter",
    "IDMSEnricher": "structrag.chunks.enriching.enricher",
    "IDMSSplitter": "structrag.chunks.idms.splitter",
    "PICSplitter": "structrag.chunks.pic.splitter",
}
__all__ = [
    "ContentAwareSplitter",
    "DensitySettings",
    "EnrichmentPrompts",
    "FixedSplitter",
    "HiQASplitter",
    "IDMSEnricher",
    "IDMSSplitter",
    "PICSplitter",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
