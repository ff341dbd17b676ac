"""`EvidenceRetriever` measured beside splitters: passages in place of chunks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from structrag.evaluation.measure import Span, SpanMeasure, spans_of
from structrag.model_calls.progress import counted
from structrag.model_calls.requests import Progress
from structrag.records import Document, Hit
from structrag.retrieval.evidence.retriever import EvidenceRetriever


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


def withheld_documents(
    documents: Sequence[Document], withheld: Mapping[str, Sequence[tuple[int, int]]]
) -> list[Document]:
    """The documents with blanks in place of withheld characters. So all places stay. No heading is
    left in them."""
    blanked = []
    for document in documents:
        parts, place = [], 0
        for start, end in withheld.get(document.id, ()):
            lines = document.text[start:end].split("\n")
            parts += [
                document.text[place:start],
                "\n".join(" " * len(line) for line in lines),
            ]
            place = end
        text = "".join([*parts, document.text[place:]])
        layout = document.layout and replace(document.layout, headings=())
        blanked.append(replace(document, text=text, title="", layout=layout))
    return blanked
