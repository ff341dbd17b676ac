"""What several searches take from a retriever, put together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

from structrag.model_calls.requests import Flow
from structrag.records import Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.fusion import round_robin
from structrag.retrieval.retriever import Retriever

Costs = dict[str, StageCost]  # stage -> what it cost


@dataclass(frozen=True, slots=True)
class Retrieved:
    """What one search of a retriever gave."""

    hits: list[Hit]
    cost: Mapping[str, StageCost]  # by stage; {} where the retriever does not say
    result: Any  # all of it: a `D3Result`, a `TwoHopResult`, or the list of hits


def retrieved_flow(retriever: Retriever, query: str, where: Any) -> Flow[Retrieved]:
    """One search, with its cost where the retriever has `result_flow`."""
    result_flow = getattr(retriever, "result_flow", None)
    if result_flow is None:
        hits = yield from retriever.flow(query, where=where)
        return Retrieved(hits, {}, hits)
    result = yield from result_flow(query, where=where)
    return Retrieved(list(result.hits), result.cost, result)


def add_costs(total: Costs, more: Mapping[str, StageCost]) -> None:
    """Add each stage's cost to that stage of `total`."""
    for stage, cost in more.items():
        total[stage] = total.get(stage, StageCost()) + cost


def each_once(hits: Iterable[Hit]) -> list[Hit]:
    """Every chunk once, where it comes first."""
    unique: dict[str, Hit] = {}
    for hit in hits:
        unique.setdefault(hit.chunk.id, hit)
    return list(unique.values())


def interleaved(lists: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The first hit of each list, then the second, ... Every chunk comes once, as the hit of the
    first list that has it. Ranks are numbered again."""
    hit_of = {hit.chunk.id: hit for hit in each_once(chain(*lists))}
    rankings = [[hit.chunk.id for hit in hits] for hits in lists]
    order = round_robin(rankings, len(hit_of))
    return [replace(hit_of[id_], rank=rank) for rank, id_ in enumerate(order, start=1)]
