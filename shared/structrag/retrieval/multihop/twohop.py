"""Two hops without a language model, by names in the first evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structrag.errors import check_at_least, checked_k
from structrag.model_calls.requests import Flow, T
from structrag.records import Hit
from structrag.retrieval.d3.selection import StageCost
from structrag.retrieval.multihop.hops import (
    Costs,
    add_costs,
    interleaved,
    retrieved_flow,
)
from structrag.retrieval.retriever import Retriever, check_retriever
from structrag.text.names import EntityFinder, fold, names_by_form, occurrences


@dataclass(frozen=True, slots=True)
class TwoHopResult:
    """The result of two hops.

    Attributes:
        hits: The hits of both hops, alternating, each chunk once, ranks from 1; scores are those of
            the hop that a hit came from first.
        entities: The names that were added to the question; () when there was no second hop.
        cost: The retriever's stages, both hops added up; {} where it does not say.
    """

    hits: list[Hit]
    entities: tuple[str, ...]
    cost: Costs

    @property
    def total(self) -> StageCost:
        """All stages together."""
        return sum(self.cost.values(), StageCost())


class TwoHop(Retriever):
    """A retriever that searches twice, the second time with the names it found.

    Example:
        >>> from structrag import Index, MultiViewRetriever, read_text
        >>> index = Index(views=["raw"])
        >>> texts = ["The X100 is made by Acme Works.", "Jane Doe founded Acme Works in 1950."]
        >>> _ = index.add([read_text(text) for text in texts])
        >>> hops = TwoHop(MultiViewRetriever(index, k=1, routes=["bm25"]))
        >>> hops.result("Who makes the X100?").entities
        ('Acme Works',)

    The hits of both hops alternate, each chunk once.

    Args:
        retriever: The retriever for both searches, with its own number of hits.
        k: The largest number of hits in total; None: all of both hops.
        max_entities: The largest number of names added to the question: those in most hits, then
            those that come first.
        entity_hits: The number of first hits to take names from; None: all hits, which finds less.
        find_entities: A function from a text to names; by default they are found by their form
            (`names_by_form`).
    """

    def __init__(
        self,
        retriever: Retriever,
        *,
        k: int | None = None,
        max_entities: int = 5,
        entity_hits: int | None = 2,
        find_entities: EntityFinder = names_by_form,
    ) -> None:
        check_at_least("max_entities", max_entities, 1)
        if entity_hits is not None:
            check_at_least("entity_hits", entity_hits, 1)
        check_retriever(retriever)
        self.retriever = retriever
        self.k: int | None = None if k is None else checked_k(k)
        self.max_entities = max_entities
        self.entity_hits = entity_hits
        self.find_entities = find_entities

    def result(
        self, question: str, k: float | None = None, *, where: Any = None
    ) -> TwoHopResult:
        """The hits that `search` returns, with the added names and the cost."""
        return self.run(self.result_flow(question, k, where=where))

    async def aresult(
        self, question: str, k: float | None = None, *, where: Any = None
    ) -> TwoHopResult:
        """`result` on an event loop."""
        return await self.arun(self.result_flow(question, k, where=where))

    def flow(
        self, query: str, k: float | None = None, *, where: Any = None
    ) -> Flow[list[Hit]]:
        """`search` as a flow."""
        result = yield from self.result_flow(query, k, where=where)
        return result.hits

    def result_flow(
        self, question: str, k: float | None = None, *, where: Any = None
    ) -> Flow[TwoHopResult]:
        """`result` as a flow."""
        most = self.k if k is None else checked_k(k)
        cost: Costs = {}
        first = yield from retrieved_flow(self.retriever, question, where)
        add_costs(cost, first.cost)
        lists = [first.hits]
        read = first.hits[: self.entity_hits]
        names = bridge_entities(question, read, self.max_entities, self.find_entities)
        if names:
            longer = " ".join((question, *names))
            second = yield from retrieved_flow(self.retriever, longer, where)
            add_costs(cost, second.cost)
            lists.append(second.hits)
        return TwoHopResult(interleaved(lists)[:most], tuple(names), cost)

    def run(self, flow: Flow[T]) -> T:
        """Run a flow as the retriever does."""
        return self.retriever.run(flow)

    async def arun(self, flow: Flow[T]) -> T:
        """`run` on an event loop."""
        return await self.retriever.arun(flow)


def bridge_entities(
    question: str,
    hits: Sequence[Hit],
    limit: int = 5,
    find_entities: EntityFinder = names_by_form,
) -> list[str]:
    """At most `limit` names of the hits that the question lacks. Those in most hits come first,
    ties in order of appearance."""
    asked = fold(question)
    shown: dict[str, str] = {}  # folded name -> as it is written first
    frequency: Counter[str] = Counter()  # of hits
    for hit in hits:
        names = {
            fold(name): " ".join(name.split()) for name in find_entities(hit.chunk.text)
        }
        for key, name in names.items():
            if key and not occurrences(asked, key):
                shown.setdefault(key, name)
                frequency[key] += 1
    by_frequency = sorted(shown, key=lambda key: -frequency[key])
    return [shown[key] for key in by_frequency[:limit]]
