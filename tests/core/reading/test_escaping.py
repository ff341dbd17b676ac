"""Text escaped so that Markdown reads it as it was."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from structrag.reading.escaping import (
    assembled,
    escaped_line,
    escaped_lines,
    fenced,
    heading_line,
)
from structrag.reading.markdown import markdown_headings


@given(
    st.text(
        st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp", "Zs"]),
        min_size=1,
        max_size=20,
    )
)
def test_titles_read_as_they_were(title: str) -> None:
    assert [h.title for h in markdown_headings(heading_line(2, title))] == [title]


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("# a", "\\# a"),
        ("#", "\\#"),
        ("  ###### a", "  \\###### a"),
        ("####### a", "####### a"),
        ("#a", "#a"),
        ("- # a", "- \\# a"),
        ("> 1. ## a", "> 1. \\## a"),
        ("```", "\\```"),
        ("~~~~ a", "\\~~~~ a"),
        ("`` a", "`` a"),
        ("<div>", "\\<div>"),
        ("</p>", "\\</p>"),
        ("< b", "< b"),
        ("a # b", "a # b"),
        ("", ""),
    ],
)
def test_what_would_begin_a_structure_is_escaped(line: str, expected: str) -> None:
    assert escaped_line(line) == expected


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["a", "---"], ["a", "", "---"]),
        (["a", " == "], ["a", "", " == "]),
        (["a", "", "---"], ["a", "", "---"]),
        (["a", " ", "---"], ["a", " ", "---"]),
        (["---", "a"], ["---", "a"]),
        (["a", "- b", "# c"], ["a", "- b", "\\# c"]),
        ([], []),
    ],
)
def test_no_line_underlines_the_one_above(
    lines: list[str], expected: list[str]
) -> None:
    assert escaped_lines(lines) == expected


@pytest.mark.parametrize(
    ("level", "signs"), [(-1, "#"), (0, "#"), (1, "#"), (2, "##"), (6, "#" * 6)]
)
def test_levels_are_from_one_to_six(level: int, signs: str) -> None:
    assert heading_line(level, "a *b*") == f"{signs} a \\*b\\*"
    assert heading_line(7, "a") == heading_line(6, "a") == "###### a"


@pytest.mark.parametrize(
    ("text", "fence"),
    [("a", "```"), ("``", "```"), ("a ``` b", "````"), ("```\n`````", "``````")],
)
def test_a_fence_is_longer_than_those_inside(text: str, fence: str) -> None:
    assert fenced(text) == f"{fence}\n{text}\n{fence}"


@pytest.mark.parametrize(
    ("parts", "text"),
    [
        ([], ""),
        ([" ", ""], ""),
        (["a", " ", "b"], "a\n\nb\n"),
        (["---", "a"], "\\---\n\na\n"),
        (["+++"], "\\+++\n"),
        (["--", "---"], "--\n\n---\n"),
    ],
)
def test_parts_become_one_text(parts: list[str], text: str) -> None:
    assert assembled(parts) == text
