"""Markdown blocks tile a section's own body, and are those of the whole text parsed at once."""

from __future__ import annotations

import re

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.reading.files import read_file, read_text
from structrag.reading.markdown_blocks import markdown_blocks
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


@settings(max_examples=600, deadline=None)
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


@pytest.mark.skipif(
    not DATA.exists(), reason="the evaluation data (STRUCTRAG_DATA) is not here"
)
def test_sections_of_real_files_have_the_blocks_of_the_whole() -> None:
    files = sorted((DATA / "parsing").rglob("*.md"))[::6]
    assert len(files) > 50
    for file in files:
        check_against_the_whole(read_file(file))


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


def test_code_table_and_list_say_where_they_can_be_cut() -> None:
    text = (
        "intro\n\n| a |\n|---|\n| 1 |\n| 2 |\n\n```\nx\ny\n```\n\n- one\n- "
        "two\n\n![alt](src)\n\n$$\nx\n$$\n"
    )
    blocks = markdown_blocks(text, 0, len(text))
    assert [block.kind for block in blocks] == [
        "paragraph",
        "table",
        "code",
        "list",
        "image",
        "math",
    ]
    table = blocks[1]
    assert text[table.start : table.header_end] == "| a |\n|---|\n"
    assert "| 2 |" in [text[cut : cut + 5] for cut in table.cuts]
    assert [text[cut : cut + 5] for cut in blocks[3].cuts] == ["- two"]


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("![a](u)", "image"),
        ("![a](u)\n![b][r]", "image"),
        ("[![a](u)](v)", "image"),
        ("!a", "paragraph"),
        ("[a](u)", "paragraph"),
        ("![a](u) b", "paragraph"),
        ("$$\nx\n$$", "math"),
        ("$$ x", "paragraph"),
        ("x $$", "paragraph"),
    ],
)
def test_a_paragraph_may_be_an_image_or_a_formula(text: str, kind: str) -> None:
    before = "# Title\n\n"
    whole = f"{before}{text}\n\nbehind\n"
    blocks = markdown_blocks(whole, len(before), len(whole))
    assert [block.kind for block in blocks] == [kind, "paragraph"]
    assert (blocks[0].start, blocks[1].start) == (len(before), whole.index("behind"))


@pytest.mark.parametrize(
    ("text", "block"),
    [
        ("| a |\n|---|", Block("table", 0, 11, (), 11, 0)),
        ("| a |\n|---|\n| b |", Block("table", 0, 17, (12,), 12, 0)),
        ("```\nx\ny\n```", Block("code", 0, 11, (4, 6, 8), 0, 0)),
        ("```\nx", Block("code", 0, 5, (4,), 0, 0)),
        ("> a\n> b", Block("quote", 0, 7, (4,), 0, 0)),
        ("<div>\na\n</div>", Block("html", 0, 14, (6, 8), 0, 0)),
        ("$$\na\n$$", Block("math", 0, 7, (3, 5), 0, 0)),
        ("a\nb", Block("paragraph", 0, 3, (), 0, 0)),
        ("- a\n- b\n  - c\n\n- d", Block("list", 0, 18, (4, 15), 0, 0)),
    ],
)
def test_a_block_that_ends_with_the_text(text: str, block: Block) -> None:
    assert markdown_blocks(text, 0, len(text)) == [block]
