"""The options that type checkers know are those that the core's classes take."""

from __future__ import annotations

from structrag.integrations.kinds import (
    D3,
    EVIDENCE,
    HIQA,
    MULTIVIEW,
    CoreOptions,
    SelfAskOptions,
)
from structrag.model_calls.settings import arguments_of
from structrag.retrieval.multihop.agents import SelfAsk

KINDS = [MULTIVIEW, HIQA, D3, EVIDENCE]
# What an adapter's retriever takes in another place, or under another name.
ELSEWHERE = {"index", "k", "splitter", "dense_store", "embedder", "embedding"}


def test_type_checkers_know_what_the_core_takes() -> None:
    taken = {name for kind in KINDS for name in arguments_of(kind.core)}
    taken |= {name for kind in KINDS for name in kind.index_options("load")}
    assert taken - ELSEWHERE == CoreOptions.__annotations__.keys()


def test_those_of_self_ask_too() -> None:
    own = SelfAskOptions.__annotations__.keys()
    assert set(arguments_of(SelfAsk)) - {"retriever", "llm"} == own
