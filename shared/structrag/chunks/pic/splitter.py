"""PIC: chunks by similarity to a pseudo-instruction.

The paper is "Document Segmentation Matters for Retrieval-Augmented Generation". One summary of the
document stands for the questions nobody has asked yet. Sentences as close to it as the average or
closer are relevant, the others are not, and runs of equal sentences are chunks (section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from structrag.asking.requests import Steps
from structrag.chunks.asking_splitter import (
    Explanation,
    ReadingSplitter,
    decided_by,
    read_boundary_embedder,
)
from structrag.chunks.bounds import Limits, Run, join_small, runs_of, split_large
from structrag.chunks.divisions import divide
from structrag.chunks.fitter import Fitter
from structrag.chunks.maker import ChunkMaker
from structrag.chunks.pic.instructions import (
    Instruction,
    InstructionSettings,
    instruction_steps,
    read_texts,
    read_vectors,
)
from structrag.chunks.pic.judging import Judged, judge
from structrag.chunks.pic.summaries import PAPER_PROMPT, SUMMARY_PROMPT
from structrag.chunks.run_vectors import run_vectors
from structrag.chunks.scopes import Scope, Zone, scopes_of
from structrag.chunks.series import Series, changes, check_threshold
from structrag.errors import (
    InvalidParameter,
    check_at_least,
    check_choice,
    check_template,
)
from structrag.reading.outline import Outline
from structrag.reading.settings import Reading, ReadingSettings, changed
from structrag.records import Chunk, Document
from structrag.text.sentences import LANGUAGES
from structrag.text.tokens import TokenCounter, count_tokens
from structrag.text.vectors import FloatArray

if TYPE_CHECKING:
    from typing_extensions import Unpack

SECTION_TOKENS = 200  # a shorter section is one chunk, and nobody is asked about it
# Estimated tokens; above it one vector cannot tell a document's parts apart.
LONG_DOCUMENT = 2000


class PICSettings(ReadingSettings, total=False):
    """The settings of `PICSplitter` but for its sizes, as keywords."""

    pseudo_instruction: str
    instructions: Sequence[str]
    instructions_key: str | None
    instruction_vectors: Any
    as_query: bool
    threshold: str | float
    threshold_sd: float
    hysteresis: float
    scope: str
    respect_sections: bool
    bounds: str
    prompt: str
    summary_window: int | None
    reuse_vectors: bool
    boundary_embedder: Any


class PICOptions(PICSettings, total=False):
    """All settings of `PICSplitter` as keywords."""

    min_tokens: int | None
    max_tokens: int | None
    context: bool
    counter: TokenCounter


@dataclass(frozen=True, slots=True)
class PICSplitter(ReadingSplitter, Reading):
    """Splits a document where relevance to a pseudo-instruction begins and ends.

    A chunk is a run of sentences that are relevant, or of sentences that are not.

    Example:
        >>> splitter = PICSplitter(min_tokens=2, scope="document", hysteresis=0)
        >>> text = "Cats purr. Cats sleep. Cats hunt. The pump leaks."
        >>> [chunk.text for chunk in splitter.split(Document(text))]
        ['Cats purr. Cats sleep. Cats hunt. ', 'The pump leaks.']

    The chunks tile the document, except for excluded sections; each holds whole sentences, list
    items, tables or code blocks wherever one fits. A blank document has no chunk. Settings are
    checked when the splitter is made.

    A chunk's `extras`: `relevant`; `mean_similarity` (token-weighted mean over its sentences) and
    `threshold`, both None, and `relevant` true, for text too short to be compared with anything;
    and `degraded` where the language model should have given a summary and did not.

    Attributes:
        pseudo_instruction: "summary": by the language model, or without one the most central
            sentences, none of which is then compared with itself; "mean": the mean of the
            sentences' vectors.
        instructions: Texts in place of the pseudo-instruction: real or expected questions (the
            paper's RIC), keywords. A sentence counts as similar as it is to the most similar of
            them. One string is one instruction.
        instructions_key: The metadata key under which a document has instructions of its own, a
            text or a list of texts, in place of `instructions`. A document without them has
            `instructions`, or without those the pseudo-instruction.
        instruction_vectors: The same as vectors of the embedder, shape (m, d) or (d,).
        as_query: Whether the summary is embedded as a query, as instructions are, which matters for
            embedders that treat those in another way; False: as the sentences are (equation 1).
        threshold: "mean" or "median" of the similarities, or a number (infinite ones give one run).
        threshold_sd: Population standard deviations added to the mean or median.
        hysteresis: Standard deviations by which a similarity must pass the threshold to end a run;
            0: none.
        scope: What shares an instruction and a threshold: the "document", or each "section";
            "auto": sections in a document that has some and counts more than 2,000 estimated
            tokens. In section scope a section below 200 tokens is one chunk if it fits.
        respect_sections: Whether no chunk crosses the border of a section.
        bounds: "merge": runs below `min_tokens` join the neighbour of closer similarity; "none":
            they stay. Runs above `max_tokens` are cut where neighbouring sentences are least alike.
        min_tokens: Wished least size of a chunk's text, at most half of `max_tokens`; None: a third
            of it.
        max_tokens: Hard limit of a chunk's index text (context and text) in tokens of `counter`;
            None: no limit. Only a single code point that counts more may exceed it; such a chunk
            has `extras["oversize"]`.
        context: As in `ContentAwareSplitter`.
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `Reading`.
        prompt: What the language model is asked: a template with the places {title} and {text}.
        summary_window: Estimated tokens that it is given at once; of longer texts, the summaries of
            their windows are summarised. An answer above 200 words is shortened to its central
            sentences. None: all of a text in one call, and the answer as it is (paper); where that
            is more than the model reads, the call fails, or a `TransformersModel` says what it
            left out.
        reuse_vectors: Whether an index takes the mean of a chunk's sentences as its vector in the
            view `raw`, and embeds no chunk again; the heading path is then searched by BM25 alone.
            Never with a `boundary_embedder`, whose vectors no index searches.

    Raises:
        InvalidParameter: a setting is not allowed.
    """

    pseudo_instruction: str = "summary"
    instructions: Sequence[str] = ()
    instructions_key: str | None = None
    instruction_vectors: Any = None
    as_query: bool = True
    threshold: str | float = "mean"
    threshold_sd: float = 0.0
    hysteresis: float = 0.5
    scope: str = "auto"
    respect_sections: bool = True
    bounds: str = "merge"
    min_tokens: int | None = None
    max_tokens: int | None = 300
    context: bool = True
    prompt: str = SUMMARY_PROMPT
    summary_window: int | None = 6000
    reuse_vectors: bool = True
    boundary_embedder: Any = None

    @classmethod
    def paper(cls, **changes: Unpack[PICOptions]) -> PICSplitter:
        """As published (section 3.2).

        The document's summary by the prompt of table 7 ("Read this passage: ..."), in one call and
        taken whole; the mean; no size bounds, sections not looked at, no heading path. An index
        embeds the chunks themselves.
        """
        published: dict[str, Any] = {
            "scope": "document",
            "respect_sections": False,
            "bounds": "none",
            "max_tokens": None,
            "context": False,
            "plain_headings": False,
            "hysteresis": 0.0,
            "prompt": PAPER_PROMPT,
            "summary_window": None,
            "reuse_vectors": False,
            "as_query": False,
        }
        return changed(cls, published, changes)

    def __post_init__(self) -> None:
        Reading.__post_init__(self)
        check_choice("pseudo_instruction", self.pseudo_instruction, ("mean", "summary"))
        check_choice("scope", self.scope, ("auto", "document", "section"))
        check_choice("bounds", self.bounds, ("merge", "none"))
        if self.sentence_splitter is None:
            check_choice("language", self.language, LANGUAGES)
        check_at_least("hysteresis", self.hysteresis, 0)
        if self.summary_window is not None:
            check_at_least("summary_window", self.summary_window, 100)
        check_template("prompt", self.prompt, ["text"], optional=["title"])
        texts = read_texts(self.instructions, "instructions")
        object.__setattr__(self, "instructions", texts)
        object.__setattr__(
            self, "instruction_vectors", read_vectors(self.instruction_vectors)
        )
        check_threshold(self.threshold, self.threshold_sd)
        object.__setattr__(
            self, "boundary_embedder", read_boundary_embedder(self.boundary_embedder)
        )
        if self.boundary_embedder is not None:
            object.__setattr__(self, "reuse_vectors", False)
        self._check_bounds()

    def _check_bounds(self) -> None:
        check_at_least("min_tokens", self.least_tokens, 0)
        if self.max_tokens is not None:
            check_at_least("max_tokens", self.max_tokens, 1)
            if self.bounds != "none" and self.least_tokens * 2 > self.max_tokens:
                raise InvalidParameter(
                    f"min_tokens must be at most half of max_tokens ({self.max_tokens}); got "
                    f"{self.min_tokens}."
                )
        if self.scope == "section" and not self.respect_sections:
            raise InvalidParameter(
                "respect_sections must be True where scope is 'section'; got False."
            )

    @property
    def least_tokens(self) -> int:
        """`min_tokens`; for None a third of `max_tokens`, 100 without a limit."""
        if self.min_tokens is not None:
            return self.min_tokens
        return 100 if self.max_tokens is None else self.max_tokens // 3

    def explain_steps(self, document: Document) -> Steps[Explanation]:
        """The chunks of a document and what led to them, as steps.

        For every scope these are its similarities and thresholds.
        """
        explanation, _ = yield from decided_by(
            self._steps(document, with_vectors=False), self.boundary_embedder
        )
        return explanation

    def split_with_vectors_steps(
        self, document: Document
    ) -> Steps[tuple[list[Chunk], FloatArray]]:
        """The chunks with vectors, so that indexing embeds nothing twice.

        A chunk's vector is the token-weighted mean of its sentences' vectors, scaled to length 1.
        All sentences are embedded, also those of sections too short to be looked at. Heading paths
        are not in these vectors. Shape (n chunks, dimension); (0, 0) without chunks.
        """
        explanation, vectors = yield from decided_by(
            self._steps(document, with_vectors=True), self.boundary_embedder
        )
        return list(explanation.chunks), vectors

    def _steps(
        self, document: Document, *, with_vectors: bool
    ) -> Steps[tuple[Explanation, FloatArray]]:
        """The explanation, and vectors of its chunks, (0, 0) without `with_vectors`."""
        outline = self.outline(document)
        maker = ChunkMaker(document, self.counter, self.max_tokens, self.context)
        fitter = Fitter(outline, maker, self.cutter())
        by_section = self._by_section(outline)
        divisions = divide(outline, self.exclude_titles)
        scopes = scopes_of(
            fitter,
            divisions,
            by_section=by_section,
            respect_sections=self.respect_sections,
        )
        looked_at = [
            self._is_worth_it(document.text, scope, by_section) for scope in scopes
        ]
        matrices, instructions = yield from instruction_steps(
            self._instructions(document),
            document,
            scopes,
            looked_at,
            every=with_vectors,
        )
        series: list[Series] = []
        chunks: list[Chunk] = []
        vectors: list[FloatArray] = []
        for scope, matrix, instruction in zip(
            scopes, matrices, instructions, strict=True
        ):
            judged = self._judge(scope, matrix, instruction)
            of_scope, runs = self._chunks(fitter, scope, judged)
            series.append(judged.series(scope, runs))
            chunks += of_scope
            if with_vectors and matrix is not None:
                vectors.append(run_vectors(matrix, judged.sizes, runs))
        stacked = np.concatenate(vectors) if vectors else np.zeros((0, 0))
        return Explanation(document, tuple(series), tuple(chunks)), stacked

    def _instructions(self, document: Document) -> InstructionSettings:
        instructions = (
            document.meta.get(self.instructions_key) if self.instructions_key else None
        )
        return InstructionSettings(
            self.pseudo_instruction,
            read_texts(
                instructions or self.instructions,
                self.instructions_key or "instructions",
            ),
            self.instruction_vectors,
            self.prompt,
            self.summary_window,
            self.language,
            self.as_query,
        )

    def _by_section(self, outline: Outline) -> bool:
        if self.scope != "auto" or not self.respect_sections:
            return self.scope == "section"
        return (
            len(outline.sections) > 1
            and count_tokens(outline.document.text) > LONG_DOCUMENT
        )

    def _is_worth_it(self, text: str, scope: Scope, by_section: bool) -> bool:
        """Whether a scope is looked at.

        It is not where it can only be one chunk, nor is a short section.
        """
        if len(scope.units) < (3 if by_section else 2):
            return False
        if by_section and count_tokens(text[scope.start : scope.end]) < SECTION_TOKENS:
            return False
        if self.bounds == "none" or len(scope.zones) > 1:
            return True
        return sum(unit.tokens for unit in scope.units) >= 2 * self.least_tokens

    def _judge(
        self, scope: Scope, matrix: FloatArray | None, instruction: Instruction | None
    ) -> Judged:
        """Which units of a scope are relevant."""
        return judge(
            scope,
            matrix,
            instruction,
            threshold=self.threshold,
            spread=self.threshold_sd,
            hysteresis=self.hysteresis,
        )

    def _chunks(
        self, fitter: Fitter, scope: Scope, judged: Judged
    ) -> tuple[list[Chunk], list[Run]]:
        """A scope's chunks, and the run of units of each."""
        chunks: list[Chunk] = []
        runs: list[Run] = []
        for zone in scope.zones:
            for run in self._runs(zone, judged):
                for part, piece, context in fitter.pieces(
                    scope.units, run, judged.sizes, judged.affinity, self.least_tokens
                ):
                    section = scope.units[part[0]].division.section
                    extras = judged.extras(part)
                    chunks.append(
                        fitter.maker.chunk(section, piece, context, extras=extras)
                    )
                    runs.append(part)
        return chunks, runs

    def _runs(self, zone: Zone, judged: Judged) -> list[Run]:
        """The runs of a zone within the bounds."""
        least = self.least_tokens if self.bounds != "none" else 0
        limits = Limits(
            least if zone.room is None else min(least, zone.room), zone.room
        )
        cuts = changes(judged.flags[zone.first : zone.last])
        inside = runs_of(cuts, zone.last - zone.first)
        runs = [(zone.first + first, zone.first + last) for first, last in inside]
        if self.bounds != "none":

            def closeness(left: Run, right: Run) -> float:
                return -abs(judged.mean(left) - judged.mean(right))

            runs = join_small(runs, judged.sizes, limits, closeness)
        return split_large(runs, judged.sizes, limits, judged.affinity)
