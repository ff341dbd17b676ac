"""Word by word, how each sentence of a passage matches a question: for people to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import regex

from structrag.model_calls.requests import EmbedTokens, Flow, TokenEncoder, TokenVectors
from structrag.records import Chunk, Hit
from structrag.retrieval.evidence.pieces import StoredDocument
from structrag.retrieval.evidence.pool import Pool
from structrag.retrieval.evidence.quantised import Quantiser, unit_rows
from structrag.retrieval.evidence.scores import Ranking
from structrag.text.arrays import Array, IntArray
from structrag.text.folding import UNPARTED, UNSEEN
from structrag.text.terms import stems, word_spans

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
