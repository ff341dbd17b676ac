"""The graph that docs/langchain.md shows, with langgraph or with a stand-in of what it uses."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel

from langchain_structrag import EvidenceRetriever

PAGE = Path(__file__).parents[2] / "docs" / "langchain.md"


class _Graph:
    """As much of langgraph's StateGraph as a chain of nodes needs."""

    def __init__(self, state: type) -> None:
        self.nodes: dict[str, Any] = {}
        self.behind: dict[str, str] = {}

    def add_node(self, name: str, node: Any) -> None:
        self.nodes[name] = node

    def add_edge(self, before: str, behind: str) -> None:
        self.behind[before] = behind

    def compile(self) -> _Graph:
        return self

    def invoke(self, state: dict[str, Any]) -> dict[str, Any]:
        state = dict(state)
        name = self.behind["start"]
        while name != "end":
            state |= self.nodes[name](state)
            name = self.behind[name]
        return state


def test_the_graph_of_the_docs_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    if find_spec("langgraph") is None:
        stand_in: Any = ModuleType("langgraph.graph")
        stand_in.StateGraph, stand_in.START, stand_in.END = _Graph, "start", "end"
        monkeypatch.setitem(sys.modules, "langgraph", ModuleType("langgraph"))
        monkeypatch.setitem(sys.modules, "langgraph.graph", stand_in)
    (code,) = re.findall(
        r"^```py\n(.*?)^```", PAGE.read_text("utf-8"), re.MULTILINE | re.DOTALL
    )
    documents = [
        Document("# Pump\n\nRinse the filter monthly.", metadata={"source": "pump.md"})
    ]
    names: dict[str, Any] = {
        "retriever": EvidenceRetriever.from_documents(documents),
        "llm": FakeListChatModel(responses=["Rinse it [1]."]),
    }
    exec(compile(code, "langchain.md", "exec", dont_inherit=True), names)
    assert names["result"]["answer"] == "Rinse it [1]."
    assert "Rinse the filter" in names["result"]["passages"][0].page_content
