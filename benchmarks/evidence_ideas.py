"""Ideas for `EvidenceRetriever` that the library does not have, to be measured beside it.
`benchmarks/evidence.py --leave-one-out` measures them; results/evidence_choices.md says what they
bring."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.packing import AROUND
from structrag.retrieval.evidence.store import StoredDocument
from structrag.retrieval.evidence.windows import MAX_WIDTHS, Windows, weighted_maxima
from structrag.retrieval.evidence.words import is_word
from structrag.retrieval.fusion import minmax
from structrag.text.terms import stop_words

FloatArray = NDArray[np.floating[Any]]
_CANDIDATES = 300  # atoms among which a covering order chooses
_ENOUGH = 2300  # tokens after which it stops: a little more than the largest budget


def is_content(text: str, spans: NDArray[np.int32]) -> NDArray[np.bool_]:
    """Which tokens are of words that are no stop words of English; all where none is."""
    stop = stop_words("english")
    counts = np.zeros(len(text), dtype=bool)
    for word in re.finditer(r"[^\W_]+", text):
        counts[word.start() : word.end()] = word.group().casefold() not in stop
    content = np.array([counts[start:end].any() for start, end in spans], dtype=bool)
    return content if content.any() else is_word(text, spans)


def with_headings(
    pool: Corpus,
    documents: Sequence[StoredDocument],
    matches: FloatArray,
    factor: float,
) -> FloatArray:
    """Each atom's best cosines (atoms, k), or `factor` times those of the headings above it."""
    above = []
    for document, record, first in zip(
        documents, pool.records, pool.firsts, strict=False
    ):
        of_record = matches[first : first + len(record)]
        best = np.full((len(document.paths), matches.shape[1]), -1.0)
        body_starts = np.asarray(document.body_starts)
        is_heading = record.ends <= body_starts[record.sections]
        is_heading &= np.array([bool(path) for path in document.paths])[record.sections]
        np.maximum.at(best, record.sections[is_heading], of_record[is_heading])
        parents: list[int] = []  # sections that are open
        for section, path in enumerate(document.paths):
            while parents and len(document.paths[parents[-1]]) >= len(path):
                parents.pop()
            if parents:
                best[section] = np.maximum(best[section], best[parents[-1]])
            parents.append(section)
        above.append(best[record.sections])
    return np.maximum(matches, factor * np.concatenate(above))


def by_reach(weights: FloatArray, matches: FloatArray, power: float) -> FloatArray:
    """The weights of tokens (k,), times their best cosine in the pool to a power."""
    reached = weights * np.maximum(matches.max(axis=0), 0.0) ** power
    return reached / reached.sum() if reached.sum() > 0 else weights


def in_windows(pool: Corpus, matches: FloatArray, weights: FloatArray) -> FloatArray:
    """Weighted means of the best cosines in each window: shape (widths, atoms)."""
    kinds = [pool.windows[width] for width in MAX_WIDTHS]
    return np.stack(weighted_maxima(matches.astype(np.float32), weights, kinds))


def over_widths(matched: Sequence[FloatArray], best: int | None) -> FloatArray:
    """The mean over the widths, of so many where an atom matches best; None: of all."""
    scores = np.stack([minmax(one, constant=0) for one in matched])
    if best is not None:
        scores = np.sort(scores, axis=0)[-best:]
    mean: FloatArray = scores.mean(axis=0)
    return mean


def covering(
    pool: Corpus,
    matches: FloatArray,
    weights: FloatArray,
    scores: FloatArray,
    gain: float,
    whole_block: int,
) -> NDArray[np.int64]:
    """Units so that each adds to what those before match: greedily by score and coverage.

    Coverage is what an atom's surroundings match better than anything taken, weighted, as a share
    of what can be matched at all. What lies in a block that was taken comes no more.
    """
    ranked: NDArray[np.int64] = np.argsort(-np.round(scores, 9), kind="stable")
    candidates = ranked[:_CANDIDATES]
    around = pool.windows[AROUND]
    best = _maxima(matches, around.of(candidates))
    covered = matches.mean(axis=0)
    spread = float(weights @ (matches.max(axis=0) - covered)) or 1.0
    open_ones = np.ones(len(candidates), dtype=bool)
    order, tokens = [], 0
    while open_ones.any() and tokens < _ENOUGH:
        more = np.maximum(best - covered, 0.0) @ weights / spread
        value = np.where(open_ones, scores[candidates] + gain * more, -np.inf)
        place = int(np.argmax(value))
        atom = int(candidates[place])
        order.append(atom)
        first, stop = int(around.firsts[atom]), int(around.stops[atom])
        same = np.flatnonzero(pool.blocks[first:stop] == pool.blocks[atom]) + first
        if pool.block_tokens[pool.blocks[atom]] <= whole_block:
            same = np.flatnonzero(pool.blocks == pool.blocks[atom])
        tokens += int(pool.tokens[same].sum())
        covered = np.maximum(covered, matches[same].max(axis=0))
        open_ones &= ~np.isin(candidates, same)
    rest = ranked[~np.isin(ranked, order)]
    return np.concatenate([np.array(order, dtype=np.int64), rest])


def _maxima(matches: FloatArray, of: Windows) -> FloatArray:
    return np.stack(
        [
            matches[first:stop].max(axis=0)
            for first, stop in zip(of.firsts, of.stops, strict=True)
        ]
    )
