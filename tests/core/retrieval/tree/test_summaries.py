"""Nodes as chunks: summaries from the bottom up, by a model or extractive."""

from __future__ import annotations

from typing import Any

import pytest

from structrag import ContentAwareSplitter, Document
from structrag.asking.runner import Runner
from structrag.errors import InvalidParameter
from structrag.models.llm import as_language_model
from structrag.reading.settings import Reading
from structrag.records import Chunk
from structrag.retrieval.tree.summaries import NodeSplitter, TreeSettings

TEXT = (
    "# Pump\n\nThe pump moves water. "
    + "It is blue and runs all day in the cellar. " * 20
    + "\n\n"
    "## Filter\n\nThe filter is rinsed weekly.\n\n### Mesh\n\nThe mesh is fine.\n\n"
    "## Motor\n\nThe motor hums at night.\n"
)
DOCUMENT = Document(TEXT, id="d", title="Manual", format="markdown")


def nodes(answer: Any = None, **settings: Any) -> list[Chunk]:
    chunks = {"d": ContentAwareSplitter(max_tokens=120).split(DOCUMENT)}
    splitter = NodeSplitter(chunks, TreeSettings(**settings), Reading())
    llm = None if answer is None else as_language_model(answer)
    return Runner(llm=llm).run(splitter.split_steps(DOCUMENT))


def test_a_node_is_its_section_and_is_indexed_by_its_summary() -> None:
    top, filters = nodes()
    assert (top.path, filters.path) == (("Pump",), ("Pump", "Filter"))
    for node in (top, filters):
        assert TEXT[node.start : node.end] == node.text
        assert node.extras["whole"] and len(node.extras["children"]) >= 2
    assert (
        filters.extras["summary"] == "The filter is rinsed weekly.\nThe mesh is fine."
    )
    assert filters.context == "Manual > Pump"
    assert (
        filters.index_text
        == f"Manual > Pump\nFilter\n{filters.extras['summary']}\nMesh"
    )
    assert top.index_text.endswith("\nFilter, Motor")


def test_an_extractive_summary_keeps_its_limit_and_is_of_the_text() -> None:
    top, _ = nodes(summary_tokens=40)
    summary = top.extras["summary"]
    assert 0 < Reading().counter(summary) <= 40
    for sentence in summary.split(". "):
        assert sentence.strip(".\n") in TEXT.replace("\n", " ") or sentence in TEXT


def test_a_model_is_asked_bottom_up_for_what_is_long() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return f"Summary {len(asked)}."

    top, filters = nodes(answer)
    assert [top.extras["summary"], filters.extras["summary"][:10]] == [
        "Summary 1.",
        "The filter",
    ]
    (prompt,) = asked  # the filter's parts are short, and their own summary
    assert "Title: Pump" in prompt and "Filter\nThe filter is rinsed weekly." in prompt
    asked.clear()
    top, filters = nodes(answer, summary_tokens=8)
    assert (
        filters.extras["summary"] == "Summary 1." and "Filter\nSummary 1." in asked[-1]
    )


def test_a_model_that_fails_leaves_an_extract_and_says_so() -> None:
    def fail(prompt: str) -> str:
        raise TimeoutError("no answer")

    top, _ = nodes(fail)
    assert top.extras["degraded"] and "TimeoutError" in top.extras["failure"]
    assert "pump" in top.extras["summary"]
    assert "degraded" not in nodes()[0].extras  # nobody was asked


def test_settings_are_checked() -> None:
    for wrong in ({"fan_out": 1}, {"summary_tokens": 7}, {"prompt": "no place"}):
        with pytest.raises(InvalidParameter):
            TreeSettings(**wrong)


def test_split_needs_no_model() -> None:
    chunks = ContentAwareSplitter(max_tokens=120).split(DOCUMENT)
    splitter = NodeSplitter({"d": chunks}, TreeSettings(), Reading())
    assert splitter.split(DOCUMENT) == nodes()
    assert (
        NodeSplitter({"d": chunks[:1]}, TreeSettings(), Reading()).split(DOCUMENT) == []
    )
