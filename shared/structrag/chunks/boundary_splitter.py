"""The base of PIC and IDMS: a number for each unit of text or gap, a threshold, and size limits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from structrag.chunks.divisions import divide
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.model_splitter import (
    Explanation,
    ReadingSplitter,
    decided_by,
    read_boundary_embedder,
)
from structrag.chunks.run_vectors import mean_vectors_flow
from structrag.chunks.runs import Run, SizeLimits
from structrag.chunks.units import Fitter, UnitScope, scopes_of
from structrag.model_calls.flow import memoised
from structrag.model_calls.requests import Flow
from structrag.reading.settings import ReadingSettings, ReadOptions
from structrag.records import Chunk, Document
from structrag.text.arrays import FloatArray
from structrag.text.cutting import Piece


class BoundarySettings(ReadingSettings, total=False):
    """The settings of `BoundarySplitter` but for its sizes, as keywords."""

    respect_sections: bool
    boundary_embedder: Any
    reuse_vectors: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundarySplitter(ReadingSplitter, ReadOptions):
    """Base of the splitters that cut by a series of numbers.

    Subclasses define `_decided_flow`, in which `boundary_embedder` embeds everything.

    Attributes:
        respect_sections: Whether chunks end at section borders.
        min_tokens: The minimum size to aim at for a chunk's text; None: a share of `max_tokens`.
        max_tokens: Hard limit of a chunk's index text (context and text) in tokens of `counter`;
            None: no limit. Only a single code point with more tokens may exceed it; such a chunk
            has `extras["oversize"]`.
        boundary_embedder: The embedder that compares sentences instead: an embedder, or the folder
            or name of a static model (`StaticEmbedder.load`), which is hundreds of times faster. An
            index still embeds the chunks with its own embedder.
        reuse_vectors: Whether an index uses the mean of a chunk's sentence vectors in the view
            `raw` instead of embedding the chunk; the heading path is then searched by BM25 alone.
            It has no effect with a `boundary_embedder`.
    """

    respect_sections: bool = True
    min_tokens: int | None = None
    max_tokens: int | None = 300
    boundary_embedder: Any = None
    reuse_vectors: bool = True

    def __post_init__(self) -> None:
        ReadOptions.__post_init__(self)
        embedder = read_boundary_embedder(self.boundary_embedder)
        object.__setattr__(self, "boundary_embedder", embedder)
        if embedder is not None:
            object.__setattr__(self, "reuse_vectors", False)

    @property
    def least_tokens(self) -> int:
        """`min_tokens`, or its default."""
        raise NotImplementedError

    def explain_flow(self, document: Document) -> Flow[Explanation]:
        """`explain` as a flow: every scope's numbers, thresholds and runs, and the chunks."""
        return decided_by(self._decided_flow(document), self.boundary_embedder)

    def split_with_vectors_flow(
        self, document: Document
    ) -> Flow[tuple[list[Chunk], FloatArray]]:
        """The chunks with vectors, so that indexing embeds nothing twice. A chunk's vector is the
        token-weighted mean of its sentences' vectors, scaled to length 1. All sentences are
        embedded, even in sections too short to be split. Heading paths are not in these vectors.
        Shape (n chunks, dimension); (0, 0) without chunks.
        """
        return memoised(self._with_vectors_flow(document))

    def _with_vectors_flow(
        self, document: Document
    ) -> Flow[tuple[list[Chunk], FloatArray]]:
        flow = self._decided_flow(document, every=True)
        explanation = yield from decided_by(flow, self.boundary_embedder)
        units = [unit for series in explanation.series for unit in series.units]
        chunks = list(explanation.chunks)
        vectors = yield from mean_vectors_flow(document.text, units, chunks)
        return chunks, vectors

    def _decided_flow(
        self, document: Document, *, every: bool = False
    ) -> Flow[Explanation]:
        """`explain_flow` by one embedder; with `every` it embeds all units."""
        raise NotImplementedError

    def _fitter(self, document: Document, *, with_path: bool) -> Fitter:
        maker = ChunkMaker(document, self.counter, self.max_tokens, with_path)
        return Fitter(self.outline(document), maker, self.cutter())

    def _scopes(self, fitter: Fitter, *, by_zone: bool) -> list[UnitScope]:
        divisions = divide(fitter.outline, self.exclude_titles)
        apart = self.respect_sections
        return scopes_of(fitter, divisions, by_zone=by_zone, respect_sections=apart)

    def _limits(self, room: int | None) -> SizeLimits:
        """The bounds of a run where a chunk's text may have `room` tokens."""
        least = self.least_tokens
        return SizeLimits(least if room is None else min(least, room), room)

    def _chunks(
        self,
        fitter: Fitter,
        scope: UnitScope,
        runs: Sequence[Run],
        affinity: Sequence[float],
        extras: Callable[[Run, Piece], dict[str, Any]],
        least: int,
    ) -> Iterator[tuple[Run, Chunk]]:
        """The chunks of a scope with their runs. A run that is too long makes several."""
        units, sizes, maker = scope.units, scope.sizes, fitter.maker
        for whole in runs:
            for run, piece, context in fitter.pieces(
                units, whole, sizes, affinity, least
            ):
                section, facts = units[run[0]].division.section, extras(run, piece)
                yield run, maker.chunk(section, piece, context, extras=facts)
