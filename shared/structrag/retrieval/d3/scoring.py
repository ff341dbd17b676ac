"""Routing and evidence without the language model (D3, section 3.3.2): by BM25, vectors, MonoT5 or
cross-encoders; their scores fused, and which paragraphs they keep."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

import numpy as np

from structrag.errors import InvalidParameter, check_at_least
from structrag.index.levels import query_vectors
from structrag.index.lexical import LexicalIndex
from structrag.index.ranking import best_positions
from structrag.index.snapshot import Reader
from structrag.model_calls.requests import Embed, Flow, Score, ask, embedded_by
from structrag.records import Chunk
from structrag.retrieval.d3.outlines import SectionLayout
from structrag.retrieval.d3.selection import Selection
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.fusion import maxnorm, minmax
from structrag.retrieval.packing import reader_text
from structrag.text.arrays import (
    BoolArray,
    FloatArray,
    IntArray,
    running_totals,
    unit_vectors,
)
from structrag.text.sentences import LANGUAGES, safe_cuts, sentence_spans, word_starts
from structrag.text.terms import tokenizer_for
from structrag.text.tokens import TokenCounter, count_tokens

PART_WEIGHT = 0.25  # of the score of a paragraph's part, beside 1 for its own


@dataclass(frozen=True, slots=True)
class ParagraphScore:
    """The scores of one paragraph. `scores` and `parts` are as in `Hit`."""

    score: float  # in [0, 1], the sum of the parts
    # "bm25", "dense" (the cosine) and "route", where there is one.
    scores: Mapping[str, float]
    parts: Mapping[str, float]  # all three


def route_scores(
    reader: Reader, question: str, vector: Any, mask: BoolArray
) -> dict[str, dict[int, float]]:
    """Route ("bm25", "dense") -> row of the mask -> its own score. A row that the route did not
    find is left out."""
    n = int(np.count_nonzero(mask))
    bm25 = reader.search_lexical("raw", question, n, mask)
    dense = [] if vector is None else reader.search_dense("raw", vector, n, mask)
    return {"bm25": dict(bm25), "dense": dict(dense)}


def normalised_scores(
    by_route: Mapping[str, Mapping[int, float]], mask: BoolArray
) -> dict[int, dict[str, float]]:
    """Row of the mask -> "bm25" and "dense", in [0, 1] each. They are normalised over the rows of
    the mask, as they are summed. A row that a route did not find has 0 from it."""
    scores = {row: {"bm25": 0.0, "dense": 0.0} for row in np.flatnonzero(mask).tolist()}
    for name, normalise in (("bm25", maxnorm), ("dense", minmax)):
        values = normalise(list(by_route[name].values())).tolist()
        for row, score in zip(by_route[name], values, strict=True):
            scores[row][name] = score
    return scores


def part_scores_flow(
    reader: Reader, question: str, mask: BoolArray
) -> Flow[dict[int, float]]:
    """The score of each part of the mask, in [0, 1]. It is the mean of BM25 and cosine, both
    normalised. The index texts of parts begin with the heading path."""
    if not mask.any():
        return {}
    (vector,) = yield from query_vectors(reader, question)
    by_route = route_scores(reader, question, vector, mask)
    by_row = normalised_scores(by_route, mask)
    return {
        row: (scores["bm25"] + scores["dense"]) / 2 for row, scores in by_row.items()
    }


def wide_route(
    scores: Mapping[int, float],
    layout: SectionLayout,
    *,
    share: float,
    least_tokens: int,
    least_rows: int = 0,
) -> list[int]:
    """The rows of the parts to look into, ascending.

    They are taken best first, up to `share` of the tokens of all together, and in any case up to
    `least_tokens`. A part that does not fit is passed over for smaller ones. The best one is always
    taken. If they have fewer than `least_rows` paragraphs, those passed over follow, best first.
    Nothing where all scores are 0.
    """
    rows = sorted(scores)
    values = np.array([scores[row] for row in rows])
    if not len(rows) or values.max() <= 0:
        return []
    sums = running_totals(layout.tokens)
    parts = layout.parts[rows].tolist()
    sizes = [int(sums[last] - sums[first]) for first, last in parts]
    counts = [last - first for first, last in parts]
    room = max(share * sum(sizes), least_tokens)
    chosen: list[int] = []
    passed: list[int] = []
    for place in best_positions(values, len(rows)).tolist():
        if not chosen or sizes[place] <= room:
            chosen.append(place)
            room -= sizes[place]
        else:
            passed.append(place)
    while passed and sum(counts[place] for place in chosen) < least_rows:
        chosen.append(passed.pop(0))
    return sorted(rows[place] for place in chosen)


def paragraph_scores_flow(
    reader: Reader, question: str, rows: Sequence[int], parts: Mapping[int, float]
) -> Flow[dict[int, ParagraphScore]]:
    """Row -> its score of BM25, cosine and its part's score.

    BM25 and cosine are brought to [0, 1] over the rows. `parts` are the scores of the parts by
    paragraph row; a row that is not there counts 0.
    """
    mask = np.zeros(len(reader), dtype=bool)
    mask[list(rows)] = True
    (vector,) = yield from query_vectors(reader, question)
    by_route: dict[str, Mapping[int, float]] = {
        **route_scores(reader, question, vector, mask),
        "route": parts,
    }
    # without scores of parts a paragraph that is first by BM25 and cosine has 1 too
    highest = 1 + PART_WEIGHT if parts else 1.0
    weights = {"bm25": 0.5, "dense": 0.5, "route": PART_WEIGHT}
    paragraphs: dict[int, ParagraphScore] = {}
    for row, scaled in normalised_scores(by_route, mask).items():
        route = parts.get(row, 0.0)
        fused = ((scaled["bm25"] + scaled["dense"]) / 2 + PART_WEIGHT * route) / highest
        summed = {**scaled, "route": route}
        paragraphs[row] = ParagraphScore(
            fused,
            {name: scores[row] for name, scores in by_route.items() if row in scores},
            {name: weights[name] * value / highest for name, value in summed.items()},
        )
    return paragraphs


def within_budget(
    scores: Mapping[int, float],
    sizes: IntArray,
    *,
    k: int | None,
    max_tokens: int | None,
) -> list[int]:
    """The rows to keep, best first (ties by row). At most `k`, and together at most `max_tokens`,
    but always the first. The first that does not fit ends it. Rows of score 0 are left out."""
    chosen: list[int] = []
    left: float = inf if max_tokens is None else max_tokens
    rows = sorted(scores)
    values: FloatArray = np.array([scores[row] for row in rows])
    for place in best_positions(values, len(rows) if k is None else k).tolist():
        row = rows[place]
        if values[place] <= 0 or (chosen and sizes[row] > left):
            break
        chosen.append(row)
        left -= int(sizes[row])
    return chosen


def check_evidence(evidence: Any) -> None:
    """Raise InvalidParameter unless it is None or an `EvidenceRetriever`."""
    if evidence is not None and not isinstance(evidence, EvidenceRetriever):
        raise InvalidParameter(
            "evidence must be an EvidenceRetriever over the documents of the index; got "
            f"{type(evidence).__name__}."
        )


def paragraph_sentence_flow(
    evidence: EvidenceRetriever, question: str, layout: SectionLayout, where: Any
) -> Flow[dict[int, float]]:
    """Paragraph row -> the score of its best sentence.

    Scores are in [0, 1] over the documents searched. Rows of other documents are left out.

    Raises:
        InvalidParameter: a document of the index is not in `evidence`.
    """
    missing = layout.documents.keys() - set(evidence.document_ids)
    if missing:
        raise InvalidParameter(
            "evidence must hold every document of the index; it lacks "
            f"{', '.join(map(repr, sorted(missing)[:3]))}. Add them with evidence.add(...)."
        )
    flow = evidence.sentence_scores_flow(question, where=where)
    by_document = yield from embedded_by(evidence.embedder, flow)
    best: dict[int, float] = {}
    for doc_id, scored in by_document.items():
        if doc_id not in layout.documents:
            continue
        first, starts, ends = layout.documents[doc_id]
        places = np.searchsorted(starts, scored.starts, "right") - 1
        # Else a heading, or left out.
        inside = (places >= 0) & (scored.starts < ends[places])
        for place, score in zip(
            places[inside].tolist(), scored.scores[inside], strict=True
        ):
            row = first + place
            best[row] = max(best.get(row, -np.inf), float(score))
    scaled = minmax(list(best.values())).tolist()
    return dict(zip(best, scaled, strict=True))


def part_sentence_scores(
    paragraphs: Mapping[int, float], layout: SectionLayout
) -> dict[int, float]:
    """Part row -> the best of its paragraphs' scores. A part without one is left out."""
    parts: dict[int, float] = {}
    for part, (first, last) in enumerate(layout.parts.tolist()):
        scores = [paragraphs[row] for row in range(first, last) if row in paragraphs]
        if scores:
            parts[part] = max(scores)
    return parts


SHARE = 0.5  # of the best score that a paragraph must reach, where the cut is relative
FLOOR = 0.05  # and the lowest probability that counts
WINDOW_TOKENS = 180  # of a paragraph embedded at once; encoders read 256 or 512


def score_flow(
    strategy: str, question: str, paragraphs: Sequence[Chunk], settings: Selection
) -> Flow[list[float]]:
    """One score for each paragraph, in their order.

    It is BM25, the cosine, log p(true) of MonoT5, or what the cross-encoder gives.

    Raises:
        InvalidAnswer: a reranker did not give one finite number for each paragraph.
    """
    if strategy == "lexical":
        return lexical_scores(question, paragraphs, settings.language)
    if strategy == "dense":
        return (yield from _cosines(question, paragraphs, settings))
    texts = [
        reader_text(paragraph) if settings.with_path else paragraph.text
        for paragraph in paragraphs
    ]
    scorer = settings.monot5 if strategy == "monot5" else settings.cross_encoder
    scores = yield from ask(Score(question, tuple(texts), scorer))
    return list(scores)


def keep(
    scores: Sequence[float], strategy: str, *, k: int | None, threshold: float | None
) -> list[int]:
    """The positions that a cut rule keeps, ascending.

    They are the `k` best, of which each reaches a share of the best. Equal scores: the earlier one
    is better. `threshold` None means no threshold, except 0.5 for "lexical" and where k is None
    too. A share is of probabilities for "monot5", whose scores are their logarithms; there and for
    "cross_encoder" at least 0.05. BM25 scores of 0 are never kept. Probabilities .8808, .45, .40
    with threshold 0.5: the first two.
    """
    values = np.asarray(scores, dtype=np.float64)
    best = best_positions(values, len(values) if k is None else k)
    if threshold is None and (strategy == "lexical" or k is None):
        threshold = SHARE
    if threshold is not None and len(best):
        worth = np.exp(values) if strategy == "monot5" else values
        least = threshold * float(worth.max())
        if strategy in {"monot5", "cross_encoder"}:
            least = max(least, FLOOR)
        best = best[worth[best] >= least - 1e-9]
    if strategy == "lexical":
        best = best[values[best] > 0]
    return sorted(best.tolist())


def shares(scores: Sequence[float], strategy: str) -> list[float]:
    """Scores from 0 to 1, in the same order.

    1 has the best paragraph by "lexical" (divided by the highest) and "dense" (min-max). The others
    keep their probabilities; a cross-encoder's scores that are none are taken for logits.

    Example:
        >>> shares([2.0, 0.5, 0.0], "lexical")
        [1.0, 0.25, 0.0]
    """
    values = np.asarray(scores, dtype=np.float64)
    if strategy == "lexical":
        values = maxnorm(values)
    elif strategy == "dense":
        values = minmax(values)
    elif strategy == "monot5":
        values = np.exp(np.minimum(values, 0.0))
    elif len(values) and (values.min() < 0 or values.max() > 1):
        # The logistic function, without overflow.
        values = (1 + np.tanh(values / 2)) / 2
    result: list[float] = values.tolist()
    return result


def lexical_scores(
    question: str, paragraphs: Sequence[Chunk], language: str = "english"
) -> list[float]:
    """BM25 (Lucene's) of the question in each paragraph's path and text. The statistics are those
    of these paragraphs."""
    tokenizer = tokenizer_for(language)
    index = LexicalIndex.from_texts(map(reader_text, paragraphs), tokenizer=tokenizer)
    return [float(score) for score in index.scores(question)]


def _cosines(
    question: str, paragraphs: Sequence[Chunk], settings: Selection
) -> Flow[list[float]]:
    """The best cosine of each paragraph's windows with the question. Every window begins with the
    heading path."""
    texts: list[str] = []
    owners: list[int] = []
    for owner, paragraph in enumerate(paragraphs):
        head = f"{paragraph.context}\n" if paragraph.context else ""
        for start, end in cut_pieces(
            paragraph.text, WINDOW_TOKENS, language=settings.language
        ):
            texts.append(head + paragraph.text[start:end])
            owners.append(owner)
    query, matrix = yield [Embed((question,), query=True), Embed(tuple(texts))]
    best = np.full(len(paragraphs), -1.0)
    np.maximum.at(best, owners, (unit_vectors(matrix) @ unit_vectors(query).T)[:, 0])
    return [float(cosine) for cosine in best]


# -- paragraphs in as few calls as reading order allows


@dataclass(frozen=True, slots=True)
class ShownParagraph:
    """A paragraph in a call, or a piece of a long one."""

    position: int  # of the paragraph in the sequence that was packed
    start: int  # first character of its text that is shown
    end: int  # behind the last
    tokens: int  # what it takes of the call's budget, its label included


def pack_calls(
    texts: Sequence[str],
    budget: int,
    counter: TokenCounter = count_tokens,
    *,
    label_tokens: int = 0,
    language: str = "english",
) -> list[list[ShownParagraph]]:
    """Fill calls of at most `budget` tokens with the texts in order.

    Next-fit: each text is in one call, whole. A text above the budget is cut by sentences (a
    sentence above it by words, a word by characters) into pieces that share its position. Its first
    piece starts a new call, and what follows may share the call of its last: so a larger budget
    never gives more calls. Every part takes `label_tokens` besides its text. No text gives no call.
    400, 300, 500, 200, 900 and 100 tokens in a budget of 1,000: (400 300) (500 200) (900 100).

    Only a single code point that counts more than the whole budget makes a longer call.

    Raises:
        InvalidParameter: the budget does not exceed `label_tokens`.
    """
    check_at_least("budget", budget, label_tokens + 1)
    calls: list[list[ShownParagraph]] = []
    room = 0
    for position, text in enumerate(texts):
        tokens = label_tokens + counter(text)
        if calls and tokens <= room:
            calls[-1].append(ShownParagraph(position, 0, len(text), tokens))
            room -= tokens
            continue
        spans = [(0, len(text))]
        if tokens > budget:
            spans = cut_pieces(text, budget - label_tokens, counter, language=language)
        for start, end in spans:
            tokens = label_tokens + counter(text[start:end])
            calls.append([ShownParagraph(position, start, end, tokens)])
            room = budget - tokens
    return calls


def cut_pieces(
    text: str,
    budget: int,
    counter: TokenCounter = count_tokens,
    *,
    language: str = "english",
) -> list[tuple[int, int]]:
    """Spans that tile the text, each of at most `budget` tokens.

    They are in order, each of as many whole sentences as fit. A sentence above the budget starts a
    piece and is cut by words, a word above it by characters; the piece with its end goes on with
    the next sentences. "" gives no span.
    """
    rules = language if language in LANGUAGES else "english"
    sentences = [end for _, end in sentence_spans(text, language=rules)] or [len(text)]
    words = [*word_starts(text), len(text)]
    spans: list[tuple[int, int]] = []
    start = 0
    while start < len(text):
        stop = _furthest(text, start, sentences, budget, counter) or _furthest(
            text, start, words, budget, counter
        )
        if not stop:
            word_end = words[bisect_left(words, start + 1)]
            window = min(word_end, start + max(4096, 64 * budget))
            characters = [*safe_cuts(text, start, window), window]
            stop = _furthest(text, start, characters, budget, counter)
            if not stop:  # not even one character as readers see it fits
                points = range(start + 1, characters[0])
                stop = _furthest(text, start, points, budget, counter) or start + 1
        spans.append((start, stop))
        start = stop
    return spans


def _furthest(
    text: str, start: int, stops: Sequence[int], budget: int, counter: TokenCounter
) -> int:
    """The last stop such that `text[start:stop]` fits; 0: there is none. Gallops, then halves, so
    that what is counted is a small multiple of the piece."""
    first = high = bisect_left(stops, start + 1)
    low, step = first - 1, 1
    while high < len(stops) and counter(text[start : stops[high]]) <= budget:
        low, high, step = high, high + step, step * 2
    high = min(high, len(stops))
    while high - low > 1:
        middle = (low + high) // 2
        if counter(text[start : stops[middle]]) <= budget:
            low = middle
        else:
            high = middle
    return stops[low] if low >= first else 0
