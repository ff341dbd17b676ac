"""Markdown headings and blocks: the scan against markdown-it-py, and the rules of the section
tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from places import DATA
from samples import nasty_text

from structrag.reading.markdown import (
    front_matter,
    line_starts,
    markdown_headings,
    parsed_headings,
    plain_title,
)

# fmt: off
# fmt: on


def markdown_files() -> list[Path]:
    return sorted((DATA / "parsing").rglob("*.md"))


@settings(max_examples=600, deadline=None)
@given(nasty_text)
def test_scan_equals_parser(text: str) -> None:
    for start in {0, front_matter(text).end}:
        assert markdown_headings(text, start) == parsed_headings(text, start)


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


@pytest.mark.slow
@pytest.mark.skipif(
    not markdown_files(), reason="the evaluation data (STRUCTRAG_DATA) is not here"
)
def test_scan_equals_parser_on_the_largest_files() -> None:
    for path in sorted(markdown_files(), key=lambda path: path.stat().st_size)[-6:]:
        text = path.read_text(encoding="utf-8")
        assert markdown_headings(text) == parsed_headings(text), path


@pytest.mark.skipif(
    not markdown_files(), reason="the evaluation data (STRUCTRAG_DATA) is not here"
)
def test_duplicate_headings_of_the_release_notes_are_all_found() -> None:
    text = (DATA / "parsing/fastapi/en/release-notes.md").read_text(encoding="utf-8")
    headings = markdown_headings(text)
    titles = [heading.title for heading in headings]
    assert len(titles) - len(set(titles)) > 500
    assert all(
        text[heading.start] == "#" and text[heading.end - 1] == "\n"
        for heading in headings
    )


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        (
            r"Title *em* `code` [l](u) ![alt](x) &amp; \# <b>x</b>",
            "Title em code l alt & # x",
        ),
        ("Install { #install }", "Install"),
        ("Install {#install}", "Install"),
        ("Use {braces}", "Use {braces}"),
        ("snake_case_name", "snake_case_name"),
        ("`a_b` and `c`", "a_b and c"),
        ("", ""),
        ("nul\x00", "nul\ufffd"),
    ],
)
def test_titles(markup: str, title: str) -> None:
    assert plain_title(markup) == title


@pytest.mark.parametrize(
    ("text", "headings"),
    [
        ("a\r\nb\rc\nd\x0be\u2028f\x85g\n# h\n", [(1, "h")]),
        ("### first\n\nx\n\n# second\n", [(3, "first"), (1, "second")]),
        ("#\n", [(1, "")]),
        ("#word\n", []),
        ("> # quoted\n\n- # item\n", []),
        ("    # code\n", []),
        ("<div>\n# html\n</div>\n\n# real\n", [(1, "real")]),
        ("```\n# open for ever\n", []),
        ("<!--\n\n# hidden\n", []),
        ("two\nlines\n===\n", [(1, "two lines")]),
        ("---\ntitle: X\n---\n# real\n", [(1, "real")]),
        ("+++\ntitle = 'X'\n+++\n# real\n", [(1, "real")]),
        ("# same\n\n# same\n", [(1, "same"), (1, "same")]),
    ],
)
def test_what_is_a_heading(text: str, headings: list[tuple[int, str]]) -> None:
    found = markdown_headings(text, front_matter(text).end)
    assert [(heading.level, heading.title) for heading in found] == headings


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("title: The pump", "The pump"),
        ('title: "The pump"', "The pump"),
        ("title: 'The pump'", "The pump"),
        ("title: \"The pump'", "\"The pump'"),
        ("title: aha", "aha"),  # begins and ends alike, without quotes
        ('title: "', '"'),
        ('title: ""', ""),
        ('title: " The pump "', "The pump"),
        ("other: The pump", ""),
    ],
)
def test_the_title_in_front_matter_is_free_of_its_quotes(line: str, title: str) -> None:
    text = f"---\n{line}\n---\n# Pump\n"
    assert front_matter(text) == (len(text) - len("# Pump\n"), title)


def test_headings_are_looked_for_from_a_place_on() -> None:
    text = "# One\n\ntext\n\n# Two\n"
    assert [heading.title for heading in markdown_headings(text)] == ["One", "Two"]
    (heading,) = markdown_headings(text, 5)
    assert (heading.title, text[heading.start : heading.end]) == ("Two", "# Two\n")
    assert markdown_headings(text, 5) == parsed_headings(text, 5)


def test_a_heading_at_the_end_of_a_text_without_a_line_end() -> None:
    for text in ("text\n\n# Two", "Two\n===", "text\n\n# Two\n"):
        heading = markdown_headings(text)[-1]
        assert heading.title == "Two" and heading.end == len(text)
        assert markdown_headings(text) == parsed_headings(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # HTML ends with its closing sign, or with a blank line.
        ("<script>\n\n# a\n</script>\n# b\n", [(1, "b")]),
        ("<PRE>\n\n# a\n</pre>\n# b\n", [(1, "b")]),
        ("<!--\n\n# a\n-->\n# b\n", [(1, "b")]),
        ("<?php\n\n# a\n?>\n# b\n", [(1, "b")]),
        ("<![CDATA[\n\n# a\n]]>\n# b\n", [(1, "b")]),
        ("<!X\n\n# a\n>\n# b\n", [(1, "b")]),
        ("<!-- a --> b\n# c\n", [(1, "c")]),
        ("<div>\n# a\n\n# b\n", [(1, "b")]),
        ("<div>\n# a\n \t\n# b\n\n# c\n", [(1, "b"), (1, "c")]),
        ("<div>\n# a", []),
        ("<b>x</b> y\n# a\n", [(1, "a")]),
        ("a\n<b>\n# c\n", [(1, "c")]),
        ("# a\n<div>\n# b\n\n# c\n", [(1, "a"), (1, "c")]),
        # A fence ends with one of its sign that is not shorter.
        ("```\n# a\n```\n# b\n", [(1, "b")]),
        ("````\n```\n# a\n````\n# b\n", [(1, "b")]),
        ("```\n# a\n`````\n# b\n", [(1, "b")]),
        ("~~~\n# a\n```\n# b\n~~~\n# c\n", [(1, "c")]),
        ("```\n# a\n   ```\n# b\n", [(1, "b")]),
        ("```\n# a\n    ```\n# b\n", []),
        ("```\n# a\n``` x\n# b\n", []),
        ("``` a`\n# b\n", [(1, "b")]),
        ("``` a\n# b\n```", []),
        # Underlines.
        ("a\n---\n", [(2, "a")]),
        ("a\n   ===  \n", [(1, "a")]),
        ("a\n\n---\n", []),
        ("---\n", []),
        ("\n---\n", []),
        ("a\n---\nb\n---\n", [(2, "a"), (2, "b")]),
        ("# a\n---\n# b\n", [(1, "a"), (1, "b")]),
        ("a\nb\n===\n# c\n", [(1, "a b"), (1, "c")]),
        ("- a\n---\n", []),
        ("> a\n---\n# b\n", [(1, "b")]),
        # Within containers there are none.
        ("- a\n\n  # b\n\n# c\n", [(1, "c")]),
        ("- a\n  # b\n# c\n", [(1, "c")]),
        ("> # a\n# b\n", [(1, "b")]),
        ("1. a\n\n   ```\n   # b\n   ```\n\n# c\n", [(1, "c")]),
        # What is indented may hide headings behind blank lines.
        ("  ```\n\n# a\n\n  ```\n\n# b\n", [(1, "b")]),
        ("  ```\n\n# a\n\n# b\n\n# c\n\n  ```\n\n# d\n\n# e\n", [(1, "d"), (1, "e")]),
        (" <!--\n\n# a\n\n-->\n\n# b\n\nc\n===\n", [(1, "b"), (1, "c")]),
        ("# a\n\n  <pre>\n\n# b\n\n</pre>\n\n## c\n", [(1, "a"), (2, "c")]),
        ("  ~~~\n\n# a\n\n# b\n", []),
        ("- a\n\n  ---\n\n# b\n\n# c\n", [(1, "b"), (1, "c")]),
        # Signs at the margin.
        ("   # a\n", [(1, "a")]),
        ("    # a\n", []),
        ("# a #\n", [(1, "a")]),
        ("# a ## \n", [(1, "a")]),
        ("# a#\n", [(1, "a#")]),
        ("# #\n", [(1, "")]),
        ("#\ta\n", [(1, "a")]),
        ("###### a\n", [(6, "a")]),
        ("####### a\n", []),
        ("a\n# b\nc\n", [(1, "b")]),
    ],
)
def test_headings_by_example(text: str, expected: list[tuple[int, str]]) -> None:
    headings = markdown_headings(text)
    assert [(heading.level, heading.title) for heading in headings] == expected
    assert headings == parsed_headings(text)


def test_an_underline_belongs_to_the_text_behind_the_start() -> None:
    assert markdown_headings("a\n---\n", 2) == []
    assert markdown_headings("ab\ncd\n---\nef\n", 3)[0].title == "cd"
    assert markdown_headings("ab\n\n---\nef\n", 3) == []


@pytest.mark.parametrize(
    ("text", "starts"),
    [
        ("", [7, 7]),
        ("a", [7, 8]),
        ("\n", [7, 8, 8]),
        ("a\n\nbc\n", [7, 9, 10, 13, 13]),
        ("a\rb\x0bc", [7, 12]),
    ],
)
def test_lines_begin_behind_line_feeds(text: str, starts: list[int]) -> None:
    assert line_starts(text, 7) == starts


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# a\n",
        "---\n",
        "---\na: b\n",  # never closed
        "---\nnot a setting\n---\n",
        " ---\na: b\n---\n",
        "-- -\na: b\n---\n",
    ],
)
def test_what_is_no_front_matter(text: str) -> None:
    assert front_matter(text) == (0, "")


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("---\na: b\n---\nc", 13),
        ("---\na: b\n...\nc", 13),
        ("---\na: b\n---", 12),
        ("---\r\na: b\r\n---\r\nc", 16),
        ("+++\na = 1\n+++\nc", 14),
        ("---\n\n---\nc", 9),
        ("--- \n# note\n---  \nc", 18),
    ],
)
def test_where_front_matter_ends(text: str, end: int) -> None:
    assert front_matter(text) == (end, "")
