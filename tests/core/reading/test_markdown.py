"""Markdown headings and blocks: the scan against markdown-it-py, and the rules of the section tree."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from places import DATA

from structrag.reading.files import read_text
from structrag.reading.markdown import front_matter, markdown_headings, parsed_headings, plain_title
from structrag.reading.markdown_blocks import markdown_blocks
from structrag.reading.sections import nest_by_number, parse
from structrag.records import Heading

# fmt: off
NASTY = [
    "# A", "## B ##", "###", "#\tT", "#no", "####### x", " # i1", "   ## i3", "    # code", "\t# tab", "# ", "# #", "# a #b#",
    "Title", "===", "---", "- - -", "  ===", "----  ", "    ---", "=", "-", "--", "***", "===\x0b", "---\x85",
    "```", "````", "```py", "``` a`b", "~~~", "~~~~ `", "  ```", "    ```", "````  ", "``", "```\x0b", "~~~\xa0",
    "- item", "- # head", "  # in li", "1) # h", "   # x", "    ## y", "*", "- ", "-\t# x", "10. z", "- ```", "- <!--",
    "> q", "> # q head", ">", "> ```", "> - # z", "> <!--",
    "<script>", "</script>", "<pre>", "</pre> # x", "<style>x</style>", "<textarea>", "<!--", "-->", "<!-- c --> t", "<?php", "?>",
    "<!DOCTYPE html>", "<!X", ">", "<![CDATA[", "]]>", "<div>", "</div>", "<b>", "<b>x", "<br/>", '<a href="x">', "<a", "   <!--",
    "<x-y>", "<1>", "<", "<PRE", "<address", "<h1>T</h1>",
    "| a | b |", "|---|---|", "| 1 | 2 |", "a | b", "--- | ---", ":-:", "|",
    "[a]: /x", "[a]:", "/url", "'title", "title'", '[b]: <x> "t"', "[x]: /u (",
    "para", "word\\", "\tcode", "     five", "t { #anchor }", "", "", "", " ", "\t", "\x0b", "a\x0cb", "a\x85b", "a\u2028# x", "\x00",
    "# \x00", "\x0c# ff", "\xa0# nb", "\\# e", "+++", "title: x", "...", "## { #a }", "# *e* `c` "
                                                                                      "[l](u) "
                                                                                      "![a](x) "
                                                                                      "&amp; "
                                                                                      "<b>x</b>",
    "\ufeff# bom", "# x\x1c", "# a #\xa0",
]
# fmt: on
nasty_text = st.lists(
    st.tuples(st.sampled_from(NASTY), st.sampled_from(["\n", "\n", "\n", "\n\n", "\r\n", "\r"])),
    max_size=14,
).map(lambda lines: "".join(line + end for line, end in lines))


def markdown_files() -> list[Path]:
    return sorted((DATA / "parsing").rglob("*.md"))


def shape(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Every section's path and own body."""
    outline = parse(read_text(text, format="markdown"))
    return [(s.path, text[s.body_start : s.body_end]) for s in outline.sections]


@settings(max_examples=600, deadline=None)
@given(nasty_text)
def test_scan_equals_parser(text: str) -> None:
    for start in {0, front_matter(text).end}:
        assert markdown_headings(text, start) == parsed_headings(text, start)


@settings(max_examples=300, deadline=None)
@given(nasty_text)
def test_blocks_tile_every_body(text: str) -> None:
    outline = parse(read_text(text, format="markdown"))
    for section in outline.sections:
        blocks = outline.blocks(section)
        edges = [section.body_start, *(block.end for block in blocks)]
        assert [block.start for block in blocks] == edges[:-1]
        assert edges[-1] == section.body_end
        for block in blocks:
            assert list(block.cuts) == sorted(set(block.cuts))
            assert all(block.start < cut < block.end for cut in block.cuts)


@pytest.mark.skipif(not markdown_files(), reason="the evaluation data (STRUCTRAG_DATA) is not here")
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
@pytest.mark.skipif(not markdown_files(), reason="the evaluation data (STRUCTRAG_DATA) is not here")
def test_scan_equals_parser_on_the_largest_files() -> None:
    for path in sorted(markdown_files(), key=lambda path: path.stat().st_size)[-6:]:
        text = path.read_text(encoding="utf-8")
        assert markdown_headings(text) == parsed_headings(text), path


@pytest.mark.skipif(not markdown_files(), reason="the evaluation data (STRUCTRAG_DATA) is not here")
def test_duplicate_headings_of_the_release_notes_are_all_found() -> None:
    text = (DATA / "parsing/fastapi/en/release-notes.md").read_text(encoding="utf-8")
    headings = markdown_headings(text)
    titles = [heading.title for heading in headings]
    assert len(titles) - len(set(titles)) > 500
    assert all(text[heading.start] == "#" and text[heading.end - 1] == "\n" for heading in headings)


def test_worked_example() -> None:
    text = "Intro.\n\n# A\n\nBody A.\n\n### A.x\n\nDeep.\n\n# B\n"
    sections = parse(read_text(text, format="markdown")).sections
    rows = [(s.level, s.path, s.start, s.body_start, s.body_end, s.end, s.parent) for s in sections]
    assert rows == [
        (0, (), 0, 0, 8, 42, None),
        (1, ("A",), 8, 12, 22, 38, 0),
        (3, ("A", "A.x"), 22, 30, 38, 38, 1),
        (1, ("B",), 38, 42, 42, 42, 0),
    ]


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        (r"Title *em* `code` [l](u) ![alt](x) &amp; \# <b>x</b>", "Title em code l alt & # x"),
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
    ("text", "sections"),
    [
        ("Title\n=====\n\nbody\n", [((), ""), (("Title",), "\nbody\n")]),
        ("# T\n\n~~~\n# not\n~~~\n", [((), ""), (("T",), "\n~~~\n# not\n~~~\n")]),
        ("# A\n\n````md\n```\n# no\n```\n````\n\n## B\n\ny\n", [
            ((), ""), (("A",), "\n````md\n```\n# no\n```\n````\n\n"), (("A", "B"), "\ny\n")]),
        ("# A\n\n## B\n\n## C\n\ny\n", [((), ""), (("A",), "\n"), (("A", "B"), "\n"), (("A", "C"), "\ny\n")]),
        ("# A\n\n    # note\n    x = 1\n", [((), ""), (("A",), "\n    # note\n    x = 1\n")]),
        ("# A/B\n\n## C\n\nc\n", [((), ""), (("A/B",), "\n"), (("A/B", "C"), "\nc\n")]),
        ("# A\n\n```code``` inline\n\n## B\n\nb\n", [
            ((), ""), (("A",), "\n```code``` inline\n\n"), (("A", "B"), "\nb\n")]),
        ("---\ntitle: x\n# comment\n---\n\n# A\n\nx\n", [((), "\n"), (("A",), "\nx\n")]),
        ("# A\r\n\r\n## B\r\n\r\ntext\r\n", [((), ""), (("A",), "\r\n"), (("A", "B"), "\r\ntext\r\n")]),
        ("#\tA\n\nx\n", [((), ""), (("A",), "\nx\n")]),
        ("# A\n\nwrite # B here\n\n# B\n", [((), ""), (("A",), "\nwrite # B here\n\n"), (("B",), "")]),
        ("# A\n\nsame\n\n# A\n\nsame\n", [((), ""), (("A",), "\nsame\n\n"), (("A",), "\nsame\n")]),
    ],
)  # fmt: skip
def test_inputs_that_peers_get_wrong(
    text: str, sections: list[tuple[tuple[str, ...], str]]
) -> None:
    assert shape(text) == sections


def test_numbers_nest_headings_that_all_have_level_one() -> None:
    titles = ["Abstract", "1 Intro", "1.1 Why", "3.2. Version 1.0 notes", "2024 in review"]
    nested = nest_by_number([Heading(1, title, i, i + 1) for i, title in enumerate(titles)])
    assert [heading.level for heading in nested] == [1, 1, 2, 2, 1]
    assert nested[3].title == "3.2. Version 1.0 notes"


def test_numbers_are_left_alone_where_levels_differ() -> None:
    headings = [Heading(1, "1 A", 0, 1), Heading(2, "1.1.1 B", 1, 2)]
    assert nest_by_number(headings) == headings


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
