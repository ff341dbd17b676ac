"""Text escaped so that Markdown reads it as it was."""

from __future__ import annotations

from fixture_cases import examples
from hypothesis import given
from hypothesis import strategies as st

from structrag.reading.escaping import (
    assembled,
    escaped_lines,
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


@examples
def test_no_line_underlines_the_one_above(
    lines: list[str], expected: list[str]
) -> None:
    assert escaped_lines(lines) == expected


@examples
def test_parts_become_one_text(parts: list[str], text: str) -> None:
    assert assembled(parts) == text
