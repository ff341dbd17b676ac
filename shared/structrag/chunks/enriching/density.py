"""Information density of chunks and its factors (IDMS, equations 2 to 8). Equation 2 has factors of
the whole chunk inside a sum over its entities. They are taken out of it here: density = 100 * C+ *
S * alpha+ * sum over different entities e of (w_e * I+_e) / L x+ = x clipped to 0..1"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from statistics import median

import numpy as np
from numpy.typing import ArrayLike, NDArray

from structrag.chunks.enriching.prompts import EnrichmentPrompts
from structrag.errors import InvalidParameter, check_choice
from structrag.model_calls.answers import parse_keywords
from structrag.model_calls.requests import Ask, Embed, Failed, Flow
from structrag.models.margins import parse_rating
from structrag.records import Chunk
from structrag.text.arrays import unit_vectors
from structrag.text.names import (
    EntityFinder,
    contains,
    fold,
    names_by_form,
    occurrences,
)
from structrag.text.sentences import sentence_spans
from structrag.text.tokens import TokenCounter, count_tokens

FloatArray = NDArray[np.float64]

_ROWS = 512  # of cosines that are held in memory at a time


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of a chunk.

    Example:
        >>> Entity("Nova", count=2, effectiveness=0.8).name
        'Nova'
    """

    name: str  # as it is written where it first occurs
    count: int  # occurrences in the chunk, case aside
    effectiveness: float  # I: cosine with the mean of the sentences it occurs in


@dataclass(frozen=True, slots=True)
class DensityFactors:
    """The factors of a chunk's density.

    Example:
        >>> entities = (Entity("Nova", 2, 0.75), Entity("LSTM", 1, 0.25))
        >>> DensityFactors(1.2, entities, 1.0, 1.0, 1.0, tokens=80).effectiveness
        0.5
    """

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
        if not self.entities:
            return 0.0
        return float(np.mean([entity.effectiveness for entity in self.entities]))


@dataclass(frozen=True, slots=True)
class DensitySettings:
    """Settings of the measure of density.

    Example:
        >>> DensitySettings(entity_weight="count").mode
        'full'

    Attributes:
        entity_weight: The weight of an entity: "unique" 1, "count" its occurrences, "literal" the
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
        check_choice(
            "entity_weight", self.entity_weight, ("unique", "count", "literal")
        )
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
    """Equation 2 per 100 tokens, from the factors of one chunk.

    It is 0 without tokens or entities.

    Example:
        >>> factors = {"correlation": 0.5, "rating": 0.8, "similarity": 0.6}
        >>> round(density([0.8, 0.6, 0.5], [2, 1, 1], tokens=40, **factors), 2)
        1.14
    """
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
    """The mean cosine of all pairs of different rows. This is C of equation 5. It is 1 for fewer
    than two rows. O(n d)."""
    units = unit_vectors(vectors)
    n = len(units)
    if n < 2:
        return 1.0
    # The square of the sum is the sum over all pairs, each row with itself included.
    all_pairs = np.sum(units.sum(axis=0) ** 2)
    return float((all_pairs - np.sum(units**2)) / (n * (n - 1)))


def similarity_to_others(vectors: ArrayLike) -> FloatArray:
    """The mean of each row's three highest cosines with other rows. This is alpha of equation 7. It
    is 1 for a single row."""
    units = unit_vectors(vectors)
    n = len(units)
    if n < 2:
        return np.ones(n)
    values = np.zeros(n)
    k = min(3, n - 1)
    for start in range(0, n, _ROWS):
        cosines = units[start : start + _ROWS] @ units.T
        rows = np.arange(len(cosines))
        cosines[rows, start + rows] = -np.inf  # no row is compared with itself
        highest = np.partition(cosines, n - k, axis=1)[:, n - k :]
        values[start : start + _ROWS] = highest.mean(axis=1)
    return values


def density_flow(
    chunks: Sequence[Chunk],
    settings: DensitySettings,
    prompts: EnrichmentPrompts | None = None,
) -> Flow[tuple[list[DensityFactors], ChunkVectors]]:
    """The density of a document's chunks, and the vectors behind it.

    Embeds every sentence and every entity once. A chunk's vector is the mean of its sentences'.
    With "llm" entities or `rate` the model is called once a chunk for each. A chunk whose entities
    cannot be read has those by form. One without a rating has the median of the others (1 if there
    is none).
    """
    prompts = prompts or EnrichmentPrompts()
    spans = [sentence_spans(chunk.text, language=settings.language) for chunk in chunks]
    entities = yield from entity_flow(
        [chunk.text for chunk in chunks],
        settings.entities,
        settings.max_share,
        prompts.entities,
    )
    ratings = yield from _rating_flow(chunks, settings, prompts.rating)
    sentences = []
    for chunk, chunk_spans in zip(chunks, spans, strict=True):
        sentences.append([chunk.text[start:end].strip() for start, end in chunk_spans])
    vectors, of_name = yield from _vector_flow(sentences, entities)
    means = np.zeros((len(chunks), vectors[0].shape[1] if vectors else 1))
    for i, rows in enumerate(vectors):
        means[i] = rows.mean(axis=0) if len(rows) else 0.0
    similarity = (
        similarity_to_others(means) if settings.use_similarity else np.ones(len(chunks))
    )
    factors = []
    for i, chunk in enumerate(chunks):
        weighed = _weighed(entities[i], chunk.text, sentences[i], vectors[i], of_name)
        alpha = float(similarity[i])
        factors.append(
            _factors(chunk, weighed, vectors[i], ratings[i], alpha, settings)
        )
    return factors, ChunkVectors(tuple(map(tuple, spans)), tuple(vectors), means)


def _vector_flow(
    sentences: Sequence[Sequence[str]], entities: Sequence[dict[str, str]]
) -> Flow[tuple[list[FloatArray], dict[str, FloatArray]]]:
    """Unit vectors of each chunk's sentences and of all entities."""
    texts = list(chain.from_iterable(sentences))
    names = list(
        dict.fromkeys(chain.from_iterable(names.values() for names in entities))
    )
    answer = (
        (yield [Embed((*texts, *names))])[0] if texts or names else np.zeros((0, 1))
    )
    vectors = unit_vectors(answer)
    of_chunks = []
    row = 0
    for chunk_sentences in sentences:
        of_chunks.append(vectors[row : row + len(chunk_sentences)])
        row += len(chunk_sentences)
    return of_chunks, dict(zip(names, vectors[row:], strict=True))


@dataclass(frozen=True, slots=True)
class ChunkVectors:
    """The sentences of a document's chunks and their vectors.

    Example:
        >>> vectors = ChunkVectors((((0, 5),),), (np.ones((1, 2)),), np.ones((1, 2)))
        >>> vectors.means.shape
        (1, 2)
    """

    spans: tuple[tuple[tuple[int, int], ...], ...]  # of sentences, in the chunk's text
    sentences: tuple[FloatArray, ...]  # unit vectors, an array for each chunk
    means: FloatArray  # of a chunk's sentences, a row for each chunk


def _clip(value: float) -> float:
    return min(1.0, max(0.0, value))


def _weighed(
    names: dict[str, str],
    text: str,
    sentences: Sequence[str],
    vectors: FloatArray,
    of_name: dict[str, FloatArray],
) -> tuple[Entity, ...]:
    """A chunk's entities with their counts and their effectiveness."""
    folded = [fold(sentence) for sentence in sentences]
    entities = []
    for key, name in names.items():
        holding = [i for i, sentence in enumerate(folded) if occurrences(sentence, key)]
        mean = (
            vectors[holding].mean(axis=0) if holding else np.zeros_like(of_name[name])
        )
        length = float(np.linalg.norm(mean))
        cosine = float(of_name[name] @ mean) / length if length > 1e-12 else 0.0
        entities.append(Entity(name, max(1, contains(text, name)), cosine))
    return tuple(entities)


def _factors(
    chunk: Chunk,
    entities: tuple[Entity, ...],
    vectors: FloatArray,
    rating: float,
    similarity: float,
    settings: DensitySettings,
) -> DensityFactors:
    tokens = settings.counter(chunk.text)
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


def _rating_flow(
    chunks: Sequence[Chunk], settings: DensitySettings, prompt: str
) -> Flow[list[float]]:
    if not settings.rate or not chunks:
        return [1.0] * len(chunks)
    questions = [prompt.format(text=chunk.text) for chunk in chunks]
    answers = yield [Ask(question, "idms.rating/1") for question in questions]
    ratings = [
        None if isinstance(answer, Failed) else parse_rating(answer)
        for answer in answers
    ]
    middle = median([rating for rating in ratings if rating is not None] or [10.0])
    return [(middle if rating is None else rating) / 10 for rating in ratings]


def entity_flow(
    texts: Sequence[str], finder: str | EntityFinder, max_share: float, prompt: str
) -> Flow[list[dict[str, str]]]:
    """The different entities of each text, folded name -> name as written.

    Only names that occur in the text count. `finder` is "form", "llm" (which is asked `prompt`) or
    a function. A name in more than `max_share` of four texts or more is left out.
    """
    lists: list[Iterable[str]]
    if finder == "llm" and texts:
        lists = yield from _asked_flow(texts, prompt)
    else:
        find = finder if callable(finder) else names_by_form
        lists = [find(text) for text in texts]
    entities = [
        _occurring(text, names) for text, names in zip(texts, lists, strict=True)
    ]
    if len(texts) < 4:  # too few to tell what is common
        return entities
    frequency = Counter(chain.from_iterable(entities))
    most = max_share * len(texts)
    return [
        {key: name for key, name in names.items() if frequency[key] <= most}
        for names in entities
    ]


def _asked_flow(texts: Sequence[str], prompt: str) -> Flow[list[Iterable[str]]]:
    """The names that a model lists, or else those by form."""
    answers = yield [Ask(prompt.format(text=text), "idms.entities/1") for text in texts]
    lists: list[Iterable[str]] = []
    for text, answer in zip(texts, answers, strict=True):
        names = [] if isinstance(answer, Failed) else parse_keywords(answer)
        lists.append(names or names_by_form(text))
    return lists


def _occurring(text: str, names: Iterable[str]) -> dict[str, str]:
    """The names that occur in a text, each once."""
    folded = fold(text)
    unique: dict[str, str] = {}
    for name in names:
        key = fold(name)
        if key and occurrences(folded, key):
            unique.setdefault(key, " ".join(name.split()))
    return unique


def ner_entities(
    pipeline: Callable[[str], Iterable[dict[str, object]]],
) -> EntityFinder:
    """An entity finder from a transformers token-classification pipeline.

    The pipeline needs an aggregation strategy. Names are slices of the text.

    Example:
        >>> ner_entities(lambda text: [{"start": 4, "end": 8}])("The Nova rings.")
        ['Nova']
    """

    def find(text: str) -> list[str]:
        return [
            text[int(str(part["start"])) : int(str(part["end"]))]
            for part in pipeline(text)
        ]

    return find
