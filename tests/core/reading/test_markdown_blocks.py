"""Markdown blocks tile a section's own body, and are those of the whole text parsed at once."""

from __future__ import annotations

import re

import pytest
from fixture_cases import examples
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.reading.files import read_file, read_text
from structrag.reading.markdown import markdown_blocks
from structrag.reading.sections import parse
from structrag.records import Block, Document

# fmt: off
LINES = [
    "-item", "- item", "- item two", "  more", "  - nested", "* star", "1. one", "2. two",
    "10) ten", "> quote", ">", "> [!NOTE]",
    "```", "```py", "~~~", "  ```", "    code", "    ", "", "", "", "text here", "text: more.",
    "**bold** x", "_emph_", "| a | b |",
    "|---|---|", "| c | d |", "|--|", "---", "***", "===", "--", "- - -", "#tag", "# head",
    "## sub", "<div>", "</div>", "<b>x</b>", "<b>", "<!-- c",
    "-->", "<!-- one -->", "<pre>", "</pre>", "<img src='x'>", "![i](u)", "[l](u)", "[r]: /u",
    "$$", "\tx", "   ind", "+ plus", "-",
    "1.", "+", "a | b", "--- | ---", ": x", "`code`", "`` ``` ``", "0123", "12. twelve", "  \\",
    "\x0b", "\u2028x", "  text",
    "      deep", "-    far", "-     code", "\u00a0", "1) one",
]
# fmt: on
UNDERLINED_DEFINITION = re.compile(r"\[r\]: /u\n *(?:=+|-+) *(?:\n|$)")


def blocks_of_sections(document: Document) -> list[Block]:
    """The blocks of all sections' own bodies, which are checked to tile them."""
    outline = parse(document)
    blocks: list[Block] = []
    for section in outline.sections:
        inside = outline.blocks(section)
        joined = "".join(document.text[block.start : block.end] for block in inside)
        assert joined == document.text[section.body_start : section.body_end]
        blocks += [
            block for block in inside if document.text[block.start : block.end].strip()
        ]
    return blocks


def check_against_the_whole(document: Document) -> None:
    """Sections parsed one by one give the blocks of the text parsed at once, headings aside."""
    outline = parse(document)
    headings = {section.start for section in outline.sections[1:]}
    whole = markdown_blocks(
        document.text, outline.sections[0].body_start, len(document.text)
    )
    expected = [
        (block.kind, block.header_start)
        for block in whole
        if block.header_start not in headings
        and document.text[block.start : block.end].strip()
    ]
    assert [(b.kind, b.header_start) for b in blocks_of_sections(document)] == expected


@settings(max_examples=200, deadline=None)
@given(
    lines=st.lists(st.sampled_from(LINES), max_size=14),
    end=st.sampled_from(["", "\n", "\n\n"]),
)
def test_sections_have_the_blocks_of_the_whole(lines: list[str], end: str) -> None:
    text = "\n".join(lines) + end
    # Headings are found with link definitions, blocks without: a line under one underlines it here.
    assume(not UNDERLINED_DEFINITION.search(text))
    check_against_the_whole(read_text(text, format="markdown"))


def test_a_line_under_a_link_definition_belongs_to_the_heading_below_it() -> None:
    outline = parse(read_text("[r]: /u\n===\n---\n\nText.\n", format="markdown"))
    assert [(section.title, section.level) for section in outline.sections[1:]] == [
        ("===", 2)
    ]


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.skipif(
    not DATA.exists(), reason="the evaluation data (STRUCTRAG_DATA) is not here"
)
def test_sections_of_real_files_have_the_blocks_of_the_whole() -> None:
    files = sorted((DATA / "parsing").rglob("*.md"))[::6]
    assert len(files) > 50
    for file in files:
        check_against_the_whole(read_file(file))


@examples
def test_kinds(text: str, kinds: list[str]) -> None:
    assert [block.kind for block in markdown_blocks(text, 0, len(text))] == kinds


@examples
def test_tables_inside_markdown(text: str, header: str, rows: list[str]) -> None:
    """Their header, and the beginnings of the rows that they can be cut before."""
    (table,) = [b for b in markdown_blocks(text, 0, len(text)) if b.header_end]
    assert text[table.start : table.header_end] == header
    assert [text[cut : cut + 9] for cut in table.cuts] == rows
