"""Information density of chunks, every factor by itself (IDMS, equations 2 to 8).

Equation 2 has factors of the whole chunk inside a sum over its entities; they are taken out of it
here:

    density = 100 * C+ * S * alpha+ * sum over different entities e of (w_e * I+_e) / L        x+ =
    x clipped to 0..1
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.asking.requests import Ask, Embed, Failed, Steps
from structrag.chunks.enriching.entities import entity_steps
from structrag.errors import InvalidParameter, check_choice
from structrag.models.margins import holds_rating, parse_rating
from structrag.records import Chunk
from structrag.text.names import EntityFinder, contains, fold, occurrences
from structrag.text.sentences import sentence_spans
from structrag.text.tokens import TokenCounter, count_tokens
from structrag.text.vectors import unit_vectors

FloatArray = NDArray[np.float64]

RATING_PROMPT = """\
Rate the quality of the text below as a passage that has to stand by itself: is it coherent, consistent and complete, without needless
repetition? Answer with one number from 0 (poor) to 10 (excellent) and nothing else.

Text:
{text}

Rating:"""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of a chunk."""

    name: str  # as it is written where it first occurs
    count: int  # occurrences in the chunk, case aside
    effectiveness: float  # I: cosine with the mean of the sentences it occurs in


@dataclass(frozen=True, slots=True)
class DensityFactors:
    """What the density of a chunk is made of."""

    density: float  # per 100 tokens, at least 0
    entities: tuple[Entity, ...]  # different ones
    correlation: float  # C: mean cosine of all pairs of sentences; 1 for a single one
    rating: float  # S: by the language model, 0 to 1; 1 without one
    # alpha: mean of the 3 highest cosines with other chunks of the document; 1 where there is none
    similarity: float
    tokens: int  # L

    @property
    def effectiveness(self) -> float:
        """The mean of the entities'; 0 without any."""
        return (
            float(np.mean([entity.effectiveness for entity in self.entities]))
            if self.entities
            else 0.0
        )


@dataclass(frozen=True, slots=True)
class DensitySettings:
    """How density is measured.

    Attributes:
        entity_weight: What an entity counts: "unique" 1, "count" its occurrences, "literal" the
            number of different entities (equation 4 as printed, which squares it).
        mode: "full", or "simple": different entities per 100 tokens, chain of density's measure.
        use_similarity: Whether alpha is a factor: it makes chunks unlike all others less dense.
        entities: "form" (acronyms, codes, capitalised runs, ...), "llm", or a function from text to
            names, such as `ner_entities(...)`.
        rate: Whether the language model rates every chunk (S).
        max_share: An entity in more than this share of at least four chunks is dropped.
        counter, language: Of tokens and sentences.
    """

    entity_weight: str = "unique"
    mode: str = "full"
    use_similarity: bool = True
    entities: str | EntityFinder = "form"
    rate: bool = False
    max_share: float = 0.5
    counter: TokenCounter = count_tokens
    language: str = "english"

    def __post_init__(self) -> None:
        check_choice("entity_weight", self.entity_weight, ("unique", "count", "literal"))
        check_choice("mode", self.mode, ("full", "simple"))
        if not callable(self.entities):
            check_choice("entities", self.entities, ("form", "llm"))
        if not 0 < self.max_share <= 1:
            raise InvalidParameter(
                f"max_share must be above 0 and at most 1; got {self.max_share!r}."
            )


def density(
    effectiveness: Sequence[float],
    counts: Sequence[int],
    tokens: int,
    *,
    correlation: float = 1.0,
    rating: float = 1.0,
    similarity: float = 1.0,
    entity_weight: str = "unique",
) -> float:
    """Equation 2 per 100 tokens, from the factors of one chunk; 0 without tokens or entities."""
    if not tokens or not len(effectiveness):
        return 0.0
    weights = {
        "unique": [1] * len(counts),
        "count": counts,
        "literal": [len(counts)] * len(counts),
    }[entity_weight]
    total = float(np.dot(weights, np.clip(effectiveness, 0, 1)))
    return 100 * _clip(correlation) * rating * _clip(similarity) * total / tokens


def mean_pair_cosine(vectors: ArrayLike) -> float:
    """C of equation 5: the mean cosine of all pairs of different rows; 1 for fewer than two. O(n
    d)."""
    units = unit_vectors(vectors)
    n = len(units)
    if n < 2:
        return 1.0
    return float((np.sum(units.sum(axis=0) ** 2) - np.sum(units**2)) / (n * (n - 1)))


def similarity_to_others(vectors: ArrayLike, *, top: int = 3) -> FloatArray:
    """alpha of equation 7: for each row the mean of its `top` highest cosines with other rows; 1
    for a single row."""
    units = unit_vectors(vectors)
    n = len(units)
    if n < 2:
        return np.ones(n)
    values = np.zeros(n)
    k = min(top, n - 1)
    for start in range(0, n, 512):
        cosines = units[start : start + 512] @ units.T
        cosines[np.arange(len(cosines)), np.arange(start, start + len(cosines))] = -np.inf
        values[start : start + 512] = np.partition(cosines, n - k, axis=1)[:, n - k :].mean(axis=1)
    return values


def density_steps(
    chunks: Sequence[Chunk], settings: DensitySettings
) -> Steps[tuple[list[DensityFactors], ChunkVectors]]:
    """The density of a document's chunks, and the vectors that it was made of.

    Embeds every sentence and every entity once; a chunk's vector is the mean of its sentences'.
    With "llm" entities or `rate`, one call a chunk each: a chunk whose entities cannot be read has
    those by form, one without a rating has the median of the others (1 if none).
    """
    spans = [_sentences(chunk, settings.language) for chunk in chunks]
    found = yield from entity_steps(
        [chunk.text for chunk in chunks], settings.entities, settings.max_share
    )
    ratings = yield from _rating_steps(chunks, settings)
    texts = [
        [chunk.text[start:end].strip() for start, end in own]
        for chunk, own in zip(chunks, spans, strict=True)
    ]
    flat = [text for own in texts for text in own]
    names = list(dict.fromkeys(name for own in found for name in own.values()))
    answer = (yield [Embed((*flat, *names))])[0] if flat or names else np.zeros((0, 1))
    vectors = unit_vectors(answer)
    of_name = dict(zip(names, vectors[len(flat) :], strict=True))
    made: list[FloatArray] = []
    row = 0
    for own in texts:
        made.append(vectors[row : row + len(own)])
        row += len(own)
    means = np.zeros((len(chunks), vectors.shape[1]))
    for i, rows in enumerate(made):
        means[i] = rows.mean(axis=0) if len(rows) else 0.0
    similarity = similarity_to_others(means) if settings.use_similarity else np.ones(len(chunks))
    factors = []
    for i, chunk in enumerate(chunks):
        entities = _weighed(found[i], chunk.text, texts[i], made[i], of_name)
        factors.append(
            _factors(
                entities,
                made[i],
                ratings[i],
                float(similarity[i]),
                settings.counter(chunk.text),
                settings,
            )
        )
    return factors, ChunkVectors(tuple(map(tuple, spans)), tuple(made), means)


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """Sentences of the chunks of a document (spans in the chunk's text), their unit vectors, and
    their mean for each chunk."""

    spans: tuple[tuple[tuple[int, int], ...], ...]
    sentences: tuple[FloatArray, ...]
    means: FloatArray


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _sentences(chunk: Chunk, language: str) -> list[tuple[int, int]]:
    return sentence_spans(chunk.text, language=language)


def _weighed(
    found: dict[str, str],
    text: str,
    sentences: Sequence[str],
    vectors: FloatArray,
    of_name: dict[str, FloatArray],
) -> tuple[Entity, ...]:
    folded = [fold(sentence) for sentence in sentences]
    entities = []
    for key, name in found.items():
        holding = [i for i, sentence in enumerate(folded) if occurrences(sentence, key)]
        mean = vectors[holding].mean(axis=0) if holding else np.zeros_like(of_name[name])
        length = float(np.linalg.norm(mean))
        cosine = float(of_name[name] @ mean) / length if length > 1e-12 else 0.0
        entities.append(Entity(name, max(1, contains(text, name)), cosine))
    return tuple(entities)


def _factors(
    entities: tuple[Entity, ...],
    vectors: FloatArray,
    rating: float,
    similarity: float,
    tokens: int,
    settings: DensitySettings,
) -> DensityFactors:
    correlation = mean_pair_cosine(vectors)
    if settings.mode == "simple":
        value = 100 * len(entities) / tokens if tokens else 0.0
    else:
        value = density(
            [entity.effectiveness for entity in entities],
            [entity.count for entity in entities],
            tokens,
            correlation=correlation,
            rating=rating,
            similarity=similarity,
            entity_weight=settings.entity_weight,
        )
    return DensityFactors(value, entities, correlation, rating, similarity, tokens)


def _rating_steps(chunks: Sequence[Chunk], settings: DensitySettings) -> Steps[list[float]]:
    if not settings.rate or not chunks:
        return [1.0] * len(chunks)
    answers = yield [
        Ask(RATING_PROMPT.format(text=chunk.text), "idms.rating/1", usable=holds_rating)
        for chunk in chunks
    ]
    ratings = [None if isinstance(answer, Failed) else parse_rating(answer) for answer in answers]
    known = [rating for rating in ratings if rating is not None]
    middle = median(known) if known else 10.0
    return [(middle if rating is None else rating) / 10 for rating in ratings]
