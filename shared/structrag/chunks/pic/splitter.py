"""PIC: chunks by similarity to a pseudo-instruction.

The paper is "Document Segmentation Matters for Retrieval-Augmented Generation". One summary of the
document stands for the questions nobody has asked yet. Sentences as close to it as the average or
closer are relevant, the others are not, and runs of equal sentences are chunks (section 3.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from structrag.chunks.model_splitter import (
    BoundarySettings,
    BoundarySplitter,
    Explanation,
)
from structrag.chunks.pic.summaries import (
    PAPER_PROMPT,
    SUMMARY_PROMPT,
    ModelSummary,
    summary_flow,
)
from structrag.chunks.runs import (
    EPSILON,
    BoolArray,
    Run,
    RunMean,
    SizeLimits,
    changes,
    check_threshold,
    join_small,
    labels,
    runs_of,
    similarity_to_own,
    split_large,
    threshold_of,
    weighted_mean,
)
from structrag.chunks.units import Series, UnitScope, pooled, unit_text, windows_of
from structrag.errors import (
    InvalidParameter,
    check_at_least,
    check_choice,
    check_optional,
    check_template,
)
from structrag.model_calls.requests import Embed, Flow
from structrag.reading.outline import Outline
from structrag.reading.settings import changed
from structrag.records import Chunk, Document
from structrag.text.arrays import FloatArray, similarity
from structrag.text.cutting import Piece
from structrag.text.extractive import central
from structrag.text.heading_path import SEPARATOR
from structrag.text.sentences import LANGUAGES
from structrag.text.tokens import TokenCounter, count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack


@dataclass(frozen=True, slots=True)
class Instruction:
    """The text that the sentences of one scope are compared with."""

    vectors: FloatArray  # shape (m, d); the closest counts
    # In place of vectors: the scope's own sentences that are its summary.
    picked: tuple[int, ...] = ()
    note: str = ""  # in words
    # The language model should have given a summary and did not, or not of all the text.
    degraded: bool = False


def read_texts(value: Any, name: str) -> tuple[str, ...]:
    """Instructions as texts; one string is one.

    Raises:
        InvalidParameter: they are not texts, or blank.
    """
    texts = (value,) if isinstance(value, str) else value
    is_list = isinstance(texts, Sequence)
    if not is_list or any(
        not isinstance(text, str) or not text.strip() for text in texts
    ):
        raise InvalidParameter(f"{name} must be non-blank strings; got {value!r}.")
    return tuple(texts)


def instruction_flow(
    settings: PICSplitter,
    users: Sequence[str],
    document: Document,
    scopes: Sequence[UnitScope],
    looked_at: Sequence[bool],
    *,
    every: bool = False,
) -> Flow[tuple[list[FloatArray | None], list[Instruction | None]]]:
    """Every scope's unit vectors, and what to compare them with.

    `users` are the user's instructions, if any. Vectors have length 1. Both are None for scopes
    that are not examined; with `every` all have vectors. Summaries are asked for first, all at
    once. Then all units and instructions are embedded, each once.
    """
    chosen = np.flatnonzero(np.asarray(looked_at, dtype=bool)).tolist()
    summaries: dict[int, ModelSummary] = {}
    if settings.pseudo_instruction == "summary" and chosen and not users:
        summaries = yield from _summary_flow(settings, document, scopes, chosen)
    usable = {i: summary.text for i, summary in summaries.items() if summary.text}
    embedded = list(range(len(scopes))) if every else chosen
    units = [
        [unit_text(document.text, unit) for unit in scopes[i].units] for i in embedded
    ]
    queries = list(usable.values())
    if chosen:
        queries += users  # where there are some, there are no summaries
    scope_vectors, query_vectors = yield from _embed(
        units, queries, settings.as_query, whole=settings.summary_window is None
    )
    summary_vectors = dict(zip(usable, query_vectors, strict=False))
    matrices: list[FloatArray | None] = [None] * len(scopes)
    instructions: list[Instruction | None] = [None] * len(scopes)
    for i, texts, matrix in zip(embedded, units, scope_vectors, strict=True):
        matrices[i] = matrix
        if not looked_at[i]:
            continue
        if users:
            instructions[i] = Instruction(query_vectors, note="\n".join(users))
        else:
            vector = summary_vectors.get(i)
            instructions[i] = _pseudo_instruction(
                summaries.get(i), vector, texts, matrix
            )
    return matrices, instructions


def _summary_flow(
    settings: PICSplitter,
    document: Document,
    scopes: Sequence[UnitScope],
    chosen: Sequence[int],
) -> Flow[dict[int, ModelSummary]]:
    """The chosen scopes' summaries by number."""
    titles = [SEPARATOR.join(scopes[i].path) or document.title for i in chosen]
    texts = [
        [document.text[unit.start : unit.end] for unit in scopes[i].units]
        for i in chosen
    ]
    summaries = yield from summary_flow(
        titles,
        texts,
        settings.prompt,
        window=settings.summary_window,
        language=None if settings.summary_window is None else settings.language,
    )
    return dict(zip(chosen, summaries, strict=True))


def _pseudo_instruction(
    summary: ModelSummary | None,
    vector: FloatArray | None,
    texts: Sequence[str],
    matrix: FloatArray,
) -> Instruction:
    """Return the summary with its vector, or a substitute.

    Without a model these are a scope's own most central sentences. Else it is the mean of all
    their vectors, with the reason where a summary failed.
    """
    if summary is not None and vector is not None:
        note, degraded = summary.text, bool(summary.failure)
        return Instruction(vector[None, :], note=note, degraded=degraded)
    if summary is not None and summary.no_model:
        picked = central(matrix, [len(text.split()) for text in texts])
        note = " ".join(texts[i] for i in picked)
        return Instruction(np.zeros((0, 0)), tuple(picked), note=note)
    mean = matrix.mean(axis=0)[None, :]
    note = "the mean of the sentences' vectors"
    if summary is None:
        return Instruction(mean, note=note)
    return Instruction(mean, note=f"{note}, because {summary.failure}", degraded=True)


def _whole(text: str) -> list[str]:
    return [text] if text.strip() else []


def _embed(
    scopes: Sequence[Sequence[str]],
    queries: Sequence[str],
    as_query: bool,
    *,
    whole: bool,
) -> Flow[tuple[list[FloatArray], FloatArray]]:
    """The vectors of the scopes' units and of the queries, in windows where they are long; with
    `whole` each is one text to embed."""
    windows = _whole if whole else windows_of
    unit_windows = list(map(windows, chain.from_iterable(scopes)))
    query_windows = list(map(windows, queries))
    texts = tuple(chain.from_iterable(unit_windows))
    asked = tuple(chain.from_iterable(query_windows))
    if as_query:
        requests = [Embed(texts, of="sentences")] if texts else []
        requests += [Embed(asked, query=True)] if queries else []
    else:
        # Together, since LSA is fitted to the texts of a request.
        requests = [Embed(texts + asked, of="sentences")] if texts + asked else []
    answers = list((yield requests)) if requests else []
    rows = answers[0][: len(texts)] if texts else np.zeros((0, 1))
    vectors = pooled(rows, list(map(len, unit_windows)))
    matrices = []
    first = 0
    for scope in scopes:
        matrices.append(vectors[first : first + len(scope)])
        first += len(scope)
    if not queries:
        return matrices, np.zeros((0, 1))
    query_rows = answers[-1] if as_query else answers[0][len(texts) :]
    return matrices, pooled(query_rows, list(map(len, query_windows)))


SECTION_TOKENS = 200  # a shorter section is one chunk, and nobody is asked about it
# Estimated tokens; above it one vector cannot tell a document's parts apart.
LONG_DOCUMENT = 2000


class PICSettings(BoundarySettings, total=False):
    """The settings of `PICSplitter` but for its sizes, as keywords."""

    pseudo_instruction: str
    instructions: Sequence[str]
    instructions_key: str | None
    as_query: bool
    threshold: str | float
    threshold_sd: float
    hysteresis: float
    scope: str
    bounds: str
    prompt: str
    summary_window: int | None


@dataclass(frozen=True, slots=True)
class PICSplitter(BoundarySplitter):
    """Splits a document where relevance to a pseudo-instruction begins and ends.

    Each chunk is a run of relevant sentences or a run of other sentences.

    Example:
        >>> splitter = PICSplitter(min_tokens=2, scope="document", hysteresis=0)
        >>> text = "Cats sleep a lot. Cats hunt a lot. The pump leaks."
        >>> [chunk.text for chunk in splitter.split(Document(text))]
        ['Cats sleep a lot. Cats hunt a lot. ', 'The pump leaks.']

    The chunks tile the document, except for excluded sections; each consists of whole sentences,
    list items, tables or code blocks unless one alone exceeds the limit. A blank document has no
    chunks. Settings are checked when the splitter is created.

    A chunk's `extras`: `relevant`; `mean_similarity` (token-weighted mean over its sentences) and
    `threshold`, both None, and `relevant` true, for text too short to be compared with anything;
    and `degraded` if the language model failed to write a summary.

    Attributes:
        pseudo_instruction: "summary": written by the language model, or without one the most
            central sentences, none of which is compared with itself; "mean": the mean of the
            sentence vectors.
        instructions: Texts that replace the pseudo-instruction: real or expected questions (the
            paper's RIC), or keywords. A sentence is as similar as to the most similar of them. One
            string is one instruction.
        instructions_key: The metadata key of a document's own instructions, a text or a list of
            texts, which replace `instructions`. A document without them uses `instructions`, or
            else the pseudo-instruction.
        as_query: Whether to embed the summary and instructions as queries, which matters for
            embedders with separate query prompts; False: like the sentences (equation 1).
        threshold: "mean" or "median" of the similarities, or a number (an infinite one gives a
            single run).
        threshold_sd: Population standard deviations added to the mean or median.
        hysteresis: The number of standard deviations by which a similarity must cross the threshold
            to end a run; 0: any crossing does.
        scope: What shares an instruction and a threshold: the "document", or each "section";
            "auto": sections in a document that has sections and more than 2,000 estimated tokens.
            In section scope, a section below 200 tokens is one chunk if it fits.
        bounds: "merge": runs below `min_tokens` are merged with the neighbour of closer similarity;
            "none": they stay. Runs above `max_tokens` are cut where neighbouring sentences are
            least similar.
        min_tokens: The minimum size to aim at for a chunk's text, at most half of `max_tokens`;
            None: a third of it.
        context: As in `ContentAwareSplitter`.
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `ReadOptions`.
        prompt: The prompt for the language model, a template with the placeholders {title} and
            {text}.
        summary_window: The estimated tokens of one prompt; for longer texts, the summaries of their
            windows are summarised. An answer above 200 words is shortened to its central sentences;
            texts above 150 words are embedded in windows and averaged. None (paper): the whole text
            in one call, and the answer unchanged; if the text exceeds the model's context, the call
            fails, or a `TransformersModel` reports what it removed. Each text is embedded whole,
            truncated to what the embedder reads.
        respect_sections, max_tokens, boundary_embedder, reuse_vectors: As in `BoundarySplitter`.

    Raises:
        InvalidParameter: a setting is not allowed.
    """

    pseudo_instruction: str = "summary"
    instructions: Sequence[str] = ()
    instructions_key: str | None = None
    as_query: bool = True
    threshold: str | float = "mean"
    threshold_sd: float = 0.0
    hysteresis: float = 0.5
    scope: str = "auto"
    bounds: str = "merge"
    context: bool = True
    prompt: str = SUMMARY_PROMPT
    summary_window: int | None = 6000

    @classmethod
    def paper(
        cls,
        *,
        min_tokens: int | None = None,
        max_tokens: int | None = None,
        context: bool = False,
        counter: TokenCounter = count_tokens,
        **changes: Unpack[PICSettings],
    ) -> PICSplitter:
        """As published (section 3.2).

        The document's summary by the prompt of table 7 ("Read this passage: ..."), in one call and
        unchanged, also a refusal; the mean as threshold; no size bounds, no sections, no heading
        path. An index embeds the chunks themselves.
        """
        published: dict[str, Any] = {
            "scope": "document",
            "respect_sections": False,
            "bounds": "none",
            "min_tokens": min_tokens,
            "max_tokens": max_tokens,
            "context": context,
            "counter": counter,
            "plain_headings": False,
            "sentence_splitter": "punkt",
            "hysteresis": 0.0,
            "prompt": PAPER_PROMPT,
            "summary_window": None,
            "reuse_vectors": False,
            "as_query": False,
        }
        return changed(cls, published, changes)

    def __post_init__(self) -> None:
        BoundarySplitter.__post_init__(self)
        check_choice("pseudo_instruction", self.pseudo_instruction, ("mean", "summary"))
        check_choice("scope", self.scope, ("auto", "document", "section"))
        check_choice("bounds", self.bounds, ("merge", "none"))
        if not callable(self.sentence_splitter):
            check_choice("language", self.language, LANGUAGES)
        check_at_least("hysteresis", self.hysteresis, 0)
        check_optional("summary_window", self.summary_window, 100)
        check_template("prompt", self.prompt, ["text"], optional=["title"])
        texts = read_texts(self.instructions, "instructions")
        object.__setattr__(self, "instructions", texts)
        check_threshold(self.threshold, self.threshold_sd)
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
                "respect_sections must be True when scope is 'section'; got False."
            )

    @property
    def least_tokens(self) -> int:
        """`min_tokens`; if None, a third of `max_tokens`, or 100 without a limit."""
        if self.min_tokens is not None:
            return self.min_tokens
        return 100 if self.max_tokens is None else self.max_tokens // 3

    def _decided_flow(
        self, document: Document, *, every: bool = False
    ) -> Flow[Explanation]:
        fitter = self._fitter(document, with_path=self.context)
        by_section = self._by_section(fitter.outline)
        scopes = self._scopes(fitter, by_zone=by_section)
        looked_at = [
            self._is_worth_it(document.text, scope, by_section) for scope in scopes
        ]
        key = self.instructions_key
        texts = (document.meta.get(key) if key else None) or self.instructions
        users = read_texts(texts, key or "instructions")
        matrices, instructions = yield from instruction_flow(
            self, users, document, scopes, looked_at, every=every
        )
        series: list[Series] = []
        chunks: list[Chunk] = []
        for scope, matrix, instruction in zip(
            scopes, matrices, instructions, strict=True
        ):
            judged = judge(
                scope,
                matrix,
                instruction,
                threshold=self.threshold,
                spread=self.threshold_sd,
                hysteresis=self.hysteresis,
            )
            runs = self._runs(scope, judged)
            run_chunks = list(
                self._chunks(
                    fitter,
                    scope,
                    runs,
                    judged.affinity,
                    judged.extras,
                    self.least_tokens,
                )
            )
            series.append(judged.series(scope, [run for run, _ in run_chunks]))
            chunks += [chunk for _, chunk in run_chunks]
        return Explanation(document, tuple(series), tuple(chunks))

    def _by_section(self, outline: Outline) -> bool:
        if self.scope != "auto" or not self.respect_sections:
            return self.scope == "section"
        return (
            len(outline.sections) > 1
            and count_tokens(outline.document.text) > LONG_DOCUMENT
        )

    def _is_worth_it(self, text: str, scope: UnitScope, by_section: bool) -> bool:
        """Return False for a scope that can only be one chunk, and for a short section."""
        if len(scope.units) < (3 if by_section else 2):
            return False
        if by_section and count_tokens(text[scope.start : scope.end]) < SECTION_TOKENS:
            return False
        if self.bounds == "none" or len(scope.zones) > 1:
            return True
        return sum(unit.tokens for unit in scope.units) >= 2 * self.least_tokens

    def _runs(self, scope: UnitScope, judged: Judged) -> list[Run]:
        """The runs of a scope within the bounds."""
        sizes = scope.sizes
        runs: list[Run] = []
        for zone in scope.zones:
            limits = self._limits(zone.room)
            cuts = changes(judged.flags[zone.first : zone.last])
            inside = runs_of(cuts, zone.last - zone.first)
            of_zone = [
                (zone.first + first, zone.first + last) for first, last in inside
            ]
            if self.bounds == "none":
                limits = SizeLimits(0, zone.room)
            else:
                of_zone = join_small(of_zone, sizes, limits, judged.closeness)
            runs += split_large(of_zone, sizes, limits, judged.affinity)
        return runs


@dataclass(frozen=True, slots=True)
class Judged:
    """The judgement of the n units of one scope. Without an instruction all are relevant, and
    nothing was compared."""

    # Cosine of each unit with the one before; 0 for the first, and without vectors.
    affinity: list[float]
    instruction: Instruction | None
    values: FloatArray  # shape (n,); similarities
    threshold: float  # NaN without an instruction
    flags: BoolArray  # shape (n,); whether relevant
    mean: RunMean  # of the values in a run, weighted by tokens

    def is_relevant(self, run: Run) -> bool:
        """Return True if a run's units are relevant; if they differ, if its mean is."""
        flags = self.flags[run[0] : run[1]]
        if flags.any() and not flags.all():
            return self.mean(run) >= self.threshold - EPSILON
        return bool(flags[0])

    def closeness(self, left: Run, right: Run) -> float:
        """Return how near the mean values of two runs are."""
        return -abs(self.mean(left) - self.mean(right))

    def extras(self, run: Run, _: Piece | None = None) -> dict[str, Any]:
        """The extras of the chunk of a run, as in `PICSplitter`."""
        if self.instruction is None:
            return {"relevant": True, "mean_similarity": None, "threshold": None}
        is_finite = np.isfinite(self.threshold)  # JSON has no infinity
        extras: dict[str, Any] = {
            "relevant": self.is_relevant(run),
            "mean_similarity": round(self.mean(run), 6),
            "threshold": round(self.threshold, 6) if is_finite else None,
        }
        if self.instruction.degraded:
            extras["degraded"] = True
        return extras

    def series(self, scope: UnitScope, runs: Sequence[Run]) -> Series:
        """Return the numbers and runs for an explanation."""
        # A unit above the limit is in several chunks.
        different = tuple(dict.fromkeys(runs))
        if self.instruction is None:
            return Series(scope.units, (), (), different)
        return Series(
            units=scope.units,
            values=tuple(self.values.tolist()),
            thresholds=(self.threshold,) * len(self.values),
            runs=different,
            note=self.instruction.note,
        )


def judge(
    scope: UnitScope,
    matrix: FloatArray | None,
    instruction: Instruction | None,
    *,
    threshold: str | float,
    spread: float,
    hysteresis: float,
) -> Judged:
    """Compare a scope's units with the instruction. The rows of `matrix` are the units' vectors.
    Settings are those of `PICSplitter`."""
    n = len(scope.units)
    affinity = np.zeros(n)
    values = np.zeros(n)
    limit = float("nan")
    flags = np.ones(n, dtype=bool)
    if matrix is not None:
        affinity[1:] = (matrix[1:] * matrix[:-1]).sum(axis=1)
        if instruction is not None:
            values = relevance(matrix, instruction)
            limit = threshold_of(values, threshold, spread)
            flags = labels(values, limit, margin=hysteresis * float(values.std()))
    mean = weighted_mean(values, scope.sizes)
    return Judged(affinity.tolist(), instruction, values, limit, flags, mean)


def relevance(matrix: FloatArray, instruction: Instruction) -> FloatArray:
    """Each sentence's highest cosine with an instruction vector. If the instruction is the scope's
    own sentences, none is compared with itself."""
    if instruction.picked:
        return similarity_to_own(matrix, instruction.picked)
    return similarity(matrix, instruction.vectors)
