"""The margins of the gaps between sentences (IDMS, section 3). They come from a language model,
from a function, or from window similarity."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from structrag.chunks.runs import Run
from structrag.chunks.units import Unit, UnitScope
from structrag.errors import InvalidAnswer, InvalidParameter, check_choice, warn_user
from structrag.model_calls.flow import ask
from structrag.model_calls.requests import Embed, Flow
from structrag.models.margins import (
    KEEP_OPTION,
    NONE,
    PROMPT,
    RATING,
    SPLIT_OPTION,
    UNUSABLE,
    similarity_margins,
    weigh_flow,
    word_margins,
)
from structrag.text.arrays import FloatArray

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
        """The margins of the pairs; None where none can be had. Warns once where the model cannot
        weigh two options."""
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
        before = self.source
        margins, self.source = yield from weigh_flow(
            questions,
            OPTIONS,
            component=COMPONENT,
            source=self.source,
            required=margin == "llm",
            normalised=self.normalised,
        )
        if not before and self.source in _SAID:
            warn_user(_SAID[self.source])
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


@dataclass(slots=True)
class DocumentGaps:
    """The readings of a document of n units. Number i belongs to the gap before unit i; it is NaN
    at the start of a scope."""

    model: GapModel
    sentences: SentenceMargins
    margins: FloatArray = field(init=False)
    thresholds: FloatArray = field(init=False)
    # 1 where the model was asked and gave no margin.
    fallbacks: FloatArray = field(init=False)
    # By the first unit of a scope, and counted from it.
    cuts: dict[int, list[int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        n = len(self.sentences.texts)
        self.margins = np.full(n, np.nan)
        self.thresholds = np.full(n, np.nan)
        self.fallbacks = np.zeros(n)

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
