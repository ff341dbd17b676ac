"""Markdown blocks by lines equal those by markdown-it-py, and tile the body."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.reading.files import read_file
from structrag.reading.markdown import markdown_headings
from structrag.reading.markdown_blocks import markdown_blocks, parsed_blocks
from structrag.reading.sections import parse

# fmt: off
LINES = [
    "-item", "- item", "- item two", "  more", "  - nested", "* star", "1. one", "2. two", "10) ten", "> quote", ">", "> [!NOTE]",
    "```", "```py", "~~~", "  ```", "    code", "    ", "", "", "", "text here", "text: more.", "**bold** x", "_emph_", "| a | b |",
    "|---|---|", "| c | d |", "|--|", "---", "***", "===", "--", "- - -", "#tag", "<div>", "</div>", "<b>x</b>", "<b>", "<!-- c",
    "-->", "<!-- one -->", "<pre>", "</pre>", "<img src='x'>", "![i](u)", "[l](u)", "[r]: /u", "$$", "\tx", "   ind", "+ plus", "-",
    "1.", "+", "a | b", "--- | ---", ": x", "`code`", "`` ``` ``", "0123", "12. twelve", "  \\", "\x0b", "\u2028x", "  text",
    "      deep", "-    far", "-     code", "\u00a0", "1) one",
]
# fmt: on


@settings(max_examples=600, deadline=None)
@given(lines=st.lists(st.sampled_from(LINES), max_size=14), end=st.sampled_from(["", "\n", "\n\n"]))
def test_lines_tell_what_the_parser_tells(lines: list[str], end: str) -> None:
    text = "\n".join(lines) + end
    if markdown_headings(text):
        return  # a section's own body has none
    blocks = markdown_blocks(text, 0, len(text))
    assert blocks == parsed_blocks(text, 0, len(text))
    assert "".join(text[block.start : block.end] for block in blocks) == text


@pytest.mark.skipif(not DATA.exists(), reason="the evaluation data (STRUCTRAG_DATA) is not here")
def test_blocks_of_real_files_equal_the_parser() -> None:
    files = sorted((DATA / "parsing").rglob("*.md"))[::6]
    assert len(files) > 50
    for file in files:
        document = read_file(file)
        for section in parse(document).sections:
            span = (section.body_start, section.body_end)
            assert markdown_blocks(document.text, *span) == parsed_blocks(document.text, *span), (
                file,
                span,
            )


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("A line:\n```py\nx\n\ny\n```\ntail\n", ["paragraph", "code", "paragraph"]),
        ("- a\n\n  more\n- b\nmore\n\nplain\n", ["list", "paragraph"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n> q\n> r\n", ["table", "quote"]),
        (
            "<div>\n# no heading\n</div>\n\n![alt](u)\n\n$$\nx\n$$\n\n***\n",
            ["html", "image", "math", "other"],
        ),
        ("    code\n\n    more\n", ["code"]),
        ("", []),
        ("\n \n", ["paragraph"]),
    ],
)
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [block.kind for block in markdown_blocks(text, 0, len(text))] == kinds


def test_cuts_are_items_rows_and_lines() -> None:
    text = "- a\n  b\n- c\n\n| h |\n|---|\n| 1 |\n| 2 |\n\n```\nx\ny\n```\n"
    items, table, code = markdown_blocks(text, 0, len(text))
    assert items.cuts == (text.index("- c"),)
    assert table.cuts == (text.index("| 1"), text.index("| 2"))
    assert text[table.header_start : table.header_end] == "| h |\n|---|\n"
    assert code.cuts == (text.index("x\n"), text.index("y\n"), text.rindex("```"))
