"""Markdown headings and blocks: the scan against markdown-it-py, and the rules of the section
tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from fixture_cases import examples
from hypothesis import given, settings
from places import DATA
from samples import nasty_text

from structrag.reading.markdown import front_matter, markdown_headings, parsed_headings

# fmt: off
# fmt: on


def markdown_files() -> list[Path]:
    return sorted((DATA / "parsing").rglob("*.md"))


@settings(max_examples=200, deadline=None)
@given(nasty_text)
def test_scan_equals_parser(text: str) -> None:
    for start in {0, front_matter(text).end}:
        assert markdown_headings(text, start) == parsed_headings(text, start)


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(
    not markdown_files(), reason="the evaluation data (STRUCTRAG_DATA) is not here"
)
def test_scan_equals_parser_on_real_files() -> None:
    checked = 0
    for path in markdown_files():
        text = path.read_text(encoding="utf-8")
        if len(text) > 60_000:
            continue
        start = front_matter(text).end
        assert markdown_headings(text, start) == parsed_headings(text, start), path
        checked += 1
    assert checked > 400


@examples
def test_the_title_in_front_matter_is_free_of_its_quotes(line: str, title: str) -> None:
    text = f"---\n{line}\n---\n# Pump\n"
    assert front_matter(text) == (len(text) - len("# Pump\n"), title)


def test_a_heading_at_the_end_of_a_text_without_a_line_end() -> None:
    for text in ("text\n\n# Two", "Two\n===", "text\n\n# Two\n"):
        heading = markdown_headings(text)[-1]
        assert heading.title == "Two" and heading.end == len(text)
        assert markdown_headings(text) == parsed_headings(text)
