"""IDMS chunks by margin sampling (IDMS, "Margin Sampling Chunking"). For every gap between
sentences it is asked whether its sides belong together: of a language model, of a function, or of
the similarity of windows (section 3)."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from structrag.chunks.model_splitter import (
    BoundarySettings,
    BoundarySplitter,
    Explanation,
)
from structrag.chunks.runs import (
    EPSILON,
    Run,
    SizeLimits,
    join_small,
    runs_of,
)
from structrag.chunks.units import Series, Unit, UnitScope
from structrag.errors import (
    InvalidAnswer,
    InvalidParameter,
    check_at_least,
    check_choice,
    check_optional,
    warn_user,
)
from structrag.model_calls.requests import Embed, Flow, ask
from structrag.models.margins import (
    KEEP_OPTION,
    NONE,
    PAPER_PROMPT,
    PROMPT,
    RATING,
    SPLIT_OPTION,
    UNUSABLE,
    check_prompt,
    similarity_margins,
    weigh_flow,
    word_margins,
)
from structrag.reading.settings import changed
from structrag.records import Chunk, Document
from structrag.text.arrays import FloatArray
from structrag.text.cutting import Piece
from structrag.text.tokens import TokenCounter, count_tokens

if TYPE_CHECKING:
    from typing_extensions import Unpack


Pair = tuple[str, str]  # the text before a gap and the text behind it
# Margins are from -1 to 1, positive: the two texts belong together.
MarginFunction = Callable[[Sequence[Pair]], Sequence[float | None]]

SIMILARITY, WORDS, FUNCTION = "similarity", "words", "function"
MARGINS = ("auto", "llm", SIMILARITY, WORDS)  # those that are no functions
COMPONENT = "idms.margin/1"
# A margin is positive where the first of them, to keep, is likelier.
OPTIONS = ("2", "1")
WINDOW = 4  # of the similarity margin where the context has none

_SAID = {
    RATING: (
        "The language model returns no log-probabilities for the two options; IDMS margins come "
        "from its ratings from 0 to 10 instead."
    ),
    UNUSABLE: (
        "The language model gave neither log-probabilities nor ratings for the two options; "
        "IDMS margins come from the similarity of the sentences instead."
    ),
}
_CONTEXT = re.compile(r"adjacent|chunk|window:([1-9]\d{0,3})")


def window_of(context: str) -> int | None:
    """The sentences on each side of a gap; None for "chunk".

    Raises:
        InvalidParameter: the context is unknown.
    """
    match = _CONTEXT.fullmatch(context) if isinstance(context, str) else None
    if match is None:
        raise InvalidParameter(
            "context must be 'adjacent', 'chunk' or 'window:w', where w is a number of sentences "
            f"from 1; got {context!r}."
        )
    return None if context == "chunk" else int(match.group(1) or 1)


def words_of(text: str, first: Unit, last: Unit) -> str:
    """The text from one unit to another. The heading in front of it and white space around it are
    left out."""
    return (
        text[first.text_start : last.end].strip()
        or text[first.start : last.end].strip()
    )


@dataclass(slots=True)
class GapModel:
    """Weighs the gaps of one document.

    What its model can do is decided by the first answers.

    Attributes:
        margin: "auto", "llm", "similarity", "words" or a function, as in `IDMSSplitter`.
        prompt, normalised: As in `IDMSSplitter`.
        source: What margins were read from; "" before the first.
    """

    margin: str | MarginFunction
    prompt: str = PROMPT
    normalised: bool = True
    source: str = ""

    @property
    def asked(self) -> bool:
        """Return True if there is a model that should have given every margin."""
        return self.source not in {"", NONE}

    def margin_flow(self, pairs: Sequence[Pair]) -> Flow[list[float | None]]:
        """The margins of the pairs; None where none can be had. Warns where the model cannot weigh
        two options."""
        if self.margin in (SIMILARITY, WORDS) or not pairs:
            return [None] * len(pairs)
        margin = self.margin
        if not self.normalised:
            margin = getattr(margin, "unnormalised", margin)
        # A model with no question of its own is asked the splitter's, as one given as llm is.
        weigher = getattr(margin, "choose_many", None)
        if getattr(margin, "prompt", None) is not None:
            weigher = None
        if callable(margin) and weigher is None:
            self.source = FUNCTION
            return _checked(margin(pairs), len(pairs))
        questions = [
            self.prompt.format(
                left=left, right=right, first=SPLIT_OPTION, second=KEEP_OPTION
            )
            for left, right in pairs
        ]
        if weigher is not None:
            self.source = FUNCTION
            return _checked(weigher(questions, OPTIONS), len(pairs))
        margins, self.source = yield from weigh_flow(
            questions,
            OPTIONS,
            component=COMPONENT,
            source=self.source,
            required=margin == "llm",
            normalised=self.normalised,
        )
        if self.source in _SAID:
            warn_user(_SAID[self.source], once=True)
        return margins


@dataclass(slots=True)
class SentenceMargins:
    """The window-similarity margins of a document's gaps. They are made when they are first asked
    for. `texts` are the sentences, `scopes` the runs of them that windows do not cross."""

    texts: Sequence[str]
    scopes: Sequence[Run]
    window: int = WINDOW
    by_words: bool = False
    language: str = "english"
    values: FloatArray | None = None

    def flow(self) -> Flow[FloatArray]:
        """One margin a gap, NaN between scopes. Every sentence is embedded once, unless their words
        are compared."""
        if self.values is None and self.by_words:
            self.values = word_margins(
                self.texts, self.window, self.scopes, language=self.language
            )
        if self.values is None:
            vectors = yield from ask(Embed(tuple(self.texts), of="sentences"))
            self.values = similarity_margins(vectors, self.window, self.scopes)
        return self.values


class DocumentGaps:
    """The readings of a document of n units. Number i belongs to the gap before unit i; it is NaN
    at the start of a scope."""

    def __init__(self, model: GapModel, sentences: SentenceMargins) -> None:
        self.model = model
        self.sentences = sentences
        n = len(sentences.texts)
        self.margins: FloatArray = np.full(n, np.nan)
        self.thresholds: FloatArray = np.full(n, np.nan)
        # 1 where the model was asked and gave no margin.
        self.fallbacks: FloatArray = np.zeros(n)
        # By the first unit of a scope, and counted from it.
        self.cuts: dict[int, list[int]] = {}

    @property
    def source(self) -> str:
        """The source of the margins."""
        if self.model.source in {"", NONE, UNUSABLE}:
            return WORDS if self.sentences.by_words else SIMILARITY
        return self.model.source

    def read_all(
        self, text: str, scopes: Sequence[UnitScope], window: int
    ) -> Flow[None]:
        """Fill in the margins of all gaps, with one list of requests."""
        numbered = [(scope, i) for scope in scopes for i in range(1, len(scope.units))]
        places = [scope.first + i for scope, i in numbered]
        pairs = []
        if self.model.margin not in (SIMILARITY, WORDS):
            pairs = [_pair(text, scope.units, i, window) for scope, i in numbered]
        yield from self.read(places, pairs)

    def read(self, places: Sequence[int], pairs: Sequence[Pair]) -> Flow[None]:
        """Fill in the margins at these places, by similarity if there is no answer."""
        margins = yield from self.model.margin_flow(pairs)
        margins = margins or [None] * len(places)
        missing = []
        for place, margin in zip(places, margins, strict=True):
            if margin is None:
                missing.append(place)
            else:
                self.margins[place] = margin
        if missing:
            values = yield from self.sentences.flow()
            self.margins[missing] = values[np.asarray(missing) - 1]
            self.fallbacks[missing] = self.model.asked


def _pair(text: str, units: Sequence[Unit], gap: int, window: int) -> Pair:
    """Up to `window` units before a gap, and behind it."""
    first = max(0, gap - window)
    last = min(len(units), gap + window) - 1
    before = words_of(text, units[first], units[gap - 1])
    return before, words_of(text, units[gap], units[last])


def check_margin(margin: str | MarginFunction) -> None:
    """Raise InvalidParameter unless it is a known name or a function."""
    if not callable(margin):
        check_choice("margin", margin, MARGINS)


def _checked(values: Sequence[float | None], n: int) -> list[float | None]:
    """Return the margins of a function if there are `n` within range."""
    margins = [None if value is None else float(value) for value in values]
    bad = [value for value in margins if value is not None and not -1.0 <= value <= 1.0]
    if bad or len(margins) != n:
        example = f", among them {bad[0]!r}" if bad else ""
        raise InvalidAnswer(
            f"The function given as margin must return {n} margins from -1 to 1, or None, for {n} "
            f"pairs; got {len(margins)}{example}."
        )
    return margins


class IDMSSettings(BoundarySettings, total=False):
    """The settings of `IDMSSplitter` but for margin, path and sizes, as keywords."""

    context: str
    warmup: int
    history: int | None
    merge: str
    prompt: str
    normalised: bool


@dataclass(frozen=True, slots=True)
class IDMSSplitter(BoundarySplitter):
    """Splits where sentences belong together less than at recent gaps.

    It cuts at a gap whose margin does not exceed a threshold that follows recent margins, then
    merges small segments.

    Example:
        >>> splitter = IDMSSplitter(margin="words", min_tokens=6)
        >>> text = "Cats purr. Cats sleep. Pumps leak. Pumps rust."
        >>> [chunk.text for chunk in splitter.split(Document(text))]
        ['Cats purr. Cats sleep. ', 'Pumps leak. Pumps rust.']

    The chunks tile the document, except for excluded sections; an empty or blank document has none.
    A margin, from -1 to 1, says how strongly the two sides of a gap belong together. By
    construction about every second gap is cut, so merging determines the sizes. Chunk extras:
    `margin`, of the gap before the chunk (None at the start of a scope); `margin_source`, what the
    margins were derived from; `margin_fallbacks`, the number of gaps inside for which similarity
    replaced a missing answer of the model, and then `degraded`.

    Attributes:
        margin: "similarity": of the sentences around a gap, by the embedder. "words": by TF-IDF of
            the document's own words, which needs no embedder and is the fastest. "llm": the
            language model weighs "keep" against "split", by log-probabilities, else by a rating;
            without a model it raises NoModel. "auto": "llm" if there is one, else "similarity". Or
            a `TransformersMargin`, which answers `prompt`, or a function from [(text before, text
            after), ...] to margins.
        context: What is compared on each side of a gap: "adjacent" (one sentence), "window:w" (w
            sentences), or "chunk" (the current chunk against the next sentence, so calls run in
            sequence).
        warmup, history: The threshold is 0 for the first `warmup` margins, then the mean of the
            last `history` margins (None: all).
        merge: "weakest", "greedy" or "none"; see `structrag.chunks.idms.splitter.merge_runs`.
        min_tokens: Smaller segments are merged if both fit `max_tokens`; None: half of
            `max_tokens`.
        target_tokens: The size that "greedy" aims at.
        prompt: The question, a template with {left} and {right}, and {first} and {second} for the
            options, 1 for split and 2 for keep.
        normalised: Whether a model's margins are (pA - pB) / (pA + pB), which stay large even if it
            gives both options little probability; False: pA - pB. A function's margins are left
            unchanged.
        respect_sections: Whether chunks and windows end at section borders; the threshold carries
            over.
        heading_path: Whether chunks carry it in their context (at most 64 tokens and a quarter of
            the limit).
        exclude_titles, plain_headings, counter, language, sentence_splitter: As in `ReadOptions`.
        max_tokens, boundary_embedder, reuse_vectors: As in `BoundarySplitter`.
    """

    margin: str | MarginFunction = "auto"
    context: str = "window:4"
    warmup: int = 5
    history: int | None = None
    merge: str = "weakest"
    target_tokens: int = 200
    prompt: str = PROMPT
    normalised: bool = True
    heading_path: bool = True

    def __post_init__(self) -> None:
        BoundarySplitter.__post_init__(self)
        check_margin(self.margin)
        if window_of(self.context) is None and self.margin in (SIMILARITY, WORDS):
            raise InvalidParameter(
                f"context must be 'adjacent' or 'window:w' with margin={self.margin!r}, which "
                "does not see the current chunk; got 'chunk'."
            )
        check_at_least("warmup", self.warmup, 0)
        check_optional("history", self.history, 1)
        check_choice("merge", self.merge, MERGES)
        check_at_least("target_tokens", self.target_tokens, 1)
        SizeLimits(self.least_tokens, self.max_tokens)
        check_prompt(self.prompt)

    @classmethod
    def paper(
        cls,
        *,
        margin: str | MarginFunction = "llm",
        min_tokens: int | None = 0,
        target_tokens: int = 260,
        max_tokens: int | None = None,
        heading_path: bool = False,
        counter: TokenCounter = count_tokens,
        **changes: Unpack[IDMSSettings],
    ) -> IDMSSplitter:
        """The settings of the paper.

        The current chunk is compared with the next sentence (equation 1). The threshold is 0 for
        the first gap, then the mean of all earlier margins. There are no limits and no sections.
        The margin is not divided by the probability of both options, whether the model is passed as
        `llm` or as `margin=TransformersMargin(...)`. The enrichment is `IDMSEnricher.paper()`.

        The paper is silent on merging. Segments are filled greedily up to 200 words (about 260
        tokens of English), as in the code of Meta-Chunking (github.com/IAAR-Shanghai/Meta-Chunking,
        `tools/margin_sampling_chunking.py` at commit 792216a6). The threshold of that code is the
        mean of the last five margins, and 0 before: `paper(warmup=5, history=5)`.
        """
        settings: dict[str, Any] = {
            "margin": margin,
            "context": "chunk",
            "merge": "greedy",
            "warmup": 1,
            "min_tokens": min_tokens,
            "target_tokens": target_tokens,
            "max_tokens": max_tokens,
            "prompt": PAPER_PROMPT,
            "normalised": False,
            "respect_sections": False,
            "heading_path": heading_path,
            "counter": counter,
            "reuse_vectors": False,
        }
        return changed(cls, settings, changes)

    @property
    def least_tokens(self) -> int:
        """`min_tokens`; if None, half of `max_tokens`, or 150 without a limit."""
        if self.min_tokens is not None:
            return self.min_tokens
        return 150 if self.max_tokens is None else self.max_tokens // 2

    def _decided_flow(
        self, document: Document, *, every: bool = False
    ) -> Flow[Explanation]:
        fitter = self._fitter(document, with_path=self.heading_path)
        scopes = self._scopes(fitter, by_zone=True)
        gaps = yield from self._read(document.text, scopes)
        series: list[Series] = []
        chunks: list[Chunk] = []
        for scope in scopes:
            of_scope = self._series(scope, gaps)
            series.append(of_scope)
            extras = partial(_extras, scope, gaps)
            run_chunks = self._chunks(
                fitter,
                scope,
                of_scope.runs,
                of_scope.values,
                extras,
                self._limits(scope.room).least,
            )
            chunks += [chunk for _, chunk in run_chunks]
        return Explanation(document, tuple(series), tuple(chunks))

    def _read(self, text: str, scopes: Sequence[UnitScope]) -> Flow[DocumentGaps]:
        """The margins and cuts of all gaps, scope after scope."""
        window = window_of(self.context)
        sentences = [
            words_of(text, unit, unit) for scope in scopes for unit in scope.units
        ]
        similarity = SentenceMargins(
            sentences,
            [scope.run for scope in scopes],
            window or WINDOW,
            self.margin == WORDS,
            self.language,
        )
        model = GapModel(self.margin, self.prompt, self.normalised)
        gaps = DocumentGaps(model, similarity)
        # It begins at 0, as in the paper: a margin of 0 says neither "keep" nor "split".
        threshold = AdaptiveThreshold(0.0, self.warmup, self.history)
        if window is not None:
            yield from gaps.read_all(text, scopes, window)
        for scope in scopes:
            if window is None:
                yield from _read_along(text, scope, threshold, gaps)
                continue
            inside = slice(scope.first + 1, scope.run[1])
            gaps.cuts[scope.first], gaps.thresholds[inside] = decide(
                gaps.margins[inside].tolist(), threshold, scope.sizes, scope.room
            )
        return gaps

    def _series(self, scope: UnitScope, gaps: DocumentGaps) -> Series:
        """Return the numbers of a scope, and its merged runs."""
        inside = slice(*scope.run)
        margins = gaps.margins[inside].tolist()
        runs = merge_runs(
            gaps.cuts[scope.first],
            margins[1:],
            scope.sizes,
            self._limits(scope.room),
            merge=self.merge,
            target=self.target_tokens,
        )
        thresholds = tuple(gaps.thresholds[inside].tolist())
        return Series(scope.units, tuple(margins), thresholds, tuple(runs), gaps.source)


def _read_along(
    text: str, scope: UnitScope, threshold: AdaptiveThreshold, gaps: DocumentGaps
) -> Flow[None]:
    """The chunk so far against the next sentence.

    Nothing is asked about a gap that the limit cuts.
    """
    units, cuts = scope.units, gaps.cuts.setdefault(scope.first, [])
    start, size = 0, units[0].tokens
    for i, unit in enumerate(units[1:], start=1):
        place = scope.first + i
        gaps.thresholds[place] = gaps.margins[place] = threshold.value
        keep = scope.room is None or size + unit.tokens <= scope.room
        if keep:
            pair = (
                words_of(text, units[start], units[i - 1]),
                words_of(text, unit, unit),
            )
            yield from gaps.read([place], [pair])
            keep = threshold.keeps(float(gaps.margins[place]))
        if not keep:
            cuts.append(i)
            start, size = i, 0
        size += unit.tokens


def _extras(
    scope: UnitScope, gaps: DocumentGaps, run: Run, piece: Piece
) -> dict[str, Any]:
    """The extras of a chunk of a run of a scope's units, as in `IDMSSplitter`."""
    first, last = run[0] + scope.first, run[1] + scope.first
    extras: dict[str, Any] = {"margin": None, "margin_source": gaps.source}
    if run[0] and piece.start == scope.units[run[0]].start:
        extras["margin"] = round(float(gaps.margins[first]), 6)
    fallbacks = int(gaps.fallbacks[first + 1 : last].sum())
    if fallbacks:
        extras |= {"margin_fallbacks": fallbacks, "degraded": True}
    return extras


MERGES = ("weakest", "greedy", "none")


@dataclass(slots=True)
class AdaptiveThreshold:
    """A threshold that follows the margins.

    It starts at `value`. From `warmup` margins on it is the mean of the last `history` ones (None:
    of all). The margin decided about is not part of the threshold it is compared with.

    Example:
        >>> threshold = AdaptiveThreshold(warmup=2)
        >>> [threshold.keeps(margin) for margin in (0.4, 0.2, 0.25)]
        [True, True, False]
    """

    value: float = 0.0
    warmup: int = 5
    history: int | None = 5
    seen: int = 0
    recent: deque[float] = field(default_factory=deque)
    total: float = 0.0

    def keeps(self, margin: float) -> bool:
        """Return True if the margin of a gap is above the threshold (by 1e-9), and move the
        threshold on."""
        keep = margin > self.value + EPSILON
        self.seen += 1
        self.total += margin
        if self.history is not None:
            self.recent.append(margin)
            if len(self.recent) > self.history:
                self.recent.popleft()
        if self.seen >= self.warmup:
            if self.history is None:
                self.value = self.total / self.seen
            else:
                self.value = sum(self.recent) / len(self.recent)
        return keep


def decide(
    margins: Sequence[float],
    threshold: AdaptiveThreshold,
    sizes: Sequence[int] = (),
    most: int | None = None,
) -> tuple[list[int], list[float]]:
    """The cuts of a row of units, and each gap's threshold.

    `margins[i]` belongs to the gap in front of unit i + 1. A cut at i is before unit i. A gap is
    also cut where the next unit would pass `most` tokens, and its margin moves the threshold
    like any other. `threshold` is changed: it runs on to the next row.
    """
    cuts: list[int] = []
    thresholds: list[float] = []
    size = sizes[0] if sizes else 0
    for i, margin in enumerate(margins, start=1):
        thresholds.append(threshold.value)
        keep = threshold.keeps(margin)
        size += sizes[i] if sizes else 0
        if not keep or (most is not None and size > most):
            cuts.append(i)
            size = sizes[i] if sizes else 0
    return cuts, thresholds


def merge_runs(
    cuts: Sequence[int],
    margins: Sequence[float],
    sizes: Sequence[int],
    limits: SizeLimits,
    *,
    merge: str = "weakest",
    target: int = 200,
) -> list[Run]:
    """The segments of a row of units, brought to size.

    "weakest": a segment below `limits.least` joins the neighbour across the larger margin.
    "greedy": left to right while a segment with the next counts at most `target`. "none": as cut.

    Raises:
        InvalidParameter: `merge` is another name.
    """
    check_choice("merge", merge, MERGES)
    runs = runs_of(cuts, len(sizes))
    if merge == "none":
        return runs
    if merge == "greedy":
        return _greedy(
            runs, sizes, target if limits.most is None else min(target, limits.most)
        )
    return join_small(runs, sizes, limits, lambda left, right: margins[right[0] - 1])


def _greedy(runs: Sequence[Run], sizes: Sequence[int], target: int) -> list[Run]:
    """Runs joined from the left while they count at most `target`."""
    totals = np.concatenate([[0], np.cumsum(sizes)])
    merged: list[Run] = []
    for first, last in runs:
        if merged and totals[last] - totals[merged[-1][0]] <= target:
            merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged
