"""Hits packed whole into a reader's tokens (HiQA, section 5)."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable
from dataclasses import replace

from structrag.errors import check_at_least
from structrag.records import Chunk, Hit, chunk_id
from structrag.text.sentences import LANGUAGES, sentence_spans
from structrag.text.tokens import TokenCounter, count_tokens

_BY_LINE = ("table", "code")  # kinds of chunks whose sentences are their lines


def reader_text(chunk: Chunk) -> str:
    """Return the text that a reader needs of a chunk: heading path, newline, whole text."""
    return f"{chunk.context}\n{chunk.text}" if chunk.context else chunk.text


def pack(
    hits: Iterable[Hit],
    max_tokens: int,
    counter: TokenCounter = count_tokens,
    *,
    text_of: Callable[[Chunk], str] = reader_text,
    language: str = "english",
) -> list[Hit]:
    """The hits that fit `max_tokens` together, in the order given.

    One that does not fit is left out, and later ones may still fit. Only the first may be cut,
    where it alone is too long: at the end of a sentence (of a line in tables and code), so that its
        `text` stays an exact slice of the document; its id and end follow, and `extras["cut"]` is
        true. If not even its first sentence fits, it is left out too. Scores and ranks stay.

    Args:
        max_tokens: Tokens of `counter` for the texts of all chunks; whatever is put between them is
            the caller's to count.
        text_of: The text that is shown of a chunk; default `reader_text`.
        language: The language of the sentences, an English name such as "german".

    Raises:
        InvalidParameter: `max_tokens` is below 0.
    """
    check_at_least("max_tokens", max_tokens, 0)
    packed: list[Hit] = []
    left = max_tokens
    for number, hit in enumerate(hits):
        size = counter(text_of(hit.chunk))
        if size > left and not number:
            hit = replace(hit, chunk=_cut(hit.chunk, left, counter, text_of, language))
            size = counter(text_of(hit.chunk)) if hit.chunk.text else size
        if size <= left:
            packed.append(hit)
            left -= size
    return packed


def pack_best(
    hits: Iterable[Hit],
    max_tokens: int,
    counter: TokenCounter = count_tokens,
    *,
    text_of: Callable[[Chunk], str] = reader_text,
    language: str = "english",
) -> list[Hit]:
    """Run `pack` by rank. The hits that fit are returned in their original order."""
    hits = list(hits)
    places = {hit.rank: place for place, hit in enumerate(hits)}
    by_rank = sorted(hits, key=lambda hit: hit.rank)
    packed = pack(by_rank, max_tokens, counter, text_of=text_of, language=language)
    return sorted(packed, key=lambda hit: places[hit.rank])


def _cut(
    chunk: Chunk,
    limit: int,
    counter: TokenCounter,
    text_of: Callable[[Chunk], str],
    language: str,
) -> Chunk:
    """Return the chunk up to the last sentence end at which it fits; its text is empty if there is
    none."""
    if chunk.kind in _BY_LINE:
        ends = [i + 1 for i, character in enumerate(chunk.text) if character == "\n"]
    else:
        rules = language if language in LANGUAGES else "english"
        ends = [end for _, end in sentence_spans(chunk.text, language=rules)]
    extras = {**chunk.extras, "cut": True}
    extras.pop("source_end", None)  # of the whole chunk

    def upto(end: int) -> Chunk:
        text = chunk.text[:end]
        return replace(
            chunk,
            id=chunk_id(chunk.doc_id, chunk.path, text),
            end=chunk.start + end,
            text=text,
            n_tokens=counter(text),
            extras=extras,
        )

    n_fit = bisect_right(ends, limit, key=lambda end: counter(text_of(upto(end))))
    return upto(ends[n_fit - 1] if n_fit else 0)
