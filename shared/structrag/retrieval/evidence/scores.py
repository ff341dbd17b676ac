"""The score of every atom for a question.

It is made of matched tokens, vectors, stems and titles.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from structrag.index.lexical import Bm25, idf
from structrag.retrieval.evidence.corpus import Corpus, best_of_sample
from structrag.retrieval.evidence.quantised import Quantiser, check_width, unit_rows
from structrag.retrieval.evidence.windows import MAX_WIDTHS, Windows, weighted_maxima
from structrag.retrieval.fusion import maxnorm, minmax
from structrag.text.arrays import (
    Array,
    BoolArray,
    FloatArray,
    Int32Array,
    IntArray,
    running_totals,
)
from structrag.text.stems import stem_keys, stems

BM25 = Bm25(k1=1.2, b=0.75)
IDF_POWER = 1.5
SHORTLIST = 800  # atoms whose tokens are matched
MOST_TERMS = 256  # of a question: of more the rarest that there are
SAMPLE = 64  # atoms that show the range of matches beside the shortlist's
# What each part adds: with tokens matched, and by itself (the first stage).
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
    vector: Array | None = None  # (d,), in the space of the pool's sums
    tokens: Array | None = None  # (k, d) as the encoder gives them
    ids: Int32Array | None = None  # (k,)


@dataclass(frozen=True, slots=True)
class Ranking:
    """Units, best first, with what each part added to their scores."""

    units: IntArray
    scores: FloatArray  # of all atoms, by number
    parts: Mapping[str, FloatArray]  # the same, by part; they add up to the score
    highest: float = 1.0  # what an atom would have that is best in every part
    # where some atoms' tokens were not matched
    unmatched: Unmatched | None = None

    def shares(self, unit: int) -> dict[str, float]:
        """What each part adds to an atom's score, from 0 to 1.

        It is a share of `highest`, and so is the sum. Of atoms that were not matched the sum falls
        with the score too, from the one of the last atom that was.
        """
        parts = {name: float(values[unit]) for name, values in self.parts.items()}
        share = 1 / self.highest
        if self.unmatched is not None and self.unmatched.units[unit]:
            parts["tokens"] = 0.0
            share *= self.unmatched.scale
        return {name: share * part for name, part in parts.items()}

    def share(self, unit: int) -> float:
        """The score of an atom, from 0 to 1. It is the sum of its `shares`."""
        return sum(self.shares(unit).values())


@dataclass(frozen=True, slots=True)
class Unmatched:
    """The atoms that have only the scores of the first stage."""

    units: BoolArray  # of all atoms, by number
    # Takes the highest score of a first stage to that of the last matched atom.
    scale: float


@dataclass(frozen=True, slots=True)
class Frequencies:
    """How many pieces there are, and how many hold what a question has."""

    n_pieces: int
    stems: Mapping[str, int]
    tokens: FloatArray  # (k,) of the question's tokens


def frequencies_in(
    pool: Corpus, text: str, language: str, tokens: FloatArray
) -> Frequencies:
    """The frequencies in a pool that is all there is; `tokens` are those of the tokens."""
    counts = Counter(stems(text, language=language))
    held = map(pool.stem_counts, stem_keys(counts))
    n_holding = map(pool.n_pieces_with, held)
    n_pieces = len(pool.piece_firsts) - 1
    return Frequencies(n_pieces, dict(zip(counts, n_holding, strict=True)), tokens)


def rank(
    pool: Corpus,
    question: Question,
    frequencies: Frequencies,
    quantiser: Quantiser | None = None,
    *,
    language: str = "english",
    shortlist: int = SHORTLIST,
) -> Ranking:
    """The candidates of a pool by score, equal ones in reading order.

    Where tokens can be matched, they are for the `shortlist` best atoms of a first stage, and the
    others follow in its order.
    """
    signals = {
        **_vectors(pool, question),
        **_stems(pool, question.text, language, frequencies),
    }
    first = _weighted(signals, UNMATCHED)
    total = _total(first, len(pool))
    before = pool.candidates[_by_score(total[pool.candidates])]
    tokens = question.tokens
    if quantiser is None or tokens is None or not len(tokens) or not pool.has_tokens:
        return Ranking(before, total, first, _highest(first, UNMATCHED))
    check_width("token vectors of the question", tokens.shape[1], len(quantiser.axes))
    chosen, rest = np.sort(before[:shortlist]), before[shortlist:]
    signals["tokens"] = _matched(pool, question, quantiser, chosen, frequencies)
    parts = _weighted(signals, MATCHED)
    scores = _total(parts, len(pool))
    matched, highest = chosen[_by_score(scores[chosen])], _highest(parts, MATCHED)
    if not len(rest):
        return Ranking(matched, scores, parts, highest)
    # The rest was not matched: its scores are the first stage's, moved below the last matched one.
    unmatched = np.ones(len(pool), dtype=bool)
    unmatched[chosen] = False
    for name, values in first.items():
        parts[name] = np.where(unmatched, values, parts[name])
    lowest = scores[chosen].min()
    shift = lowest - 1.0 - total[rest].max()
    parts["tokens"] = np.where(unmatched, shift, parts["tokens"])
    scores = np.where(unmatched, total + shift, scores)
    return Ranking(
        np.concatenate([matched, rest]),
        scores,
        parts,
        highest,
        Unmatched(unmatched, float(lowest) / _highest(first, UNMATCHED)),
    )


def _vectors(pool: Corpus, question: Question) -> dict[str, FloatArray]:
    """The question's cosines with windows and sections of atoms, in [0, 1]."""
    if question.vector is None:
        return {}
    *around, section = pool.cosines(question.vector)
    mean = np.mean([minmax(cosines, constant=0) for cosines in around], axis=0)
    return {"vectors": mean, "section vectors": minmax(section, constant=0)}


def _stems(
    pool: Corpus, text: str, language: str, frequencies: Frequencies
) -> dict[str, FloatArray]:
    """BM25 of the atoms' windows and sections, divided by their maxima. With the share of the
    question that stands in titles."""
    scores, share = stem_scores(pool, text, language, frequencies)
    *around, section = map(maxnorm, scores)
    return {"stems": np.mean(around, axis=0), "section stems": section, "titles": share}


def stem_scores(
    pool: Corpus, text: str, language: str, frequencies: Frequencies
) -> tuple[list[FloatArray], FloatArray]:
    """BM25 of a question for each of `pool.summed`. With the share of its stems that stands in the
    titles."""
    counts = _rarest(Counter(stems(text, language=language)), frequencies)
    windows = pool.summed
    scores = [np.zeros(len(pool)) for _ in windows]
    titles, weight_of_all = np.zeros(len(pool)), 0.0
    norms = [
        BM25.norm(lengths, mean)
        for lengths, mean in zip(pool.stem_lengths, pool.mean_stem_lengths, strict=True)
    ]
    for key, (stem, times) in zip(stem_keys(counts), counts.items(), strict=True):
        held = pool.stem_counts(key)
        weight = float(idf(frequencies.n_pieces, frequencies.stems[stem]))
        weight_of_all += weight
        titles += weight * pool.titled(key)
        if not held.any():
            continue
        before = running_totals(held)
        for number, of in enumerate(windows):
            tf = (before[of.stops] - before[of.firsts]).astype(np.float64)
            scores[number] += times * weight * tf / (tf + norms[number])
    return scores, titles / weight_of_all if weight_of_all else titles


def _rarest(counts: Counter[str], frequencies: Frequencies) -> Counter[str]:
    """The stems of a question that fewest pieces hold, in their order."""
    if len(counts) <= MOST_TERMS:
        return counts
    held = np.array([frequencies.stems[stem] for stem in counts])
    chosen = np.lexsort((held, held == 0))[:MOST_TERMS]
    names = list(counts)
    return Counter({names[i]: counts[names[i]] for i in sorted(chosen.tolist())})


def _matched(
    pool: Corpus,
    question: Question,
    quantiser: Quantiser,
    chosen: IntArray,
    frequencies: Frequencies,
) -> FloatArray:
    """The windows' mean of matched tokens, in [0, 1]; chosen atoms only. The range of a window's
    matches is that of the chosen atoms and of a sample of all."""
    units = np.union1d(chosen, best_of_sample(pool.sampled, SAMPLE))
    weights = token_weights(frequencies)
    if len(weights) > MOST_TERMS:
        assert question.tokens is not None  # noqa: S101
        by_weight = np.lexsort((-weights, frequencies.tokens == 0))
        heaviest = np.sort(by_weight[:MOST_TERMS])
        question = replace(question, tokens=question.tokens[heaviest])
        weights = weights[heaviest] / weights[heaviest].sum()
    matches = token_scores(pool, question, quantiser, units, weights)
    scores = np.zeros(len(pool))
    scores[units] = np.mean([minmax(one, constant=0) for one in matches], axis=0)
    return scores


def token_weights(frequencies: Frequencies, power: float = IDF_POWER) -> FloatArray:
    """What each token weighs, by how few pieces hold it; together 1."""
    weights: FloatArray = idf(frequencies.n_pieces, frequencies.tokens) ** power
    weights /= weights.sum()
    return weights


def token_scores(
    pool: Corpus,
    question: Question,
    quantiser: Quantiser,
    units: IntArray,
    weights: FloatArray,
) -> list[FloatArray]:
    """The matches of a question's tokens in the windows of some atoms.

    They are the weighted mean, over the tokens, of their best cosines; an array for each of
    `MAX_WIDTHS`. `units` ascend. `weights` (k,) gives arrays of shape (atoms,), and
    (k, v) of shape (atoms, v).
    """
    assert question.tokens is not None  # noqa: S101
    queries = unit_rows(question.tokens.astype(np.float32))
    needed = _covered(pool.windows[MAX_WIDTHS[-1]].of(units), len(pool))
    matches = pool.matches(needed, queries, quantiser)
    # Place of each needed atom.
    at = np.cumsum(np.bincount(needed, minlength=len(pool))) - 1
    kinds = []
    for width in MAX_WIDTHS:
        of = pool.windows[width].of(units)
        kinds.append(Windows(at[of.firsts], at[of.stops - 1] + 1))
    return weighted_maxima(matches, weights, kinds)


def _covered(of: Windows, n: int) -> IntArray:
    """The atoms that lie in any of the windows, ascending."""
    changes = np.zeros(n + 1, dtype=np.int64)
    np.add.at(changes, of.firsts, 1)
    np.add.at(changes, of.stops, -1)
    return np.flatnonzero(np.cumsum(changes[:-1]))


def _weighted(
    signals: Mapping[str, FloatArray], weights: Mapping[str, float]
) -> dict[str, FloatArray]:
    return {
        name: weight * signals[name]
        for name, weight in weights.items()
        if name in signals
    }


def _highest(parts: Mapping[str, FloatArray], weights: Mapping[str, float]) -> float:
    """The highest sum of some parts. Each is from 0 to its weight."""
    return sum(weights[name] for name in parts)


def _total(parts: Mapping[str, FloatArray], n: int) -> FloatArray:
    return np.sum(list(parts.values()), axis=0) if parts else np.zeros(n)


def _by_score(scores: FloatArray | Sequence[float]) -> IntArray:
    """Units by score, equal ones (to nine decimals) in reading order."""
    return np.argsort(-np.round(scores, 9), kind="stable")
