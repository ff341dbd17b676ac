"""Hits of several searches as one list."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from structrag.asking.runner import Runner
from structrag.records import Chunk, Hit
from structrag.retrieval.d3.costs import StageCost
from structrag.retrieval.multihop.retrieved import (
    add_costs,
    each_once,
    interleaved,
    retrieved_steps,
)
from structrag.retrieval.multihop.twohop import TwoHopResult


def hit(key: str, text: str = "", rank: int = 1) -> Hit:
    return Hit(Chunk(key, "d", "d#0", 0, len(text), text), 1.0, rank)


@given(
    st.lists(st.lists(st.sampled_from("abcdef"), unique=True, max_size=5), max_size=4)
)
def test_lists_take_turns(lists: list[list[str]]) -> None:
    found = interleaved([[hit(key) for key in keys] for keys in lists])
    keys = [each.chunk.id for each in found]
    assert sorted(keys) == sorted({key for some in lists for key in some})
    assert [each.rank for each in found] == list(range(1, len(found) + 1))
    heads = list(dict.fromkeys(some[0] for some in lists if some))
    assert keys[: len(heads)] == heads
    once: list[Any] = [
        each.chunk.id
        for each in each_once([hit(key) for some in lists for key in some])
    ]
    assert once == list(dict.fromkeys(key for some in lists for key in some))


def test_the_first_hit_of_a_chunk_stays_with_a_new_rank() -> None:
    lists = [[hit("a", "x", 4), hit("b", "", 7)], [hit("b", "y", 2), hit("c")]]
    joined = [(one.chunk.id, one.chunk.text, one.rank) for one in interleaved(lists)]
    assert joined == [("a", "x", 1), ("b", "", 2), ("c", "", 3)]
    assert interleaved([]) == interleaved([[], []]) == []


class Plain:
    """Steps to hits, and what they were asked for."""

    def __init__(self) -> None:
        self.searches: list[tuple[str, Any]] = []

    def steps(self, query: str, k: Any = None, *, where: Any = None) -> Any:
        self.searches.append((query, where))
        yield []
        return [hit("a")]


class Priced(Plain):
    """Also says what a search has cost."""

    def result_steps(self, query: str, k: Any = None, *, where: Any = None) -> Any:
        hits = yield from self.steps(query, k, where=where)
        return TwoHopResult(hits, ("Ada",), {"route": StageCost(1, 2, 3)})


def test_a_search_has_its_cost_where_the_retriever_says_it() -> None:
    for retriever, cost in ((Plain(), {}), (Priced(), {"route": StageCost(1, 2, 3)})):
        searching: Any = retriever
        retrieved = Runner().run(retrieved_steps(searching, "pump", {"year": 2020}))
        assert retriever.searches == [("pump", {"year": 2020})]
        assert retrieved.hits == [hit("a")] and retrieved.cost == cost
        whole = retrieved.result
        assert whole == retrieved.hits if not cost else whole.entities == ("Ada",)


def test_costs_are_added_up_by_stage() -> None:
    total = {"route": StageCost(1, 10, 2)}
    add_costs(total, {"route": StageCost(2, 5, 1), "select": StageCost(scored=7)})
    assert total == {"route": StageCost(3, 15, 3), "select": StageCost(scored=7)}
