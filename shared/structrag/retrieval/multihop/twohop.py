"""Two hops without a language model: the names found in the first evidence lead to the second."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from structrag.asking.requests import Steps
from structrag.errors import check_at_least
from structrag.records import Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.multihop.retrieved import (
    Costs,
    StepRetriever,
    add_costs,
    costs_of,
    driver_of,
    hits_of,
    interleaved,
)
from structrag.text.names import EntityFinder, fold, names_by_form, occurrences


@dataclass(frozen=True, slots=True)
class TwoHopResult:
    """What two hops found.

    Attributes:
        hits: Of both hops by turns, every chunk once, ranks from 1; scores are those of the hop
            that a hit came from first.
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


class TwoHop:
    """A retriever that searches twice: for the question, then for the question and names found in
    the first evidence.

    It is a retriever as any other, so that `SelfAsk` and the adapters take it.

    Args:
        retriever: `D3Retriever`, `MultiViewRetriever`, or what has `steps` as they have.
        max_entities: Most names added to the question: those in most hits, then those that come
            first.
        limit: Most hits in all; None: all of both hops.
        find_entities: Text -> names; default by their form (`names_by_form`).
    """

    def __init__(
        self,
        retriever: StepRetriever,
        *,
        max_entities: int = 5,
        limit: int | None = None,
        find_entities: EntityFinder = names_by_form,
    ) -> None:
        check_at_least("max_entities", max_entities, 1)
        if limit is not None:
            check_at_least("limit", limit, 1)
        self.retriever = retriever
        self.runner = driver_of(retriever)
        self.max_entities = max_entities
        self.limit = limit
        self.find_entities = find_entities

    def search(self, question: str, *, where: Any = None) -> list[Hit]:
        """The hits of both hops."""
        return self.result(question, where=where).hits

    async def asearch(self, question: str, *, where: Any = None) -> list[Hit]:
        """`search` on an event loop."""
        return (await self.aresult(question, where=where)).hits

    def result(self, question: str, *, where: Any = None) -> TwoHopResult:
        """The hits with the names that led to the second hop, and the cost."""
        return self.runner.run(self.steps(question, where=where))

    async def aresult(self, question: str, *, where: Any = None) -> TwoHopResult:
        """`result` on an event loop."""
        return await self.runner.arun(self.steps(question, where=where))

    def steps(self, question: str, /, *, where: Any = None) -> Steps[TwoHopResult]:
        """`result` as steps."""
        cost: Costs = {}
        first = yield from self.retriever.steps(question, where=where)
        add_costs(cost, costs_of(first))
        lists = [hits_of(first)]
        names = bridge_entities(question, lists[0], self.max_entities, self.find_entities)
        if names:
            second = yield from self.retriever.steps(" ".join((question, *names)), where=where)
            add_costs(cost, costs_of(second))
            lists.append(hits_of(second))
        return TwoHopResult(interleaved(lists)[: self.limit], tuple(names), cost)


def bridge_entities(
    question: str, hits: Sequence[Hit], limit: int = 5, find_entities: EntityFinder = names_by_form
) -> list[str]:
    """At most `limit` names in the hits that the question does not hold: those in most hits first,
    ties in order of appearance."""
    asked = fold(question)
    shown: dict[str, str] = {}
    frequency: Counter[str] = Counter()
    for hit in hits:
        names = {fold(name): " ".join(name.split()) for name in find_entities(hit.chunk.text)}
        for key, name in names.items():
            if key and not occurrences(asked, key):
                shown.setdefault(key, name)
                frequency[key] += 1
    return [shown[key] for key in sorted(shown, key=lambda key: -frequency[key])[:limit]]
