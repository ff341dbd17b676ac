"""What the multi-hop parts ask of a retriever, and how they put its results together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any, Protocol

from structrag.asking.requests import Steps, T
from structrag.errors import InvalidParameter
from structrag.records import Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.fusion import round_robin

Costs = dict[str, StageCost]  # stage -> what it cost


class StepRetriever(Protocol):
    """A retriever that is steps: `MultiViewRetriever`, `D3Retriever`, `TwoHop`.

    Steps give a list of hits, or an object with `hits` and, where it has any, `cost` (stage ->
    StageCost). They are driven by `driver_of` the retriever.
    """

    def steps(self, question: str, /, *, where: Any = None) -> Steps[Any]: ...


class Driver(Protocol):
    """What drives steps with models and routes: a `Runner`, an `Index`."""

    def run(self, steps: Steps[T]) -> T: ...

    async def arun(self, steps: Steps[T]) -> T: ...


def driver_of(retriever: Any) -> Driver:
    """What drives a retriever's steps: the first of itself, its `runner` and its `index` that has
    `run` and `arun`.

    Raises InvalidParameter unless there is one, and `steps`.
    """
    candidates: tuple[Any, ...] = (
        retriever,
        getattr(retriever, "runner", None),
        getattr(retriever, "index", None),
    )
    drivers: list[Driver] = [
        each for each in candidates if hasattr(each, "run") and hasattr(each, "arun")
    ]
    if drivers and hasattr(retriever, "steps"):
        return drivers[0]
    raise InvalidParameter(
        "retriever must have steps(question, where=...), and run and arun or a runner or index "
        "that has them, as MultiViewRetriever and "
        f"D3Retriever have; got {type(retriever).__name__}."
    )


def hits_of(result: Any) -> list[Hit]:
    """The hits in what a retriever's steps gave."""
    return list(getattr(result, "hits", result))


def costs_of(result: Any) -> Mapping[str, StageCost]:
    """What each stage of the retriever cost, {} where it does not say."""
    costs: Mapping[str, StageCost] = getattr(result, "cost", {})
    return costs


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
    """The first of each list, then the second of each, and so on; every chunk once, ranks numbered
    anew."""
    known = {hit.chunk.id: hit for hit in reversed(list(chain(*lists)))}
    order = round_robin([[hit.chunk.id for hit in hits] for hits in lists], len(known))
    return [replace(known[key], rank=rank) for rank, key in enumerate(order, start=1)]
