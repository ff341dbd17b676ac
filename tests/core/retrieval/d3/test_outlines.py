"""Sections as they are shown to a model."""

from __future__ import annotations

import re

import pytest
from d3_making import section
from fixture_cases import examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag.errors import InvalidParameter
from structrag.retrieval.d3.outlines import (
    IDS_PROMPT,
    NAMES_PROMPT,
    Routing,
    windows,
)

paths = st.lists(st.sampled_from(["T", "A", "B", "A, B"]), max_size=3)


@given(
    shape=st.lists(
        st.tuples(st.sampled_from("ab"), paths, st.booleans()), min_size=1, max_size=30
    )
)
@settings(max_examples=100, deadline=None)
def test_every_section_is_shown_once_in_order_under_its_document(
    shape: list[tuple[str, list[str], bool]],
) -> None:
    outline = [
        section(i, *path, doc=doc, tokens=10 * filled)
        for i, (doc, path, filled) in enumerate(sorted(shape, key=lambda item: item[0]))
    ]
    for routing in (Routing(), Routing(context_tokens=200, answer_tokens=0)):
        calls = windows("What?", outline, range(len(outline)), routing)
        shown = "\n".join(call.prompt for call in calls)
        assert re.findall(r"^\[(\d+)\] \S", shown, re.MULTILINE) == [
            str(i + 1) for i in range(len(outline))
        ]
        for i, each in enumerate(outline):
            assert len(re.findall(rf"\nSummary {i}\.\n", shown)) == 1
            title = each.path[-1] if each.path else "Beginning"
            assert re.search(
                rf"^\[{i + 1}\] .*{title}\nSummary {i}\.$", shown, re.MULTILINE
            )
        assert all(
            call.prompt.count("Document: ")
            == len({outline[i].doc_id for i in call.positions})
            for call in calls
        )


@examples
def test_settings_are_checked(changes: dict[str, object]) -> None:
    (name,) = changes
    with pytest.raises(InvalidParameter, match=f"{name} must"):
        Routing(**changes)  # type: ignore[arg-type]


def test_the_papers_settings() -> None:
    paper = Routing.paper()
    assert (paper.answer_format, paper.on_empty) == ("names", "none")
    assert paper.context_tokens == 4096
    assert paper.template == NAMES_PROMPT and Routing().template == IDS_PROMPT
    asked = "{outline} {question}"
    assert Routing.paper(prompt=asked).template == asked
