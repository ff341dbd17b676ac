"""Hits of several searches as one list."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from structrag.records import Chunk, Hit
from structrag.retrieval.multihop.retrieved import (
    each_once,
    interleaved,
)


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
