"""Sentences of a document that explain what a dense chunk presupposes.

IDMS, "Information Density".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np
import regex

from structrag.chunks.enriching.density import (
    ChunkVectors,
    DensityFactors,
    DensitySettings,
    density,
)
from structrag.chunks.enriching.prompts import MISSING_PROMPT
from structrag.chunks.maker import index_text
from structrag.errors import NoModel
from structrag.model_calls.answers import parse_keywords
from structrag.model_calls.requests import Ask, Embed, Failed, Flow, ask
from structrag.records import Chunk, Document
from structrag.text.arrays import FloatArray, unit_vectors
from structrag.text.names import contains
from structrag.text.tokens import TokenCounter

MAX_NAMES = 3  # entities taken from one answer
MAX_WORDS = 5  # of an entity
# Sentences shown in one round, and rounds: a chunk may grow by a fifth, which is one or two
# sentences, so more would be read for nothing.
CANDIDATES = 3
ROUNDS = 3


@dataclass(frozen=True, slots=True)
class SupplementLimits:
    """The limits of what may be added, as in `IDMSEnricher`.

    Example:
        >>> SupplementLimits(0.2, None, counter=len).growth
        0.2
    """

    growth: float
    max_tokens: int | None  # in units of `counter`
    counter: TokenCounter
    prompt: str = MISSING_PROMPT
    if_less_dense: bool = True


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, without the white space around it.

    Example:
        >>> Sentence(chunk=0, start=10, end=25, text="The Nova rings.").start
        10
    """

    chunk: int
    start: int  # in the document's text
    end: int
    text: str


class Source:
    """The sentences of a document's chunks with their unit vectors, in order.

    Example:
        >>> vectors = ChunkVectors((), (), np.zeros((0, 1)))
        >>> Source(Document(""), (), vectors).sentences
        ()
    """

    def __init__(
        self, document: Document, chunks: Sequence[Chunk], vectors: ChunkVectors
    ) -> None:
        self.document = document
        self.chunks = chunks
        self.vectors = vectors
        sentences = []
        for i, (chunk, spans) in enumerate(zip(chunks, vectors.spans, strict=True)):
            for start, end in spans:
                part = chunk.text[start:end]
                first = chunk.start + start + len(part) - len(part.lstrip())
                sentences.append(
                    Sentence(i, first, first + len(part.strip()), part.strip())
                )
        self.sentences = tuple(sentences)
        self.matrix: FloatArray = (
            np.concatenate(vectors.sentences) if sentences else np.zeros((0, 1))
        )

    def of(self, chunk: int) -> list[str]:
        """The sentences of a chunk."""
        text = self.chunks[chunk].text
        return [text[start:end].strip() for start, end in self.vectors.spans[chunk]]

    def nearest(self, chunk: int, n: int, without: set[int]) -> list[int]:
        """The `n` sentences of other places most like a chunk, best first.

        The chunk's sentences, the ones next to them, and those of `without` are left out, and what
        the chunk says itself, as where chunks overlap. Ties: the first.
        """
        text = self.chunks[chunk].text
        inside = [
            i for i, sentence in enumerate(self.sentences) if sentence.chunk == chunk
        ]
        barred = {*inside, *without}
        if inside:
            barred |= {inside[0] - 1, inside[-1] + 1}
        closeness = np.round(self.matrix @ self.vectors.means[chunk], 9)
        order = np.argsort(-closeness, kind="stable").tolist()
        others = (i for i in order if i not in barred)
        return [*islice((i for i in others if self.sentences[i].text not in text), n)]


@dataclass(slots=True)
class Supplement:
    """The supplements of one chunk as they grow, within the limits.

    Example:
        >>> chunk = Chunk("d:0-4", "d", "s", 0, 4, "Nova")
        >>> factors = DensityFactors(0.0, (), 1.0, 1.0, 1.0, tokens=1)
        >>> limits = SupplementLimits(0.2, None, counter=len)
        >>> Supplement(chunk, factors, limits, DensitySettings()).change()
        {}
    """

    chunk: Chunk
    factors: DensityFactors
    limits: SupplementLimits
    settings: DensitySettings
    added: list[dict[str, Any]] = field(default_factory=list)
    used: set[int] = field(default_factory=set)  # sentences shown or added
    # By entity, those added included.
    effectiveness: list[float] = field(default_factory=list)
    counts: list[int] = field(default_factory=list)
    level: float = 0.0  # density with what was added
    dropped: int = 0
    degraded: bool = False
    done: bool = False

    def __post_init__(self) -> None:
        self.effectiveness = [entity.effectiveness for entity in self.factors.entities]
        self.counts = [entity.count for entity in self.factors.entities]
        self.level = self._density(self.effectiveness, self.counts, self.factors.tokens)

    @property
    def indexed(self) -> str:
        """The index text with what was added so far."""
        lines = [self.chunk.context] if self.chunk.context else []
        lines += [item["text"] for item in self.added]
        return index_text("\n".join(lines), self.chunk.text)

    def add(
        self,
        name: str,
        text: str,
        sentence: Sentence,
        effectiveness: float | None = None,
    ) -> bool:
        """Add a line if it is new and fits, and tell whether. With `effectiveness`, that of its
        entity, it is added only if density falls, where the limits say so."""
        if any(item["text"] == text for item in self.added):
            return False
        item = {
            "entity": name,
            "text": text,
            "start": sentence.start,
            "end": sentence.end,
        }
        self.added.append(item)
        if self._fits() and self._is_less_dense(effectiveness):
            return True
        self.added.pop()
        return False

    def _fits(self) -> bool:
        """Whether the index text is within the limits."""
        most = self.limits.max_tokens
        before = self.settings.counter(self.chunk.index_text)
        if self.settings.counter(self.indexed) > int((1 + self.limits.growth) * before):
            return False
        return most is None or self.limits.counter(self.indexed) <= most

    def _is_less_dense(self, effectiveness: float | None) -> bool:
        """Take an entity into account, if density falls by it."""
        if effectiveness is None or not self.limits.if_less_dense:
            return True
        count = self.settings.counter
        grown = count(self.indexed) - count(self.chunk.index_text)
        values, counts = [*self.effectiveness, effectiveness], [*self.counts, 1]
        level = self._density(values, counts, self.factors.tokens + grown)
        if level >= self.level - 1e-9:
            return False
        self.effectiveness, self.counts, self.level = values, counts, level
        return True

    def change(self) -> dict[str, Any]:
        """Return the additions to the chunk's extras."""
        extras: dict[str, Any] = {}
        if self.added:
            extras["added"] = self.added
        if self.dropped:
            extras["dropped"] = self.dropped
        if self.degraded:
            extras["degraded"] = True
        return extras

    def _density(
        self, effectiveness: Sequence[float], counts: Sequence[int], tokens: int
    ) -> float:
        return density(
            effectiveness,
            counts,
            tokens,
            correlation=self.factors.correlation,
            rating=self.factors.rating,
            similarity=self.factors.similarity,
            entity_weight=self.settings.entity_weight,
        )


def defined(works: Sequence[Supplement], places: Sequence[int], source: Source) -> None:
    """Add the document's definitions of codes that chunks do not define."""
    in_document = definitions([sentence.text for sentence in source.sentences])
    for work, place in zip(works, places, strict=True):
        in_chunk = definitions(source.of(place))
        for entity in work.factors.entities:
            name = entity.name
            if name not in in_document:
                name = name.removesuffix("s")  # the plural of an acronym
            if is_code(name) and name in in_document and name not in in_chunk:
                number, words = in_document[name]
                sentence = source.sentences[number]
                if sentence.chunk != place:
                    # A long form across a line end is no slice of the document.
                    is_slice = words in sentence.text
                    work.add(name, words if is_slice else sentence.text, sentence)


def supplement_flow(
    chunks: Sequence[Chunk],
    factors: Sequence[DensityFactors],
    source: Source,
    places: Sequence[int],
    limits: SupplementLimits,
    settings: DensitySettings,
) -> Flow[dict[int, dict[str, Any]]]:
    """Supplements for the chunks at `places`, as changes of their extras. A round asks one list of
    questions for all of them."""
    works = {i: Supplement(chunks[i], factors[i], limits, settings) for i in places}
    without_model: list[int] = []
    for _ in range(ROUNDS):
        without_model += yield from _round_flow(works, limits, source)
    defined([works[i] for i in without_model], without_model, source)
    return {i: work.change() for i, work in works.items()}


def _round_flow(
    works: dict[int, Supplement], limits: SupplementLimits, source: Source
) -> Flow[list[int]]:
    """One round of questions; the chunks whose call failed are returned."""
    shown = {}
    for i, work in works.items():
        if not work.done:
            shown[i] = source.nearest(i, CANDIDATES, work.used)
    active = [i for i, sentences in shown.items() if sentences]
    if not active:
        return []
    prompts = [_question(limits.prompt, works[i], source, shown[i]) for i in active]
    answers = yield [Ask(prompt, "idms.missing/1") for prompt in prompts]
    failed = []
    named: dict[int, list[tuple[str, int]]] = {}
    for i, answer in zip(active, answers, strict=True):
        works[i].used.update(shown[i])
        if isinstance(answer, Failed):
            works[i].done = True
            works[i].degraded = not isinstance(answer.reason, NoModel)
            failed.append(i)
        else:
            named[i] = _named(works[i], parse_keywords(answer), source, shown[i])
    yield from _add_flow(works, named, source)
    return failed


def _add_flow(
    works: dict[int, Supplement],
    named: dict[int, list[tuple[str, int]]],
    source: Source,
) -> Flow[None]:
    """Add the sentences of the named entities within the limits. A chunk that gets none is done."""
    names = tuple(dict.fromkeys(name for pairs in named.values() for name, _ in pairs))
    vectors: dict[str, Any] = {}
    if names:
        answer = yield from ask(Embed(names, query=True))
        vectors = dict(zip(names, unit_vectors(answer), strict=True))
    for i, pairs in named.items():
        works[i].done = True
        for name, place in pairs:
            sentence = source.sentences[place]
            effectiveness = float(vectors[name] @ source.matrix[place])
            if works[i].add(name, sentence.text, sentence, effectiveness):
                works[i].done = False


def _named(
    work: Supplement, names: Sequence[str], source: Source, shown: Sequence[int]
) -> list[tuple[str, int]]:
    """The missing entities that a sentence shown names, with that sentence. The others are counted
    as dropped."""
    pairs: list[tuple[str, int]] = []
    for name in names:
        place = next(
            (i for i in shown if contains(source.sentences[i].text, name)), None
        )
        too_many = len(pairs) == MAX_NAMES or len(name.split()) > MAX_WORDS
        if place is None or too_many or contains(work.indexed, name):
            work.dropped += 1
        else:
            pairs.append((name, place))
    return pairs


def _question(
    prompt: str, work: Supplement, source: Source, shown: Sequence[int]
) -> str:
    lines = [
        f"{number}. {source.sentences[i].text}"
        for number, i in enumerate(shown, start=1)
    ]
    return prompt.format(passage=work.indexed, sentences="\n".join(lines))


_IN_BRACKETS = regex.compile(r"\s\((\p{Lu}[\p{Lu}\p{N}-]{1,9})(?:s)?\)")
# Nothing repeated is given back, which takes `regex` the square of its length.
_SUBJECT = regex.compile(
    r"^\W*+(?:(?:The|An?) )?+(\p{Lu}[\p{Lu}\p{N}-]++"
    r"|(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]++(?:[-_.][\p{L}\p{N}]++)*+)s? "
    r"(?:is|are|refers to|stands for|means|denotes)\b"
)
_CODE = regex.compile(
    r"\p{Lu}[\p{Lu}\p{N}]++(?:[-/][\p{Lu}\p{N}]++)*+"
    r"|(?=\w*\p{N})(?=\w*\p{L})[\p{L}\p{N}]++(?:[-_/.][\p{L}\p{N}]++)*+"
)

_FARTHEST = 1_000  # characters that a long form is looked for in


def is_code(name: str) -> bool:
    """Return True if a name is an acronym or a code, such as `LSTM`."""
    return bool(_CODE.fullmatch(name))


def definition_in(sentence: str) -> list[tuple[str, str]]:
    """The names that a sentence defines, each with the defining words.

    These are `long form (X)`, or the sentence where it is `X is ...`. The long form begins with
    the first letter of X and has its letters in order (Schwartz and Hearst 2003).
    """
    pairs = []
    for match in _IN_BRACKETS.finditer(sentence):
        before = sentence[max(match.start() - _FARTHEST, 0) : match.start()]
        long = _long_form(match.group(1), before)
        if long:
            pairs.append((match.group(1), f"{long} {match.group().strip()}"))
    subject = _SUBJECT.match(sentence)
    if subject:
        pairs.append((subject.group(1), sentence.strip()))
    return pairs


def definitions(sentences: Sequence[str]) -> dict[str, tuple[int, str]]:
    """The first definition of each name: number of the sentence, words."""
    first: dict[str, tuple[int, str]] = {}
    for i, sentence in enumerate(sentences):
        for name, words in definition_in(sentence):
            first.setdefault(name, (i, words))
    return first


def shortened(
    sentences: Sequence[str],
    vectors: FloatArray,
    entities: Sequence[str],
    most: int,
    counter: TokenCounter,
) -> str | None:
    """Select sentences that contain every entity within `most` tokens, in their order.

    First a greedy set cover, then the sentences closest to the mean of all, as long as they fit.
    None if the entities do not fit.
    """
    sizes = [counter(sentence + " ") for sentence in sentences]
    picked = _cover(sentences, entities)
    if picked is None:
        return None
    used = sum(sizes[i] for i in picked)
    if used > most:
        return None
    for i in _nearest_the_mean(vectors):
        if i not in picked and used + sizes[i] <= most:
            picked.append(i)
            used += sizes[i]
    text = " ".join(" ".join(sentences[i].split()) for i in sorted(picked))
    return text if text and counter(text) <= most else None


def _nearest_the_mean(vectors: FloatArray) -> list[int]:
    """The rows by closeness to their mean, ties in their order."""
    if not len(vectors):
        return []
    closeness = np.round(vectors @ vectors.mean(axis=0), 9)
    return [int(i) for i in np.argsort(-closeness, kind="stable")]


def _cover(sentences: Sequence[str], entities: Sequence[str]) -> list[int] | None:
    """Choose sentences that together contain all entities, the one with most new ones first."""
    holding = [
        {name for name in entities if contains(sentence, name)}
        for sentence in sentences
    ]
    missing = set(entities)
    picked: list[int] = []
    while missing:
        # Ties: the first sentence.
        best = max(
            range(len(sentences)),
            key=lambda i: (len(holding[i] & missing), -i),
            default=-1,
        )
        if best < 0 or not holding[best] & missing:
            return None  # a name that runs over the end of a sentence
        picked.append(best)
        missing -= holding[best]
    return picked


def _long_form(short: str, before: str) -> str:
    """Return the end of a text that an acronym abbreviates, or ""."""
    # Schwartz and Hearst look no farther back than this.
    words = before.split()[-min(len(short) + 5, 2 * len(short)) :]
    text = " ".join(words)
    letters = [letter.casefold() for letter in short if letter.isalnum()]
    place = len(text)
    for number in reversed(range(len(letters))):
        place -= 1
        while place >= 0 and not _stands_for(
            text, place, letters[number], begins_word=number == 0
        ):
            place -= 1
        if place < 0:
            return ""
    long = text[place:]
    return long if len(long) > len(short) and len(long.split()) > 1 else ""


def _stands_for(text: str, place: int, letter: str, *, begins_word: bool) -> bool:
    """Return True if `text[place]` is the letter, or begins a word with it."""
    if text[place].casefold() != letter:
        return False
    return not begins_word or place == 0 or not text[place - 1].isalnum()
