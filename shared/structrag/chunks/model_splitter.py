"""The base of splitters that call models, which are steps and can run alone with the models at
hand; and of PIC and IDMS: a number for each unit of text or gap, a threshold, and size limits."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from structrag.chunks.divisions import divide
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.runs import Run, SizeLimits
from structrag.chunks.units import (
    Fitter,
    Series,
    UnitScope,
    mean_vectors_flow,
    scopes_of,
)
from structrag.model_calls.calling import fallbacks_of
from structrag.model_calls.requests import (
    Embed,
    Failed,
    Flow,
    Progress,
    Request,
    ask,
    embedded_by,
    gather,
    handle,
    memoised,
    record_failures,
)
from structrag.model_calls.runner import Runner
from structrag.models.embedders import as_embedder
from structrag.models.llm import as_language_model
from structrag.models.lsa import LsaEmbedder
from structrag.reading.settings import ReadingSettings, ReadOptions
from structrag.records import Chunk, Document
from structrag.text.arrays import FloatArray
from structrag.text.cutting import Piece

T = TypeVar("T")
# Dimensions of the LSA of one document. 256 take much longer and find no better boundaries.
OWN_DIMENSIONS = 64
# Documents of up to 1,000 characters, or so much text, that are read together.
GROUP = 256


@dataclass(frozen=True, slots=True)
class Explanation:
    """The numbers and decisions of a splitter, for plots and tables."""

    document: Document
    series: tuple[Series, ...]  # one a scope, in reading order
    chunks: tuple[Chunk, ...]


class ReadingSplitter:
    """A splitter that calls models. Subclasses define `explain_flow`.

    Models: `embedder` is anything that `as_embedder` accepts, `llm` anything that
    `as_language_model` accepts; None: no model. A `Runner` passed as `runner` has its own
    models, cache, limits and counts, and the other two are ignored. Without an embedder, the
    vectors are LSA of each document's own sentences. A splitter's `boundary_embedder` replaces
    the embedder for deciding where to cut.
    """

    __slots__ = ()

    def explain_flow(self, document: Document) -> Flow[Explanation]:
        """`explain` as a flow."""
        raise TypeError(f"{type(self).__name__} must define explain_flow")

    def split_flow(self, document: Document) -> Flow[list[Chunk]]:
        """`split` as a flow."""
        explanation = yield from self.explain_flow(document)
        return list(explanation.chunks)

    def split(
        self,
        document: Document,
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        chosen = runner or runner_for(embedder, llm)
        return chosen.run(counted_flow(self.split_flow(document), chosen))

    async def asplit(
        self,
        document: Document,
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> list[Chunk]:
        """`split` on an event loop."""
        chosen = runner or runner_for(embedder, llm)
        return await chosen.arun(counted_flow(self.split_flow(document), chosen))

    def explain(
        self,
        document: Document,
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> Explanation:
        """The chunks of a document, with the series of numbers behind them."""
        chosen = runner or runner_for(embedder, llm)
        return chosen.run(answered(self.explain_flow(document), chosen))

    def split_all(
        self,
        documents: Iterable[Document],
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> Iterator[list[Chunk]]:
        """The chunks of each document, in order, as they become ready. Documents are read in groups
        of limited size: the prompts of a group are sent together, and its sentences in full
        batches."""
        chosen = runner or runner_for(embedder, llm)
        for group in groups_of(documents, lambda document: len(document.text)):
            flow = self._group_flow(group, chosen)
            yield from chosen.run(flow)

    async def asplit_all(
        self,
        documents: Iterable[Document],
        *,
        embedder: Any = None,
        llm: Any = None,
        runner: Runner | None = None,
    ) -> AsyncIterator[list[Chunk]]:
        """`split_all` on an event loop."""
        chosen = runner or runner_for(embedder, llm)
        for group in groups_of(documents, lambda document: len(document.text)):
            flow = self._group_flow(group, chosen)
            for chunks in await chosen.arun(flow):
                yield chunks

    def _group_flow(
        self, documents: Iterable[Document], runner: Runner
    ) -> Flow[list[list[Chunk]]]:
        flow = map(self.split_flow, documents)
        return gather([counted_flow(one, runner) for one in flow])


def runner_for(
    embedder: Any = None, llm: Any = None, progress: Progress | None = None
) -> Runner:
    """A runner with these models."""
    return Runner(
        embedder=None if embedder is None else as_embedder(embedder),
        llm=as_language_model(llm),
        progress=progress,
    )


def read_boundary_embedder(value: Any) -> Any:
    """None, or an embedder. A string names a static model, anything else is what `as_embedder`
    takes."""
    if value is None:
        return None
    if isinstance(value, str | os.PathLike):
        # With the packages of an extra.
        from structrag.models.static import StaticEmbedder

        return StaticEmbedder.load(value)
    return as_embedder(value)


def decided_by(flow: Flow[T], embedder: Any) -> Flow[T]:
    """The same steps with their texts embedded by this model. It is what `read_boundary_embedder`
    gives. None changes nothing."""
    if embedder is None:
        return (yield from flow)
    if hasattr(embedder, "fit"):
        return (yield from with_own_vectors(flow, embedder))
    return (yield from embedded_by(embedder, flow))


def answered(flow: Flow[T], runner: Runner) -> Flow[T]:
    """The steps as this runner can answer them. Without an embedder their texts are embedded by
    `with_own_vectors`."""
    return flow if runner.embedder is not None else with_own_vectors(flow)


def groups_of(items: Iterable[T], length: Callable[[T], int]) -> Iterator[list[T]]:
    """Items in groups of at most 256, and about 256,000 characters."""
    group: list[T] = []
    size = 0
    for item in items:
        group.append(item)
        size += length(item) // 1000 + 1
        if size >= GROUP:
            yield group
            group, size = [], 0
    if group:
        yield group


def with_own_vectors(flow: Flow[T], unfitted: Any = None) -> Flow[T]:
    """The same steps with their texts embedded here.

    Vectors are those of `unfitted`, an embedder with `fit` (None: LSA). It is fitted on all texts
    of each request that is not a query. Queries are placed among the texts of the last one. A text
    without a known word gets zeros. Requests with a model of their own, and other requests, are
    passed on.
    """
    unfitted = unfitted or LsaEmbedder(OWN_DIMENSIONS)
    embedder = unfitted
    fitted_on: tuple[str, ...] = ()

    def answer(request: Request) -> Flow[Any]:
        nonlocal embedder, fitted_on
        if not isinstance(request, Embed) or request.embedder is not None:
            return (yield from ask(request))
        if not request.query and request.texts != fitted_on:
            embedder, fitted_on = unfitted.fit(request.texts), request.texts
        return embedder.embed(request.texts)

    return handle(flow, answer)


def counted_flow(flow: Flow[list[Chunk]], runner: Runner) -> Flow[list[Chunk]]:
    """The steps of a document's chunks. The runner's usage counts those that lack what a model
    should have given."""
    failures: list[Failed] = []
    chunks = yield from answered(record_failures(flow, failures), runner)
    runner.usage.fell_back(*fallbacks_of(chunks, failures))
    return chunks


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
