"""Questions put to an index of each method's chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from structrag.errors import InvalidParameter
from structrag.evaluation.budget import spans_at_budget
from structrag.evaluation.measure import Span, SpanMeasure, spans_of
from structrag.index.index import Index
from structrag.model_calls.progress import counted
from structrag.model_calls.requests import Progress
from structrag.records import Chunk, Document
from structrag.retrieval.multiview import MultiViewRetriever

Chunks = Mapping[str, Sequence[Chunk]]  # document id -> its chunks, in reading order


@dataclass(frozen=True, slots=True)
class GivenChunks:
    """A splitter that returns chunks made before.

    Chunks of different splitters are thus searched alike, and what is searched is what is shown.

    So chunks of different splitters are searched alike, and what is searched is what is shown.

    Example:
        >>> chunks = {"d": [Chunk("d:0-4", "d", "s", 0, 4, "Nova")]}
        >>> [chunk.text for chunk in GivenChunks(chunks).split(Document("Nova", id="d"))]
        ['Nova']

    Attributes:
        chunks: Document id -> its chunks, in reading order.
        name: Its name for an index, which then need not read all chunks to recognise them.
    """

    chunks: Mapping[str, Sequence[Chunk]]
    name: str = "chunks made before"

    def split(self, document: Document) -> list[Chunk]:
        """The chunks of a document, in reading order."""
        return list(self.chunks[document.id])


@dataclass(frozen=True, slots=True)
class RankedSpans:
    """The chunks for one question, best first.

    Example:
        >>> RankedSpans((("d", 0, 90), ("d", 90, 180)), (20, 22)).first(1)
        [('d', 0, 90)]
    """

    spans: tuple[Span, ...]
    tokens: tuple[int, ...]  # of each chunk's text

    def first(self, k: int) -> list[Span]:
        """The first k chunks."""
        return list(self.spans[:k])

    def tokens_of_first(self, k: int) -> int:
        """The tokens of their texts."""
        return sum(self.tokens[:k])

    def within(self, budget: int, measure: SpanMeasure) -> list[Span]:
        """Return the spans within `budget` tokens; the last chunk is cut."""
        return spans_at_budget(self.spans, budget, measure, sizes=self.tokens)


def check_documents(
    documents: Sequence[Document], splitters: Mapping[str, Any]
) -> None:
    """Refuse no text, no splitter, and two documents with one id.

    Raises:
        InvalidParameter: there is nothing to measure, or an id occurs twice.
    """
    if not splitters or not any(document.text.strip() for document in documents):
        raise InvalidParameter(
            "There is nothing to measure: pass at least one document with text, and one method."
        )
    if len({document.id for document in documents}) < len(documents):
        raise InvalidParameter("Two documents have the same id; give each a unique id.")


def search_all(
    documents: Sequence[Document],
    chunks: Chunks,
    questions: Sequence[str],
    *,
    budget: int,
    k: int = 1,
    embedder: Any = None,
    views: Sequence[str] = ("raw",),
    progress: Progress | None = None,
) -> list[RankedSpans]:
    """Search all documents for every question, by vectors and BM25.

    A ranking has at least k chunks, and enough to fill `budget` tokens, where there are so many.

    Args:
        chunks: The chunks to index. A document may have none.
        embedder: What `as_embedder` takes. None: LSA.
        views: Which views of the chunks are searched.
        progress: Called as (what, done, total) while documents are indexed, then as ("questions",
            done, questions).
    """
    index = Index(
        embedder=embedder,
        splitter=GivenChunks(chunks),
        views=views,
        progress=progress,
    )
    index.add(documents)
    sizes = [chunk.n_tokens for chunk in chain.from_iterable(chunks.values())]
    # Twice as many as fill the budget on average.
    first = max(k, 2 * budget * len(sizes) // max(1, sum(sizes)), 1)
    retriever = MultiViewRetriever(index)
    return [
        _search(retriever, question, first, budget)
        for question in counted(progress, "questions", questions)
    ]


def _search(
    retriever: MultiViewRetriever, question: str, k: int, budget: int
) -> RankedSpans:
    """The first k chunks, and more until they fill the budget."""
    while True:
        hits = retriever.search(question, k)
        tokens = tuple(hit.chunk.n_tokens for hit in hits)
        if len(hits) < k or sum(tokens) >= budget:  # fewer than k: these are all
            return RankedSpans(tuple(spans_of(hit.chunk for hit in hits)), tokens)
        k *= 2
