"""HiQA's segments in a host and its lexical engine."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Any

from structrag.chunks.hiqa.splitter import HiQASplitter
from structrag.errors import (
    InvalidParameter,
    UnknownDocument,
    check_choice,
    check_optional,
)
from structrag.index.corpus import CorpusReader, CorpusStore
from structrag.index.index import Index
from structrag.integrations.stores import rank_scores
from structrag.model_calls.requests import Ranking, Search
from structrag.records import Chunk, Hit
from structrag.retrieval.packing import pack_best, reader_text
from structrag.text.tokens import TokenCounter

_READ = 1000  # segments that are read together


@dataclass(frozen=True, slots=True)
class EngineResult:
    """The segment that a result of a lexical engine names.

    Attributes:
        chunk_id: The segment's id, as `segments()` of a retriever put it into metadata.
        names: What may be that id, best guess first; anything but strings is passed over.
        doc_id: The document that it is a part of.
        start, end: Its place there, in characters; without an end, the start alone.
        score: Higher is better; None: it tells none.
    """

    chunk_id: Any = None
    names: Sequence[Any] = ()
    doc_id: str | None = None
    start: Any = None
    end: Any = None
    score: Any = None


@dataclass(frozen=True, slots=True)
class EngineRoute:
    """A host's retriever as a route of an index, in place of BM25.

    Its results are mapped back to the index's segments; see `segment_ranking`. How many it finds is
    the retriever's own setting. A host's class says how it is asked and what its results are.
    """

    retriever: Any
    index: Index

    def search(self, request: Search) -> Ranking:
        """The segments found, best first."""
        return self._ranking(self.found(request.query))

    async def asearch(self, request: Search) -> Ranking:
        """`search` by the retriever's own async call, if it has one."""
        return self._ranking(await self.afound(request.query))

    def found(self, query: str) -> Sequence[Any]:
        raise NotImplementedError

    async def afound(self, query: str) -> Sequence[Any]:
        raise NotImplementedError

    def read(self, result: Any) -> EngineResult:
        """Read from a result which segment it is."""
        raise NotImplementedError

    def described(self, result: Any) -> str:
        """A description of a result that is not a segment, for the error message."""
        raise NotImplementedError

    def _ranking(self, results: Sequence[Any]) -> Ranking:
        return segment_ranking(
            [self.read(result) for result in results],
            self.index.store,
            lambda: self.described(results[0]),
        )


def segment_ranking(
    results: Sequence[EngineResult],
    store: CorpusStore,
    describe_first: Callable[[], str],
) -> Ranking:
    """The segments that a host's results are, best first, with their scores.

    A result is the segment that its `chunk_id` or one of its names is the id of, else the one that
    holds its place. Results that are not a segment, or no longer one, are dropped. Scores are the
    host's where all results have one and they do not rise; else the first counts 1, the second 1/2,
    the third 1/3.

    Args:
        results: As the host gave them, best first.
        store: Of the index whose segments they are.
        describe_first: Says what the first result is, for the message of the error.

    Raises:
        InvalidParameter: there are results, none is a segment, and none was one once.
    """
    reader = store.reader()
    segments = [_segment_id(result, reader) for result in results]
    # An engine that still has documents the index has lost is no mistake of the caller's.
    are_ours = any(segments) or any(
        isinstance(result.chunk_id, str) for result in results
    )
    if results and not are_ours:
        raise InvalidParameter(
            f"lexical must be a retriever over this index's segments; none of its {len(results)} "
            f"results is one of them. The first has {describe_first()}. Build the retriever from "
            "segments()."
        )
    scores = _scores([result.score for result in results])
    return [(name, score) for name, score in zip(segments, scores, strict=True) if name]


def indexed_segments(store: CorpusStore, view: str) -> Iterator[tuple[Chunk, str]]:
    """Every chunk with what is indexed of it in a view. Chunks that lack the view are left out."""
    reader = store.reader()
    rows = reader.first_rows(None, len(reader))
    for start in range(0, len(rows), _READ):
        some = rows[start : start + _READ]
        texts = reader.view_texts_at(some, view)
        for chunk, text in zip(reader.chunks_at(some), texts, strict=True):
            if text:
                yield chunk, text


# The splitter of each preset.
MAKERS: dict[str, Callable[..., HiQASplitter]] = {
    "default": HiQASplitter,
    "paper": HiQASplitter.paper,
    "code": partial(HiQASplitter.paper, max_tokens=8000),
}


def with_segments(
    index: Index, splitter: Any = None, preset: str | None = None
) -> Index:
    """Make an index split into segments as a preset does, unless another splitter was chosen."""
    make = MAKERS[check_choice("preset", preset or "default", tuple(MAKERS))]
    if splitter is None:
        index.splitter = make(language=index.view_settings.language)
    return index


def check_packing(max_tokens: int | None) -> None:
    """Raise InvalidParameter for a limit below 0."""
    check_optional("max_tokens", max_tokens, 0)


def packed(
    hits: list[Hit],
    index: Index,
    max_tokens: int | None,
    counter: TokenCounter,
    text_of: Callable[[Chunk], str] = reader_text,
) -> list[Hit]:
    """The hits that fit `max_tokens` together. None: all of them. See
    `structrag.retrieval.packing.pack_best`."""
    if max_tokens is None:
        return hits
    language = index.view_settings.language
    return pack_best(hits, max_tokens, counter, text_of=text_of, language=language)


def _segment_id(result: EngineResult, reader: CorpusReader) -> str | None:
    """The id of the segment that a result is, or None."""
    for name in (result.chunk_id, *result.names):
        if isinstance(name, str) and reader.row_of(name) is not None:
            return name
    if result.doc_id is None or not isinstance(result.start, int):
        return None
    end = result.end if isinstance(result.end, int) else result.start
    chunk = chunk_at(reader, result.doc_id, result.start, end)
    return chunk.id if chunk else None


def _scores(scores: Sequence[Any]) -> list[float]:
    """The host's scores, or those of the ranks. The host's count where all results have one and
    none rises."""
    numbers = [float(score) for score in scores if isinstance(score, int | float)]
    is_falling = all(better >= worse for better, worse in pairwise(numbers))
    if is_falling and len(numbers) == len(scores):
        return numbers
    return rank_scores(len(scores))


def chunk_at(reader: CorpusReader, doc_id: str, start: int, end: int) -> Chunk | None:
    """The chunk of a document that contains the characters `[start, end)`. None if there is no such
    document or chunk. If chunks overlap, the last one that begins at or before `start` counts.
    """
    try:
        rows = reader.rows_of(doc_id)
    except UnknownDocument:
        return None
    place = bisect_right(rows, start, key=lambda row: reader.chunk(row).start) - 1
    if place < 0:  # every chunk begins behind `start`
        return None
    chunk = reader.chunk(rows[place])
    return chunk if end <= chunk.end else None
