"""The margins of the gaps between sentences: from a language model, from a function, or from window
similarity (IDMS, section 3)."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from structrag.asking.requests import Embed, Steps
from structrag.chunks.bounds import Run
from structrag.chunks.units import Unit
from structrag.errors import InvalidAnswer, InvalidParameter, check_choice
from structrag.models.margins import (
    KEEP_OPTION,
    NONE,
    PROMPT,
    RATING,
    SPLIT_OPTION,
    UNUSABLE,
    FloatArray,
    similarity_margins,
    weigh_steps,
)
from structrag.models.word_margins import word_margins

Pair = tuple[str, str]  # the text before a gap and the text behind it
MarginFunction = Callable[
    [Sequence[Pair]], Sequence[float | None]
]  # margins from -1 to 1, positive: they belong together

SIMILARITY, WORDS, FUNCTION = "similarity", "words", "function"
COMPONENT = "idms.margin/1"
WINDOW = 4  # of the similarity margin where the context has none

_SAID = {
    RATING: "The language model gives no log-probabilities of the two options; IDMS margins are "
    "read from ratings from 0 to 10.",
    UNUSABLE: "The language model neither weighs two options nor rates them; IDMS margins are "
    "similarities of the sentences instead.",
}
_CONTEXT = re.compile(r"adjacent|chunk|window:([1-9]\d{0,3})")


def window_of(context: str) -> int | None:
    """How many sentences stand on each side of a gap; None for "chunk". Raises InvalidParameter for
    an unknown context."""
    match = _CONTEXT.fullmatch(context) if isinstance(context, str) else None
    if match is None:
        raise InvalidParameter(
            "context must be 'adjacent', 'chunk' or 'window:w' with a number w of sentences from "
            f"1; got {context!r}."
        )
    return None if context == "chunk" else int(match.group(1) or 1)


@dataclass(slots=True)
class Scope:
    """A row of units that is cut by itself: a division, or a document. Its units are numbered
    through the document from `first`."""

    units: list[Unit]
    room: int | None  # tokens of text a chunk may have
    first: int
    sizes: list[int] = field(init=False)  # tokens of each unit

    def __post_init__(self) -> None:
        self.sizes = [unit.tokens for unit in self.units]

    @property
    def run(self) -> Run:
        """The scope's units among those of the document: first, and behind the last."""
        return self.first, self.first + len(self.units)


@dataclass(slots=True)
class DocumentGaps:
    """What was read from a document of n units. Number i belongs to the gap in front of unit i; NaN
    where a scope starts."""

    n: int
    source: str = ""  # what margins were read from
    margins: FloatArray = field(init=False)
    thresholds: FloatArray = field(init=False)
    fallbacks: FloatArray = field(init=False)  # 1 where the model was asked and gave no margin
    cuts: dict[int, list[int]] = field(
        default_factory=dict
    )  # by the first unit of a scope, counted from it

    def __post_init__(self) -> None:
        self.margins, self.thresholds = np.full(self.n, np.nan), np.full(self.n, np.nan)
        self.fallbacks = np.zeros(self.n)


def words_of(text: str, first: Unit, last: Unit) -> str:
    """The text from one unit to another, without the heading in front of it and white space around
    it."""
    return text[first.text_start : last.end].strip() or text[first.start : last.end].strip()


@dataclass(slots=True)
class GapModel:
    """Weighs the gaps of one document; what its model can do is decided by the first of them.

    Attributes:
        margin: "auto", "llm", "similarity", "words" or a function, as in `IDMSSplitter`.
        prompt: As in `IDMSSplitter`.
        source: What margins were read from; "" before the first.
    """

    margin: str | MarginFunction
    prompt: str = PROMPT
    source: str = ""

    @property
    def asked(self) -> bool:
        """Whether a model is there that should have given every margin."""
        return self.source not in {"", NONE}

    def margin_steps(self, pairs: Sequence[Pair]) -> Steps[list[float | None]]:
        """The margins of the pairs; None where there is none to be had."""
        if self.margin in (SIMILARITY, WORDS) or not pairs:
            return [None] * len(pairs)
        if callable(self.margin):
            self.source = FUNCTION
            return _checked(self.margin(pairs), len(pairs))
        questions = [
            self.prompt.format(left=left, right=right, first=SPLIT_OPTION, second=KEEP_OPTION)
            for left, right in pairs
        ]
        before = self.source
        margins, self.source = yield from weigh_steps(
            questions,
            ("2", "1"),  # a margin is positive where the first of them, to keep, is likelier
            component=COMPONENT,
            source=self.source,
            required=self.margin == "llm",
        )
        if not before and self.source in _SAID:
            warnings.warn(_SAID[self.source], stacklevel=2)
        return margins


@dataclass(slots=True)
class SentenceMargins:
    """The window-similarity margins of a document's gaps, made when they are first asked for.

    `texts` are the sentences, `scopes` the runs of them that windows do not cross.
    """

    texts: Sequence[str]
    scopes: Sequence[Run]
    window: int = WINDOW
    by_words: bool = False
    language: str = "english"
    values: FloatArray | None = None

    def steps(self) -> Steps[FloatArray]:
        """One margin a gap, NaN between scopes; embeds every sentence once, unless it goes by their
        words."""
        if self.values is None and self.by_words:
            self.values = word_margins(self.texts, self.window, self.scopes, language=self.language)
        if self.values is None:
            vectors = (
                (yield [Embed(tuple(self.texts))])[0]
                if len(self.texts) > 1
                else np.zeros((len(self.texts), 1))
            )
            self.values = similarity_margins(vectors, self.window, self.scopes)
        return self.values


def read_at_once(
    text: str,
    scopes: Sequence[Scope],
    window: int,
    model: GapModel,
    similarity: SentenceMargins,
    gaps: DocumentGaps,
) -> Steps[None]:
    """Fill in the margins of all gaps: one list of requests, and the similarity where there is no
    answer."""
    numbered = [(scope, i) for scope in scopes for i in range(1, len(scope.units))]
    places = [scope.first + i for scope, i in numbered]
    if model.margin in (SIMILARITY, WORDS):
        answers: list[float | None] = [None] * len(numbered)
    else:
        answers = yield from model.margin_steps(
            [_pair(text, scope.units, i, window) for scope, i in numbered]
        )
    for place, answer in zip(places, answers, strict=True):
        gaps.margins[place] = np.nan if answer is None else answer
    missing = [place for place, answer in zip(places, answers, strict=True) if answer is None]
    if missing:
        values = yield from similarity.steps()
        gaps.margins[missing] = values[np.asarray(missing) - 1]
        gaps.fallbacks[missing] = model.asked


def _pair(text: str, units: Sequence[Unit], gap: int, window: int) -> Pair:
    last = min(len(units), gap + window) - 1
    return words_of(text, units[max(0, gap - window)], units[gap - 1]), words_of(
        text, units[gap], units[last]
    )


def check_margin(margin: str | MarginFunction) -> None:
    """Raise InvalidParameter unless it is a known name or a function."""
    if not callable(margin):
        check_choice("margin", margin, ("auto", "llm", SIMILARITY, WORDS))


def _checked(values: Sequence[float | None], n: int) -> list[float | None]:
    margins = [None if value is None else float(value) for value in values]
    bad = [value for value in margins if value is not None and not -1.0 <= value <= 1.0]
    if bad or len(margins) != n:
        raise InvalidAnswer(
            f"The function given as margin must return {n} margins from -1 to 1, or None, for {n} "
            f"pairs; got {len(margins)}" + (f", among them {bad[0]!r}." if bad else ".")
        )
    return margins
