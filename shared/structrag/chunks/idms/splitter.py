"""IDMS chunks by margin sampling (IDMS, "Margin Sampling Chunking").

For every gap between sentences it is asked whether its sides belong together.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from structrag.asking.requests import Steps
from structrag.asking.steps import remembering
from structrag.chunks.asking_splitter import (
    Explanation,
    ReadingSplitter,
    decided_by,
    read_boundary_embedder,
)
from structrag.chunks.bounds import Limits
from structrag.chunks.divisions import divide, grouped
from structrag.chunks.fitter import Fitter
from structrag.chunks.idms.gaps import MERGES, AdaptiveThreshold, decide, merge_runs
from structrag.chunks.idms.sentence_margins import (
    SIMILARITY,
    WINDOW,
    WORDS,
    DocumentGaps,
    GapModel,
    MarginFunction,
    Scope,
    SentenceMargins,
    check_margin,
    read_at_once,
    window_of,
    words_of,
)
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.run_vectors import mean_vectors_steps
from structrag.chunks.series import Series
from structrag.chunks.units import Unit, units_of
from structrag.errors import InvalidParameter, check_at_least, check_choice
from structrag.models.margins import NONE, PAPER_PROMPT, PROMPT, UNUSABLE, check_prompt
from structrag.reading.settings import Reading, ReadingSettings, changed
from structrag.records import Chunk, Document
from structrag.text.tokens import TokenCounter
from structrag.text.vectors import FloatArray

if TYPE_CHECKING:
    from typing_extensions import Unpack


class IDMSSettings(ReadingSettings, total=False):
    """The settings of `IDMSSplitter` but for margin, path and sizes, as keywords."""

    context: str
    theta0: float
    warmup: int
    history: int | None
    merge: str
    prompt: str
    normalised: bool
    respect_sections: bool
    boundary_embedder: Any
    reuse_vectors: bool


class IDMSOptions(IDMSSettings, total=False):
    """All settings of `IDMSSplitter` as keywords."""

    margin: str | MarginFunction
    min_tokens: int | None
    target_tokens: int
    max_tokens: int | None
    heading_path: bool
    counter: TokenCounter


@dataclass(frozen=True, slots=True)
class IDMSSplitter(ReadingSplitter, Reading):
    """Splits where sentences belong together less than around recent gaps.

    A gap is cut where its margin is not above a threshold that follows recent margins. Small
    segments are merged.

    Example:
        >>> splitter = IDMSSplitter(margin="words", min_tokens=6)
        >>> text = "Cats purr. Cats sleep. Pumps leak. Pumps rust."
        >>> [chunk.text for chunk in splitter.split(Document(text))]
        ['Cats purr. Cats sleep. ', 'Pumps leak. Pumps rust.']

    The chunks tile the document, except for excluded sections; an empty or blank document has none.
    A margin, from -1 to 1, says by how much the two sides of a gap belong together. About every
    second gap is cut by construction, so the merging makes the sizes. Chunk extras: `margin`, that
    of the gap in front of the chunk (None at the start of a scope); `margin_source`, what margins
    were read from; `margin_fallbacks`, how many gaps inside had no answer of the model and took the
    similarity, and then `degraded`.

    Attributes:
        margin: "similarity": of the sentences around a gap, by the embedder. "words": by TF-IDF of
            the document's own words, which needs no embedder and is the fastest. "llm": the
            language model weighs "keep" against "split", by log-probabilities, else by a rating; it
            must be there (NoModel). "auto": "llm" where there is one, else "similarity". Or a
            `TransformersMargin`, which is asked `prompt`, or a function from [(text before, text
            behind), ...] to margins.
        context: What stands on each side of a gap: "adjacent" (one sentence), "window:w" (w
            sentences), or "chunk" (the chunk so far against the next sentence: one call after the
            other).
        theta0, warmup, history: The threshold is theta0 until `warmup` margins were seen, then the
            mean of the last `history` (None: all).
        merge: "weakest", "greedy" or "none"; see `structrag.chunks.idms.gaps.merge_runs`.
        min_tokens: Segments below it are merged where both fit `max_tokens`; None: half of it.
        target_tokens: What "greedy" fills up to.
        max_tokens: Hard limit of an index text, heading path included; None: no limit. Only a
            single code point may exceed it.
        prompt: The question, a template with {left} and {right}, and {first} and {second} for the
            options, 1 for split and 2 for keep.
        normalised: Whether a model's margins are (pA - pB) / (pA + pB), which do not shrink where
            it puts little probability on both options; False: pA - pB. A model that is not
            normalised itself, and one with other margins, stays as it is.
        respect_sections: Whether chunks and windows end at section borders; the threshold runs on.
        heading_path: Whether chunks carry it in their context (at most 64 tokens, and at most a
            quarter of the limit).
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `Reading`.
        reuse_vectors: As in `PICSplitter`.
        boundary_embedder: What compares sentences in place of the embedder: an embedder, or the
            folder or name of a static model (`StaticEmbedder.load`), which is hundreds of times
            faster. An index still embeds the chunks by its own.
    """

    margin: str | MarginFunction = "auto"
    context: str = "window:4"
    theta0: float = 0.0
    warmup: int = 5
    history: int | None = None
    merge: str = "weakest"
    min_tokens: int | None = None
    target_tokens: int = 200
    max_tokens: int | None = 300
    prompt: str = PROMPT
    normalised: bool = True
    respect_sections: bool = True
    heading_path: bool = True
    boundary_embedder: Any = None
    reuse_vectors: bool = True

    def __post_init__(self) -> None:
        Reading.__post_init__(self)
        check_margin(self.margin)
        if window_of(self.context) is None and self.margin in (SIMILARITY, WORDS):
            raise InvalidParameter(
                f"context must be 'adjacent' or 'window:w' with margin={self.margin!r}, which has "
                "no chunk so far; got 'chunk'."
            )
        is_number = isinstance(self.theta0, int | float) and not isinstance(
            self.theta0, bool
        )
        if not is_number or math.isnan(self.theta0):
            raise InvalidParameter(f"theta0 must be a number; got {self.theta0!r}.")
        check_at_least("warmup", self.warmup, 0)
        if self.history is not None:
            check_at_least("history", self.history, 1)
        check_choice("merge", self.merge, MERGES)
        check_at_least("target_tokens", self.target_tokens, 1)
        Limits(self.least_tokens, self.max_tokens)
        check_prompt(self.prompt)
        object.__setattr__(
            self, "boundary_embedder", read_boundary_embedder(self.boundary_embedder)
        )
        if self.boundary_embedder is not None:
            object.__setattr__(self, "reuse_vectors", False)

    @classmethod
    def paper(cls, **changes: Unpack[IDMSOptions]) -> IDMSSplitter:
        """The settings of the paper.

        The chunk so far against the next sentence (equation 1), the threshold 0 for the first gap
        and then the mean of all margins before, no limits, no sections; segments filled greedily up
        to 200 words, as its reference code does (260 tokens as `count_tokens` estimates them). The
        margin is not divided by the mass of both options, whether the model is given as `llm` or
        as `margin=TransformersMargin(...)`. The enrichment is `IDMSEnricher.paper()`.
        """
        settings: dict[str, Any] = {
            "margin": "llm",
            "context": "chunk",
            "merge": "greedy",
            "warmup": 1,
            "min_tokens": 0,
            "target_tokens": 260,
            "max_tokens": None,
            "prompt": PAPER_PROMPT,
            "normalised": False,
            "respect_sections": False,
            "heading_path": False,
            "reuse_vectors": False,
        }
        return changed(cls, settings, changes)

    @property
    def least_tokens(self) -> int:
        """`min_tokens`; for None half of `max_tokens`, 150 without a limit."""
        if self.min_tokens is not None:
            return self.min_tokens
        return 150 if self.max_tokens is None else self.max_tokens // 2

    def explain_steps(self, document: Document) -> Steps[Explanation]:
        """`explain` as steps: every scope's margins, thresholds and runs, and the chunks."""
        outline = self.outline(document)
        maker = ChunkMaker(document, self.counter, self.max_tokens, self.heading_path)
        cutter = self.cutter()
        fitter = Fitter(outline, maker, cutter)
        divisions = divide(outline, self.exclude_titles)
        scopes: list[Scope] = []
        first = 0
        for group in grouped(divisions, apart=self.respect_sections):
            room = fitter.room(group)
            units: list[Unit] = []
            for division in group:
                units += units_of(outline, division, cutter, room)
            scopes.append(Scope(units, room, first))
            first += len(units)
        gaps = yield from decided_by(
            self._read(document.text, scopes), self.boundary_embedder
        )
        series: list[Series] = []
        chunks: list[Chunk] = []
        for scope in scopes:
            of_scope = self._series(scope, gaps)
            series.append(of_scope)
            chunks += self._chunks(fitter, scope, of_scope, gaps)
        return Explanation(document, tuple(series), tuple(chunks))

    def split_with_vectors_steps(
        self, document: Document
    ) -> Steps[tuple[list[Chunk], FloatArray]]:
        """The chunks and a vector for each.

        It is the token-weighted mean of its sentences' vectors, as in `PICSplitter`.
        """
        return (yield from remembering(self._with_vectors_steps(document)))

    def _with_vectors_steps(
        self, document: Document
    ) -> Steps[tuple[list[Chunk], FloatArray]]:
        explanation = yield from self.explain_steps(document)
        units = [unit for series in explanation.series for unit in series.units]
        vectors = yield from mean_vectors_steps(
            document.text, units, explanation.chunks
        )
        return list(explanation.chunks), vectors

    def _read(self, text: str, scopes: Sequence[Scope]) -> Steps[DocumentGaps]:
        """The margins and cuts of all gaps, scope after scope."""
        window = window_of(self.context)
        sentences = [
            words_of(text, unit, unit) for scope in scopes for unit in scope.units
        ]
        by_words = self.margin == WORDS
        similarity = SentenceMargins(
            sentences,
            [scope.run for scope in scopes],
            window or WINDOW,
            by_words,
            self.language,
        )
        model = GapModel(self.margin, self.prompt, self.normalised)
        gaps = DocumentGaps(len(sentences))
        threshold = AdaptiveThreshold(self.theta0, self.warmup, self.history)
        if window is None:
            for scope in scopes:
                yield from self._read_along(
                    text, scope, model, similarity, threshold, gaps
                )
        else:
            yield from read_at_once(text, scopes, window, model, similarity, gaps)
            for scope in scopes:
                inside = slice(scope.first + 1, scope.run[1])
                cuts, gaps.thresholds[inside] = decide(
                    gaps.margins[inside].tolist(), threshold, scope.sizes, scope.room
                )
                gaps.cuts[scope.first] = cuts
        without = WORDS if by_words else SIMILARITY
        gaps.source = without if model.source in {"", NONE, UNUSABLE} else model.source
        return gaps

    def _read_along(
        self,
        text: str,
        scope: Scope,
        model: GapModel,
        similarity: SentenceMargins,
        threshold: AdaptiveThreshold,
        gaps: DocumentGaps,
    ) -> Steps[None]:
        """The chunk so far against the next sentence.

        Nothing is asked about a gap that the limit cuts.
        """
        cuts: list[int] = []
        start, size = 0, scope.sizes[0]
        for i, tokens in enumerate(scope.sizes[1:], start=1):
            place = scope.first + i
            gaps.thresholds[place] = threshold.value
            if scope.room is not None and size + tokens > scope.room:
                gaps.margins[place] = threshold.value
                keep = False
            else:
                before = words_of(text, scope.units[start], scope.units[i - 1])
                behind = words_of(text, scope.units[i], scope.units[i])
                (margin,) = yield from model.margin_steps([(before, behind)])
                if margin is None:
                    similarities = yield from similarity.steps()
                    margin = float(similarities[place - 1])
                    gaps.fallbacks[place] = model.asked
                gaps.margins[place] = margin
                keep = threshold.keeps(margin)
            if not keep:
                cuts.append(i)
                start, size = i, 0
            size += tokens
        gaps.cuts[scope.first] = cuts

    def _least(self, scope: Scope) -> int:
        """`least_tokens`, or all that a chunk of the scope may have."""
        least = self.least_tokens
        return least if scope.room is None else min(least, scope.room)

    def _series(self, scope: Scope, gaps: DocumentGaps) -> Series:
        """What was read from a scope, and its merged runs."""
        margins = gaps.margins[scope.first : scope.run[1]].tolist()
        limits = Limits(self._least(scope), scope.room)
        runs = merge_runs(
            gaps.cuts[scope.first],
            margins[1:],
            scope.sizes,
            limits,
            merge=self.merge,
            target=self.target_tokens,
        )
        thresholds = gaps.thresholds[scope.first : scope.run[1]].tolist()
        return Series(
            tuple(scope.units),
            tuple(margins),
            tuple(thresholds),
            tuple(runs),
            gaps.source,
        )

    def _chunks(
        self, fitter: Fitter, scope: Scope, series: Series, gaps: DocumentGaps
    ) -> Iterator[Chunk]:
        """The chunks of a scope. A run that is too long makes several."""
        least = self._least(scope)
        for whole in series.runs:
            pieces = fitter.pieces(
                scope.units, whole, scope.sizes, series.values, least
            )
            for (first, last), piece, context in pieces:
                unit = scope.units[first]
                extras: dict[str, Any] = {"margin": None, "margin_source": gaps.source}
                if first and piece.start == unit.start:
                    extras["margin"] = round(series.values[first], 6)
                fallbacks = int(
                    gaps.fallbacks[scope.first + first + 1 : scope.first + last].sum()
                )
                if fallbacks:
                    extras |= {"margin_fallbacks": fallbacks, "degraded": True}
                yield fitter.maker.chunk(
                    unit.division.section, piece, context, extras=extras
                )
