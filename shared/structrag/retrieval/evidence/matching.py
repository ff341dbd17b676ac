"""How each sentence of a passage matches a question. Word by word, for people to look at."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import regex

from structrag.model_calls.requests import EmbedTokens, Flow, TokenEncoder, TokenVectors
from structrag.records import Chunk, Hit
from structrag.retrieval.evidence.corpus import Corpus
from structrag.retrieval.evidence.quantised import unit_rows
from structrag.retrieval.evidence.scores import Ranking
from structrag.retrieval.evidence.store import StoredDocument
from structrag.text.arrays import Array, IntArray
from structrag.text.folding import UNSEEN
from structrag.text.scripts import UNPARTED
from structrag.text.stems import stems
from structrag.text.terms import word_spans

_WORD = regex.compile(
    rf"[{UNPARTED}]\p{{M}}*|[[\w\p{{M}}{UNSEEN}]--[{UNPARTED}]]+", regex.VERSION1
)
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class WordMatch:
    """What matches a word of the question best in a sentence.

    Example:
        >>> WordMatch("pump", start=9, end=14, similarity=0.91).similarity
        0.91
    """

    word: str  # of the question
    # The word of the document that matches best, in characters; equal ends: none.
    start: int
    end: int
    # Cosine of tokens; without token vectors 1 for the same stem, else 0.
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


@dataclass(frozen=True, slots=True)
class PlacedTokens:
    """Tokens with their places in a document, in reading order."""

    starts: IntArray
    vectors: Array  # (n, d)


def by_tokens(
    question: str, asked: TokenVectors, text: str, sentence: Span, tokens: PlacedTokens
) -> tuple[WordMatch, ...]:
    """The words of a question matched by its tokens' vectors.

    The best token stands for each word. `asked` are the question's tokens, `tokens` those of the
    document `text` or of a part of it that holds the sentence.
    """
    inside = (tokens.starts >= sentence[0]) & (tokens.starts < sentence[1])
    starts = tokens.starts[inside]
    words = word_spans(question)
    firsts = [start for start, _ in words]
    owners = [bisect_right(firsts, start) - 1 for start in asked.spans[:, 0].tolist()]
    matches = []
    cosines = unit_rows(asked.vectors) @ unit_rows(tokens.vectors[inside]).T
    for number, (start, end) in enumerate(words):
        rows = [row for row, owner in enumerate(owners) if owner == number]
        if not rows:
            continue
        place, similarity = (sentence[0], sentence[0]), 0.0
        if len(starts):
            best = cosines[rows].max(axis=1)
            strongest = rows[int(best.argmax())]
            place = _word_at(text, int(starts[int(cosines[strongest].argmax())]))
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
    matches = []
    for start, end in word_spans(question):
        of_word = stems(question[start:end], language=language)
        if of_word:
            place = next((places[stem] for stem in of_word if stem in places), None)
            nothing = (sentence[0], sentence[0])
            similarity = 0.0 if place is None else 1.0
            matches.append(
                WordMatch(question[start:end], *(place or nothing), similarity)
            )
    return tuple(matches)


def explain_flow(
    query: str,
    hits: Sequence[Hit],
    documents: Sequence[StoredDocument],
    pool: Corpus,
    ranking: Ranking,
    encoder: TokenEncoder | None,
    language: str,
) -> Flow[list[tuple[SentenceMatch, ...]]]:
    """The sentences of each hit with the question's words they match. The encoder reads the
    question and the pieces around the hits; None: words match by stems."""
    by_id = {stored.id: stored for stored in documents}
    asked: TokenVectors | None = None
    tokens: Mapping[tuple[str, Span], TokenVectors] = {}
    if encoder is not None and hits:
        around = [
            (hit.chunk.doc_id, piece)
            for hit in hits
            for piece in _pieces(by_id[hit.chunk.doc_id], hit.chunk)
        ]
        asked, tokens = yield from _read_flow(query, around, by_id, encoder)
    explained = []
    for hit in hits:
        document = by_id[hit.chunk.doc_id]
        pieces = _pieces(document, hit.chunk)
        placed = _placed({piece: tokens.get((document.id, piece)) for piece in pieces})
        sentences = []
        for unit, sentence in _sentences(pool, documents, hit.chunk):
            if asked is not None and placed is not None:
                words = by_tokens(query, asked, document.text, sentence, placed)
            else:
                words = by_stems(query, document.text, sentence, language)
            sentences.append(SentenceMatch(*sentence, ranking.share(unit), words))
        explained.append(tuple(sentences))
    return explained


def _read_flow(
    query: str,
    around: Sequence[tuple[str, Span]],
    documents: Mapping[str, StoredDocument],
    encoder: TokenEncoder,
) -> Flow[tuple[TokenVectors, dict[tuple[str, Span], TokenVectors]]]:
    """The tokens of the question and of pieces, each piece read once."""
    encoder_spans = list(dict.fromkeys(around))
    texts = tuple(
        documents[doc_id].text[slice(*piece)] for doc_id, piece in encoder_spans
    )
    requests = [EmbedTokens((query,), encoder, query=True), EmbedTokens(texts, encoder)]
    (asked,), read = yield requests
    return asked, dict(zip(encoder_spans, read, strict=True))


def _pieces(document: StoredDocument, chunk: Chunk) -> list[Span]:
    """The pieces of a document that hold part of a chunk. They are as an encoder reads them."""
    return [
        piece
        for piece in document.encoder_spans
        if piece[0] < chunk.end and chunk.start < piece[1]
    ]


def _sentences(
    pool: Corpus, documents: Sequence[StoredDocument], chunk: Chunk
) -> Iterator[tuple[int, Span]]:
    """The atoms that lie in a chunk, with their places. The places are within the chunk."""
    for document, record, before in zip(
        documents, pool.records, pool.firsts, strict=False
    ):
        if document.id != chunk.doc_id:
            continue
        inside = (record.ends > chunk.start) & (record.starts < chunk.end)
        for unit in np.flatnonzero(inside).tolist():
            start, end = int(record.starts[unit]), int(record.ends[unit])
            span = max(start, chunk.start), min(end, chunk.end)
            yield int(before) + unit, span


def _placed(tokens: Mapping[Span, TokenVectors | None]) -> PlacedTokens | None:
    read = [(piece, of) for piece, of in tokens.items() if of is not None]
    if not read:
        return None
    starts = [of.spans[:, 0].astype(np.int64) + piece[0] for piece, of in read]
    return PlacedTokens(
        np.concatenate(starts), np.concatenate([of.vectors for _, of in read])
    )


def _word_at(text: str, place: int) -> Span:
    """The word that holds a character, or the character alone. Where spaces do not part words, it
    is a character."""
    match = _WORD.match(text, place)
    if match is None:
        return place, place + 1
    start, end = match.span()
    while start > 0 and _WORD.fullmatch(text, start - 1, end):
        start -= 1
    return start, end
