"""The score of every atom for a question, made of matched tokens, vectors, stems and titles; and
word by word, for people to look at, how each sentence of a passage matches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import regex

from structrag.index.lexical import idf, length_norm
from structrag.model_calls.requests import EmbedTokens, Flow, TokenEncoder, TokenVectors
from structrag.records import Chunk, Hit
from structrag.retrieval.evidence.atom_arrays import (
    MAX_WIDTHS,
    Windows,
    weighted_maxima,
    window_sums,
)
from structrag.retrieval.evidence.pool import Pool, StoredDocument
from structrag.retrieval.evidence.quantised import Quantiser, check_width, unit_rows
from structrag.retrieval.fusion import maxnorm, minmax
from structrag.text.arrays import (
    Array,
    FloatArray,
    Int32Array,
    IntArray,
    evenly,
)
from structrag.text.folding import UNPARTED, UNSEEN
from structrag.text.terms import stem_keys, stems, word_spans

IDF_POWER = 1.5
SHORTLIST = 800  # atoms whose tokens are matched
MOST_TERMS = 256  # of a question: of more the rarest that there are
SAMPLE = 64  # atoms that show the range of matches beside the shortlist's
# The weight of each part: with matched tokens, and without (the first stage).
MATCHED = {
    "tokens": 1.0,
    "vectors": 0.25,
    "stems": 0.1,
    "section vectors": 0.05,
    "section stems": 0.05,
    "titles": 0.2,
}
UNMATCHED = {
    "vectors": 1.0,
    "stems": 1.0,
    "section vectors": 0.1,
    "section stems": 0.1,
    "titles": 0.2,
}


@dataclass(frozen=True, slots=True)
class Question:
    """A question as it is matched; None where an encoder is missing."""

    text: str
    stems: Mapping[str, int]  # how often it has each
    vector: Array | None = None  # (d,), in the space of the pool's sums
    tokens: Array | None = None  # (k, d) as the encoder gives them
    ids: Int32Array | None = None  # (k,)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Units, best first, with what each part adds to their scores."""

    units: IntArray
    scores: FloatArray  # of all atoms, by number, in no fixed range
    # The same from 0 to 1, by part; they add up to what an atom's hit is given.
    shares: Mapping[str, FloatArray]

    def share(self, unit: int) -> float:
        """The score of an atom, from 0 to 1. It is the sum of its `shares`."""
        return float(sum(values[unit] for values in self.shares.values()))


@dataclass(frozen=True, slots=True)
class Frequencies:
    """The number of pieces, and of those with each stem and token of a question."""

    n_pieces: int
    stems: FloatArray  # of the question's stems
    tokens: FloatArray  # (k,) of the question's tokens


def frequencies_in(
    pool: Pool, question: Question, tokens: Sequence[float]
) -> Frequencies:
    """Count frequencies in a pool of every piece; `tokens` are the counts of the tokens."""
    by_atom = map(pool.stem_counts, stem_keys(question.stems))
    n_holding = [len(np.unique(pool.piece_of[counts > 0])) for counts in by_atom]
    return Frequencies(
        len(pool.piece_firsts) - 1,
        np.array(n_holding, dtype=float),
        np.array(tokens, dtype=float),
    )


def rank(
    pool: Pool,
    question: Question,
    frequencies: Frequencies,
    quantiser: Quantiser | None = None,
    *,
    shortlist: int = SHORTLIST,
) -> Ranking:
    """The candidates of a pool by score, equal ones in reading order.

    If tokens can be matched, they are for the `shortlist` best atoms of a first stage; the others
    follow in its order.
    """
    signals = {**_vectors(pool, question), **_stems(pool, question, frequencies)}
    total, shares = _weighted(signals, UNMATCHED)
    units = _by_score(total, pool.candidates)
    tokens = question.tokens
    if (
        quantiser is None
        or tokens is None
        or not len(tokens)
        or not len(pool.atoms.token_scales)
    ):
        return Ranking(units, total, shares)
    check_width("token vectors of the question", tokens.shape[1], len(quantiser.axes))
    chosen, rest = np.sort(units[:shortlist]), units[shortlist:]
    signals["tokens"] = _matched(pool, tokens, quantiser, chosen, frequencies)
    scores, matched = _weighted(signals, MATCHED)
    units = np.concatenate([_by_score(scores, chosen), rest])
    if not len(rest):
        return Ranking(units, scores, matched)
    # The rest was not matched: its scores are the first stage's, below the last matched one.
    lowest = units[len(chosen) - 1]
    scores[rest] = total[rest] + scores[lowest] - 1.0 - total[rest].max()
    factor = sum(values[lowest] for values in matched.values())
    for name, values in matched.items():
        values[rest] = factor * shares[name][rest] if name in shares else 0.0
    return Ranking(units, scores, matched)


def _weighted(
    signals: Mapping[str, FloatArray], weights: Mapping[str, float]
) -> tuple[FloatArray, dict[str, FloatArray]]:
    """The weighted sum of signals from 0 to 1, and what each adds to it where 1 is the most."""
    parts = {name: weights[name] * signals[name] for name in weights if name in signals}
    highest = sum(weights[name] for name in parts)
    shares = {name: part / highest for name, part in parts.items()}
    return np.sum([*parts.values()], axis=0), shares


def _by_score(scores: FloatArray, units: IntArray) -> IntArray:
    """Units by score, equal ones (to nine decimals) in reading order."""
    return units[np.argsort(-np.round(scores[units], 9), kind="stable")]


def _vectors(pool: Pool, question: Question) -> dict[str, FloatArray]:
    """The question's cosines with windows and sections of atoms, in [0, 1]."""
    if question.vector is None:
        return {}
    *around, section = pool.cosines(question.vector)
    mean = np.mean([minmax(cosines, constant=0) for cosines in around], axis=0)
    return {"vectors": mean, "section vectors": minmax(section, constant=0)}


def _stems(
    pool: Pool, question: Question, frequencies: Frequencies
) -> dict[str, FloatArray]:
    """Score the atoms' windows and sections by BM25, divided by their maxima, and the share of the
    question in titles."""
    scores = [np.zeros(len(pool)) for _ in pool.summed]
    titles = np.zeros(len(pool))
    norms = [
        length_norm(lengths, mean)
        for lengths, mean in zip(pool.stem_lengths, pool.mean_stem_lengths, strict=True)
    ]
    chosen = _rarest(frequencies.stems)
    keys, times = stem_keys(question.stems), [*question.stems.values()]
    weights = idf(frequencies.n_pieces, frequencies.stems)
    for number in chosen.tolist():
        titles += weights[number] * pool.titled(keys[number])
        counts = pool.stem_counts(keys[number])
        if not counts.any():
            continue
        weight = times[number] * weights[number]
        tfs = window_sums(counts, pool.summed)
        for score, tf, norm in zip(scores, tfs, norms, strict=True):
            score += weight * tf / (tf + norm)
    *around, section = map(maxnorm, scores)
    return {
        "stems": np.mean(around, axis=0),
        "section stems": section,
        "titles": titles / (weights[chosen].sum() or 1.0),
    }


def _rarest(held: FloatArray) -> IntArray:
    """Return the stems or tokens of a question that the fewest pieces contain, in their order.
    Those in no piece come last."""
    chosen: IntArray = np.sort(np.lexsort((held, held == 0))[:MOST_TERMS])
    return chosen


def _matched(
    pool: Pool,
    tokens: Array,
    quantiser: Quantiser,
    chosen: IntArray,
    frequencies: Frequencies,
) -> FloatArray:
    """The windows' mean of matched tokens, in [0, 1]; chosen atoms only.

    The value of a window is the weighted mean, over the tokens, of their best cosines. Its range is
    that of the chosen atoms and of a sample of all.
    """
    units = np.union1d(chosen, evenly(pool.sampled, SAMPLE))
    heaviest = _rarest(frequencies.tokens)
    weights = idf(frequencies.n_pieces, frequencies.tokens[heaviest]) ** IDF_POWER
    queries = unit_rows(tokens[heaviest].astype(np.float32))
    needed = _covered(pool.windows[MAX_WIDTHS[-1]].of(units), len(pool))
    matches = pool.matches(needed, queries, quantiser)
    # Remap windows to positions in `needed`.
    windows = [
        Windows(*(np.searchsorted(needed, places) for places in of))
        for of in (pool.windows[width].of(units) for width in MAX_WIDTHS)
    ]
    means = weighted_maxima(matches, weights / weights.sum(), windows)
    scores = np.zeros(len(pool))
    scores[units] = np.mean([minmax(one, constant=0) for one in means], axis=0)
    return scores


def _covered(of: Windows, n: int) -> IntArray:
    """Return the atoms in any of the windows, ascending."""
    begun, ended = (np.bincount(places, minlength=n + 1) for places in of)
    return np.flatnonzero(np.cumsum(begun - ended))


_WORD = regex.compile(
    rf"[{UNPARTED}]\p{{M}}*|[[\w\p{{M}}{UNSEEN}]--[{UNPARTED}]]+", regex.VERSION1
)
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WordMatch:
    """The best match in a sentence for a word of the question.

    Example:
        >>> WordMatch("pump", start=9, end=14, similarity=0.91).similarity
        0.91
    """

    word: str  # of the question
    # The word of the document that matches best, in characters; equal ends: none.
    start: int
    end: int
    # Cosine of tokens, seen from their mean; without token vectors 1 for the same stem, else 0.
    similarity: float


@dataclass(frozen=True, slots=True)
class SentenceMatch:
    """A sentence of a passage, and how it matches a question.

    Table rows and headings are such sentences.

    Example:
        >>> SentenceMatch(0, 20, 0.8, ()).score
        0.8
    """

    start: int  # in characters of the document
    end: int
    score: float  # from 0 to 1, with the words around it, as passages are ranked by it
    words: tuple[WordMatch, ...]  # of the question, in its order


def by_tokens(
    question: str,
    asked: TokenVectors,
    text: str,
    sentence: Span,
    starts: IntArray,
    vectors: Array,
) -> tuple[WordMatch, ...]:
    """The words of a question matched by its tokens' vectors.

    Each word counts by its best token. `asked` are the question's tokens, the others those of the
    document `text` or of a part of it around the sentence, with their places.
    """
    inside = (starts >= sentence[0]) & (starts < sentence[1])
    starts = starts[inside]
    words = word_spans(question)
    owners = (
        np.searchsorted([start for start, _ in words], asked.spans[:, 0], "right") - 1
    )
    matches = []
    cosines = unit_rows(asked.vectors) @ unit_rows(vectors[inside]).T
    for number, (start, end) in enumerate(words):
        rows = cosines[owners == number]
        if not len(rows):
            continue
        place, similarity = (sentence[0], sentence[0]), 0.0
        if len(starts):
            best = rows.max(axis=1)
            place = _word_at(text, int(starts[rows[best.argmax()].argmax()]))
            similarity = float(best.mean())
        matches.append(WordMatch(question[start:end], *place, similarity))
    return tuple(matches)


def by_stems(
    question: str, text: str, sentence: Span, language: str
) -> tuple[WordMatch, ...]:
    """The words of a question, without stop words, matched by their stems."""
    places: dict[str, Span] = {}
    first, last = sentence
    for start, end in word_spans(text[first:last], parts=True):
        for stem in stems(text[first + start : first + end], language=language):
            places.setdefault(stem, (first + start, first + end))
    nothing = first, first
    matches = []
    for start, end in word_spans(question):
        of_word = stems(question[start:end], language=language)
        if of_word:
            place = next((places[stem] for stem in of_word if stem in places), nothing)
            similarity = float(place != nothing)
            matches.append(WordMatch(question[start:end], *place, similarity))
    return tuple(matches)


def explain_flow(
    query: str,
    hits: Sequence[Hit],
    pool: Pool,
    ranking: Ranking,
    encoder: TokenEncoder | None,
    quantiser: Quantiser | None,
    language: str,
) -> Flow[list[tuple[SentenceMatch, ...]]]:
    """The sentences of each hit with the question's words they match. The encoder reads the
    question and the pieces around the hits; None: words match by stems."""
    by_id = {stored.id: stored for stored in pool.documents}
    pieces = [pieces_of(by_id[hit.chunk.doc_id], hit.chunk) for hit in hits]
    texts = dict.fromkeys(text for of_hit in pieces for _, text in of_hit)
    asked: TokenVectors | None = None
    tokens: dict[str, TokenVectors] = {}
    if encoder is not None and texts:
        (asked,), read = yield [
            EmbedTokens((query,), encoder, query=True),
            EmbedTokens(tuple(texts), encoder),
        ]
        if quantiser is not None:
            asked, *read = (
                replace(of, vectors=quantiser.rests(of.vectors))
                for of in (asked, *read)
            )
        tokens = dict(zip(texts, read, strict=True))
    explained = []
    for hit, of_hit in zip(hits, pieces, strict=True):
        text = by_id[hit.chunk.doc_id].text
        sentences = []
        for unit, sentence in _sentences(pool, hit.chunk):
            if asked is None:
                words = by_stems(query, text, sentence, language)
            else:
                around = [(start, tokens[words]) for start, words in of_hit]
                starts = [start + of.spans[:, 0] for start, of in around]
                vectors = [of.vectors for _, of in around]
                words = by_tokens(
                    query,
                    asked,
                    text,
                    sentence,
                    np.concatenate(starts),
                    np.concatenate(vectors),
                )
            sentences.append(SentenceMatch(*sentence, ranking.share(unit), words))
        explained.append(tuple(sentences))
    return explained


def pieces_of(document: StoredDocument, chunk: Chunk) -> list[tuple[int, str]]:
    """Return the pieces of a document that overlap a chunk, as an encoder reads them, each with its
    start."""
    return [
        (start, document.text[start:end])
        for start, end in document.encoder_spans
        if start < chunk.end and chunk.start < end
    ]


def _sentences(pool: Pool, chunk: Chunk) -> Iterator[tuple[int, Span]]:
    """The atoms that lie in a chunk, with their places. The places are within the chunk."""
    atoms = pool.atoms
    is_there = np.array([stored.id == chunk.doc_id for stored in pool.documents])
    inside = (atoms.ends > chunk.start) & (atoms.starts < chunk.end)
    for unit in np.flatnonzero(inside & is_there[pool.run_of]).tolist():
        start, end = atoms.span(unit, unit + 1)
        yield unit, (max(start, chunk.start), min(end, chunk.end))


def _word_at(text: str, place: int) -> Span:
    """Return the span of the word at a character. In scripts without spaces, and outside of words,
    it is the character."""
    match = _WORD.match(text, place)
    if match is None:
        return place, place + 1
    start, end = match.span()
    while start > 0 and _WORD.fullmatch(text, start - 1, end):
        start -= 1
    return start, end
