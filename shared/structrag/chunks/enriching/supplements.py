"""Which sentences of a document explain what a dense chunk presupposes (IDMS, "Information
Density"; spec, section 5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from structrag.asking.replies.lists import answers_list, parse_keywords
from structrag.asking.requests import Ask, Embed, Failed, Steps
from structrag.chunks.enriching.definitions import definition_in, definitions, is_code, shortened
from structrag.chunks.enriching.density import (
    ChunkVectors,
    DensityFactors,
    DensitySettings,
    density,
)
from structrag.chunks.maker import index_text
from structrag.errors import NoModel
from structrag.records import Chunk, Document
from structrag.text.names import contains
from structrag.text.tokens import TokenCounter
from structrag.text.vectors import FloatArray, unit_vectors

MAX_NAMES = 3  # entities taken from one answer

MISSING_PROMPT = """\
Below are a passage of a document and sentences from other places in the same document. Which entities that a reader needs in order to
understand the passage are missing from it, and are named in one of the sentences? An entity is a name, a term or a code of at most 5
words, written as in the sentence. Name at most 3. Answer with a JSON list of strings and nothing else; [] if nothing is missing.

Passage:
{passage}

Sentences:
{sentences}

Missing entities:"""


@dataclass(frozen=True, slots=True)
class SupplementLimits:
    """How much may be added; see `IDMSEnricher`."""

    candidates: int
    rounds: int
    growth: float
    max_tokens: int | None  # in units of `counter`
    counter: TokenCounter


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a document, without the white space around it."""

    chunk: int
    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class Source:
    """The sentences of a document's chunks with their unit vectors, in order."""

    document: Document
    chunks: tuple[Chunk, ...]
    vectors: ChunkVectors
    sentences: tuple[Sentence, ...] = field(init=False)
    matrix: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        found = []
        for i, (chunk, spans) in enumerate(zip(self.chunks, self.vectors.spans, strict=True)):
            for start, end in spans:
                part = chunk.text[start:end]
                first = chunk.start + start + len(part) - len(part.lstrip())
                found.append(Sentence(i, first, first + len(part.strip()), part.strip()))
        object.__setattr__(self, "sentences", tuple(found))
        object.__setattr__(
            self, "matrix", np.concatenate(self.vectors.sentences) if found else np.zeros((0, 1))
        )

    def of(self, chunk: int) -> list[str]:
        """The sentences of a chunk."""
        return [
            self.chunks[chunk].text[start:end].strip() for start, end in self.vectors.spans[chunk]
        ]

    def nearest(self, chunk: int, n: int, without: set[int]) -> list[int]:
        """The `n` sentences most like a chunk, best first: not its own, nor the one before and
        behind it, nor one of `without`."""
        own = [i for i, sentence in enumerate(self.sentences) if sentence.chunk == chunk]
        barred = {*own, *((own[0] - 1, own[-1] + 1) if own else ()), *without}
        closeness = np.round(self.matrix @ self.vectors.means[chunk], 9)
        order = np.argsort(-closeness, kind="stable").tolist()
        return [i for i in order if i not in barred][:n]


@dataclass(slots=True)
class Supplement:
    """The supplements of one chunk as they grow, within the limits."""

    chunk: Chunk
    factors: DensityFactors
    limits: SupplementLimits
    settings: DensitySettings
    added: list[dict[str, Any]] = field(default_factory=list)
    used: set[int] = field(default_factory=set)  # sentences shown or added
    effectiveness: list[float] = field(
        default_factory=list
    )  # of the entities, those added included
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
        lines = [
            *([self.chunk.context] if self.chunk.context else []),
            *(item["text"] for item in self.added),
        ]
        return index_text("\n".join(lines), self.chunk.text)

    def add(
        self, name: str, text: str, sentence: Sentence, effectiveness: float | None = None
    ) -> bool:
        """Add a line if it is not there yet and fits; with `effectiveness`, that of its entity,
        only if density falls."""
        if any(item["text"] == text for item in self.added):
            return False
        count = self.settings.counter
        before = count(self.chunk.index_text)
        self.added.append(
            {"entity": name, "text": text, "start": sentence.start, "end": sentence.end}
        )
        after = count(self.indexed)
        most = self.limits.max_tokens
        fits = after <= int((1 + self.limits.growth) * before)
        fits = fits and (most is None or self.limits.counter(self.indexed) <= most)
        if fits and effectiveness is not None:
            values, counts = [*self.effectiveness, effectiveness], [*self.counts, 1]
            level = self._density(values, counts, self.factors.tokens + after - before)
            fits = level < self.level - 1e-9
            if fits:
                self.effectiveness, self.counts, self.level = values, counts, level
        if not fits:
            self.added.pop()
        return fits

    def change(self) -> dict[str, Any]:
        """What goes into the chunk's extras."""
        found: dict[str, Any] = {"added": self.added} if self.added else {}
        if self.dropped:
            found["dropped"] = self.dropped
        return {**found, "degraded": True} if self.degraded else found

    def _density(self, effectiveness: Sequence[float], counts: Sequence[int], tokens: int) -> float:
        own = self.factors
        return density(
            effectiveness,
            counts,
            tokens,
            correlation=own.correlation,
            rating=own.rating,
            similarity=own.similarity,
            entity_weight=self.settings.entity_weight,
        )


def shortened_text(
    source: Source, chunk: int, names: Sequence[str], most: int, settings: DensitySettings
) -> str | None:
    """Sentences of a chunk that hold all of its entities in at most `most` tokens; None if there
    are none."""
    return shortened(
        source.of(chunk), source.vectors.sentences[chunk], names, most, settings.counter
    )


def defined(works: Sequence[Supplement], places: Sequence[int], source: Source) -> None:
    """Add the document's own definitions of the acronyms and codes that chunks use and do not
    define."""
    known = definitions([sentence.text for sentence in source.sentences])
    for work, place in zip(works, places, strict=True):
        own = {name for sentence in source.of(place) for name, _ in definition_in(sentence)}
        for entity in work.factors.entities:
            name = entity.name if entity.name in known else entity.name.removesuffix("s")
            if is_code(name) and name in known and name not in own:
                number, words = known[name]
                sentence = source.sentences[number]
                if sentence.chunk != place:
                    work.add(name, words if words in sentence.text else sentence.text, sentence)


def supplement_steps(
    chunks: Sequence[Chunk],
    factors: Sequence[DensityFactors],
    source: Source,
    places: Sequence[int],
    limits: SupplementLimits,
    settings: DensitySettings,
    *,
    use_llm: bool,
) -> Steps[dict[int, dict[str, Any]]]:
    """Supplements for the chunks at `places`, as changes of their extras; one list of questions a
    round for all of them."""
    works = {i: Supplement(chunks[i], factors[i], limits, settings) for i in places}
    without_model = [] if use_llm else list(places)
    for _ in range(limits.rounds if use_llm else 0):
        active = [i for i in places if not works[i].done]
        if not active:
            break
        shown = {i: source.nearest(i, limits.candidates, works[i].used) for i in active}
        answers = yield [
            Ask(_question(works[i], source, shown[i]), "idms.missing/1", usable=answers_list)
            for i in active
        ]
        found: dict[int, list[tuple[str, int]]] = {}
        for i, answer in zip(active, answers, strict=True):
            works[i].used.update(shown[i])
            if isinstance(answer, Failed):
                works[i].done = True
                works[i].degraded = not isinstance(answer.reason, NoModel)
                without_model.append(i)
            else:
                found[i] = _named(works[i], parse_keywords(answer), source, shown[i])
        yield from _add_steps(works, found, source)
    defined([works[i] for i in without_model], without_model, source)
    return {i: work.change() for i, work in works.items()}


def _add_steps(
    works: dict[int, Supplement], found: dict[int, list[tuple[str, int]]], source: Source
) -> Steps[None]:
    """Add the sentences of the named entities as long as density falls; a chunk that gets none is
    done."""
    names = tuple(dict.fromkeys(name for pairs in found.values() for name, _ in pairs))
    vectors = (
        dict(zip(names, unit_vectors((yield [Embed(names, query=True)])[0]), strict=True))
        if names
        else {}
    )
    for i, pairs in found.items():
        grown = [
            works[i].add(
                name,
                source.sentences[place].text,
                source.sentences[place],
                float(vectors[name] @ source.matrix[place]),
            )
            for name, place in pairs
        ]
        works[i].done = not any(grown)


def _named(
    work: Supplement, names: Sequence[str], source: Source, shown: Sequence[int]
) -> list[tuple[str, int]]:
    """The entities that are missing and occur in a sentence shown, with that sentence; the others
    are counted as dropped."""
    found: list[tuple[str, int]] = []
    for name in names:
        place = next((i for i in shown if contains(source.sentences[i].text, name)), None)
        if (
            place is None
            or contains(work.indexed, name)
            or len(found) == MAX_NAMES
            or len(name.split()) > 5
        ):
            work.dropped += 1
        else:
            found.append((name, place))
    return found


def _question(work: Supplement, source: Source, shown: Sequence[int]) -> str:
    listed = "\n".join(
        f"{number}. {source.sentences[i].text}" for number, i in enumerate(shown, start=1)
    )
    return MISSING_PROMPT.format(passage=work.indexed, sentences=listed)
