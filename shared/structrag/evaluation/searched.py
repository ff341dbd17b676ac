"""Questions put to an index of each method's chunks, or to `EvidenceRetriever`, which has passages
in place of chunks; and what a splitter asks of models."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import Any

from structrag.chunks.model_splitter import ReadingSplitter, answered
from structrag.errors import InvalidParameter
from structrag.evaluation.measure import Span, SpanMeasure, spans_at_budget, spans_of
from structrag.index.index import Index
from structrag.model_calls.requests import (
    Choose,
    Embed,
    Progress,
    Request,
    map_requests,
)
from structrag.model_calls.runner import DryRun, Runner
from structrag.model_calls.settings import counted
from structrag.records import Chunk, Document, Hit
from structrag.retrieval.evidence.retriever import EvidenceRetriever
from structrag.retrieval.multiview import MultiViewRetriever

Chunks = Mapping[str, Sequence[Chunk]]  # document id -> its chunks, in reading order


@dataclass(frozen=True, slots=True)
class GivenChunks:
    """A splitter that returns chunks made before.

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


@dataclass(frozen=True, slots=True)
class Passages:
    """A stand-in for a splitter that means: search with `EvidenceRetriever`.

    Example:
        >>> document = Document("The pump leaks.", id="d")
        >>> [hit.chunk.text for hit in Passages().retriever([document], None).search("pump")]
        ['The pump leaks.']

    Attributes:
        options: Of `EvidenceRetriever`.
    """

    options: Mapping[str, Any] = field(default_factory=dict)

    def retriever(
        self,
        documents: Sequence[Document],
        embedder: Any,
        progress: Progress | None = None,
    ) -> EvidenceRetriever:
        """Return a retriever over the documents."""
        options: Any = {"progress": progress, **self.options}
        return EvidenceRetriever.from_documents(documents, embedder, **options)


class PassageRanking:
    """The passages for one question, by limit. Each limit is a search of its own, since passages
    for fewer tokens are smaller."""

    def __init__(
        self, by_k: Mapping[int, list[Hit]], by_budget: Mapping[int, list[Hit]]
    ) -> None:
        self._by_k = by_k
        self._by_budget = by_budget

    def first(self, k: int) -> list[Span]:
        """The passages where k were asked for."""
        return spans_of(hit.chunk for hit in self._by_k[k])

    def tokens_of_first(self, k: int) -> int:
        """The tokens of these passages' texts."""
        return sum(hit.chunk.n_tokens for hit in self._by_k[k])

    def within(self, budget: int, measure: SpanMeasure) -> list[Span]:
        """The passages within a budget; none is cut."""
        return spans_of(hit.chunk for hit in self._by_budget[budget])


def search_passages(
    retriever: EvidenceRetriever,
    questions: Sequence[str],
    *,
    depths: Sequence[int] = (),
    budgets: Sequence[int] = (),
    progress: Progress | None = None,
) -> list[PassageRanking]:
    """Search all documents of the retriever for every question, within each limit. `progress` is
    called as ("questions", done, questions)."""
    rankings = []
    for question in counted(progress, "questions", questions):
        by_k = {k: retriever.search(question, k) for k in depths}
        by_budget = {
            budget: retriever.search(question, max_tokens=budget) for budget in budgets
        }
        rankings.append(PassageRanking(by_k, by_budget))
    return rankings


# The assumed answer of a language model whose calls are only counted.
_SUMMARY = "A summary."


def split_counted(
    splitter: Any, document: Document, runner: Runner
) -> tuple[list[Chunk], int]:
    """The chunks of a document, and how many texts were embedded. Without an embedder of the
    runner, they are embedded by LSA."""
    if not isinstance(splitter, ReadingSplitter):
        return list(splitter.split(document)), 0
    embedded = 0

    def count(request: Request) -> Request:
        nonlocal embedded
        if isinstance(request, Embed):
            embedded += len(request.texts)
        return request

    chunks = runner.run(
        answered(map_requests(splitter.split_flow(document), count), runner)
    )
    return chunks, embedded


def model_calls(splitter: Any, document: Document) -> int:
    """Count the calls of a language model that splitting would take.

    None is made. Every question is answered alike here. A splitter whose questions depend on the
    answers can make a few more or less.
    """
    if not isinstance(splitter, ReadingSplitter):
        return 0
    dry = DryRun(
        Runner(llm=_Anybody()),
        stand_in=lambda request, _: 0.0 if isinstance(request, Choose) else _SUMMARY,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        dry.run(splitter.split_flow(document))
    return dry.stages[""].calls


class _Anybody:
    """A stand-in for a language model. It is never called."""

    name = "anybody"

    def complete(self, prompt: str) -> str:
        return _SUMMARY

    def choose(self, prompt: str, options: tuple[str, str]) -> float | None:
        return 0.0
