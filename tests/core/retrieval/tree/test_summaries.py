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
from structrag.text.tokens import count_tokens

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


def test_parts_of_exactly_the_tokens_are_their_own_summary() -> None:
    parts = "The filter is rinsed weekly.\nThe mesh is fine."  # nine words: 12 tokens
    assert count_tokens(parts) == 12
    for tokens, summary in ((12, parts), (11, "Short.")):
        _, filters = nodes(lambda prompt: "Short.", summary_tokens=tokens)
        assert filters.extras["summary"] == summary


@pytest.mark.parametrize(("tokens", "sentences"), [(13, 2), (16, 2), (17, 3)])
def test_a_long_answer_is_shortened_to_whole_sentences(
    tokens: int, sentences: int
) -> None:
    answer = (
        "One two three four five. Six seven eight nine ten. Eleven twelve thirteen."
    )
    top, _ = nodes(lambda prompt: answer, summary_tokens=tokens)
    assert top.extras["summary"].count(".") == sentences
    assert answer.startswith(top.extras["summary"])
    assert count_tokens(top.extras["summary"]) <= tokens


def test_only_a_title_below_the_section_stands_above_a_part() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "Short."

    nodes(answer)
    (prompt,) = asked
    parts = prompt.partition("Parts:\n")[2]
    assert parts.startswith("The pump moves water.")
    assert "\n\nFilter\nThe filter is rinsed weekly.\nThe mesh is fine." in parts
    assert "\n\nMotor\nThe motor hums at night." in parts


def of_text(text: str, fan_out: int, **settings: Any) -> list[Chunk]:
    document = Document(text, id="d", title="Manual", format="markdown")
    chunks = {"d": ContentAwareSplitter(max_tokens=120).split(document)}
    splitter = NodeSplitter(
        chunks, TreeSettings(fan_out=fan_out, **settings), Reading()
    )
    return splitter.split(document)


def test_a_run_that_begins_behind_the_heading_has_it_in_its_context() -> None:
    text = "# P\n\nOne.\n\n## B\n\nTwo.\n\n## C\n\nThree.\n\n## D\n\nFour.\n"
    top, first, second = of_text(text, 2)
    assert [node.index_text for node in (top, first, second)] == [
        "Manual\nP\nOne.\nTwo.\nThree.\nFour.",
        "Manual\nP\nOne.\nTwo.\nB",
        "Manual > P\nP\nThree.\nFour.\nC, D",
    ]
    assert top.extras["children"] == [first.id, second.id]
    for node in (top, first, second):
        assert node.extras["index_tokens"] == count_tokens(node.index_text)
        assert node.kind == "section"


def test_the_title_of_a_document_stands_for_one_without_a_heading() -> None:
    asked: list[str] = []

    def answer(prompt: str) -> str:
        asked.append(prompt)
        return "Short."

    text = "# A\n\nOne two three four.\n\n# B\n\nFive six seven eight.\n"
    document = Document(text, id="d", title="Manual", format="markdown")
    chunks = {"d": ContentAwareSplitter(max_tokens=120).split(document)}
    splitter = NodeSplitter(chunks, TreeSettings(summary_tokens=8), Reading())
    (top,) = Runner(llm=as_language_model(answer)).run(splitter.split_steps(document))
    assert "Title: Manual\n" in asked[0] and top.extras["reduced"] == "Short.\nA, B"
    assert "Parts:\nA\nOne two three four.\n\nB\nFive six seven eight." in asked[0]


@pytest.mark.parametrize(("sections", "count"), [(10, 1), (11, 3)])
def test_by_default_ten_parts_are_one_node(sections: int, count: int) -> None:
    text = "".join(f"# Part {i}\n\nText {i}.\n\n" for i in range(sections))
    document = Document(text, id="d", format="markdown")
    chunks = {"d": ContentAwareSplitter(max_tokens=120).split(document)}
    assert len(NodeSplitter(chunks, TreeSettings(), Reading()).split(document)) == count


def test_a_title_is_listed_once() -> None:
    text = "# A\n\nOne.\n\n# A\n\nTwo.\n\n# B\n\nThree.\n"
    (top,) = of_text(text, 10)
    assert top.extras["reduced"].endswith("Three.\nA, B")


def test_settings_are_checked() -> None:
    for wrong in ({"fan_out": 1}, {"summary_tokens": 7}, {"prompt": "no place"}):
        with pytest.raises(InvalidParameter):
            TreeSettings(**wrong)
    assert TreeSettings(fan_out=2, summary_tokens=8).fan_out == 2


def test_split_needs_no_model() -> None:
    chunks = ContentAwareSplitter(max_tokens=120).split(DOCUMENT)
    splitter = NodeSplitter({"d": chunks}, TreeSettings(), Reading())
    assert splitter.split(DOCUMENT) == nodes()
    assert (
        NodeSplitter({"d": chunks[:1]}, TreeSettings(), Reading()).split(DOCUMENT) == []
    )
