"""Plain text and HTML to Markdown by rules: every letter and digit stays, and headings are the ones
that were meant."""

from __future__ import annotations

import gzip
import json
import re
from collections import Counter
from pathlib import Path

import pytest
from fixture_cases import Case, cases, examples
from hypothesis import given, settings
from hypothesis import strategies as st

from structrag import read_text
from structrag.formatting.heuristic import (
    cleaned_text,
    drawn_table,
    markdown_of_text,
    sound_headings,
)
from structrag.reading.markdown import (
    front_matter,
    markdown_blocks,
    markdown_headings,
)
from structrag.reading.sections import parse

LINES = [
    "# not a heading",
    "   ## nor this",
    "####",
    "---",
    "===",
    "+++",
    "```",
    "~~~ x",
    "<div>",
    "<!-- never closed",
    "<script>",
    "- item",
    "- # in an item",
    "1. first",
    "> # quoted",
    "| # | b |",
    "|---|---|",
    "# | b",
    "--|--",
    "1. Introduction",
    "2. METHODS",
    "RESULTS AND DISCUSSION",
    "Some Title Here",
    "The text goes on for a while, as texts do, and says that this is so.",
    "    indented = code(1)",
    "\tx = [1]",
    "exam-",
    "ple of it",
    "well-",
    "known things",
    "\f",
    "HEAD",
    "",
    "",
    "",
    " ",
    "+--+--+",
    "| a|b |",
    "a     b     c",
    "1     2     3",
    "-----  ----  ----",
    "title: x",
    "第一章 概述",
    "\u000b# x",
    "ARTICLE IV",
    "Page 3",
    "3.1 Parts",
    "\\# x",
]
texts = st.one_of(
    st.text(max_size=300), st.lists(st.sampled_from(LINES), max_size=25).map("\n".join)
)


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text))


def titles(headings: list) -> list[tuple[int, str]]:
    return [(min(heading.level, 6), heading.title) for heading in headings]


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(texts)
def test_no_letter_is_lost_and_no_heading_is_an_accident(text: str) -> None:
    draft = markdown_of_text(text)
    if draft.removed:
        assert Counter(letters(draft.text)) + Counter(
            letters("".join(draft.removed))
        ) == Counter(letters(text))
    else:
        assert letters(draft.text) == letters(text)
    cleaned = cleaned_text(text).text
    assert titles(markdown_headings(draft.text)) == titles(sound_headings(cleaned))
    assert front_matter(draft.text).end == 0
    assert markdown_of_text(text) == draft


def documents(data_dir: Path, name: str) -> list[dict[str, str]]:
    with gzip.open(
        data_dir / name / "documents.jsonl.gz", "rt", encoding="utf-8"
    ) as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_contracts_keep_every_letter_and_get_their_headings(
    data_dir: Path, part: int
) -> None:
    for row in documents(data_dir, "cuad")[part::8]:
        draft = markdown_of_text(row["text"])
        assert letters(draft.text) == letters(row["text"]), row["id"]
        expected = sound_headings(cleaned_text(row["text"]).text)
        assert titles(markdown_headings(draft.text)) == titles(expected), row["id"]
        as_markdown, as_text = (
            read_text(draft.text, format="markdown"),
            read_text(row["text"], format="text"),
        )
        if len(expected) == len(parse(as_text).sections) - 1:
            assert [s.path for s in parse(as_markdown).sections] == [
                s.path for s in parse(as_text).sections
            ], row["id"]


def test_markup_of_other_formats_read_as_plain_text_is_kept(data_dir: Path) -> None:
    paths = [
        p
        for p in sorted((data_dir / "parsing").rglob("*"))
        if p.suffix in {".rst", ".tex", ".md"}
    ]
    assert len(paths) > 100
    for path in paths[::12]:
        text = path.read_text(encoding="utf-8", errors="replace")
        draft = markdown_of_text(text)
        assert letters(draft.text) == letters(text), path.name
        assert titles(markdown_headings(draft.text)) == titles(
            sound_headings(cleaned_text(text).text)
        ), path.name


@pytest.mark.parametrize("case", cases("formatter_rules"))
def test_rules_by_example(case: Case) -> None:
    assert markdown_of_text(case.text).text == case.expected


@examples
def test_tables_with_borders(lines: list[str], table: list[str] | None) -> None:
    assert (drawn_table(lines) or "").split("\n") == (table or [""])


@examples
def test_tables_of_aligned_columns(lines: list[str], table: list[str] | None) -> None:
    assert (drawn_table(lines) or "").split("\n") == (table or [""])


@examples
def test_pipe_tables(lines: list[str], is_table: bool) -> None:
    written = markdown_of_text("\n".join(lines)).text
    kinds = [block.kind for block in markdown_blocks(written, 0, len(written))]
    assert (kinds == ["table"]) is is_table


@examples
def test_indented_code(text: str, expected: str) -> None:
    assert markdown_of_text(text).text == expected


@examples
def test_a_text_without_headings_is_noted(text: str, notes: tuple[str, ...]) -> None:
    assert markdown_of_text(text).uncertain == notes


def test_blank_text() -> None:
    for text in ("", "  \n\n \t", "\f\f"):
        assert markdown_of_text(text).text == ""
        assert markdown_of_text(text).uncertain == ()
