"""Pages of HTML as Markdown."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from fixture_cases import examples

from structrag import read_file, read_text
from structrag.errors import InvalidParameter
from structrag.formatting.formatter import markdown_of_html
from structrag.reading.markdown import markdown_headings
from structrag.records import Block, Document


def letters(text: str) -> str:
    return "".join(re.findall(r"[^\W_]+", text))


def titles(headings: list) -> list[tuple[int, str]]:
    return [(min(heading.level, 6), heading.title) for heading in headings]


def test_real_pages_keep_headings_and_words(data_dir: Path) -> None:
    paths = sorted((data_dir / "parsing").rglob("*.html"))
    assert len(paths) > 10
    for path in paths:
        document = read_file(path)
        if len(document.text) > 500_000:
            continue
        draft = markdown_of_html(document)
        # Header rows become one.
        assert sorted(letters(draft.text)) == sorted(letters(document.text)), path.name
        assert document.layout is not None
        wanted = [pair for pair in titles(list(document.layout.headings)) if pair[1]]
        assert titles(markdown_headings(draft.text)) == wanted, path.name


def test_html_tables_lists_and_code() -> None:
    page = (
        "<h2>A &amp; *b* #</h2><p># "
        "no</p><ul><li>x<ul><li>y</li></ul></li></ul><table><tr><td>1</td><td>2</td></tr></table>"
        "<pre># code\n```</pre><blockquote><p>said</p></blockquote>"
    )
    expected = (
        "## A \\& \\*b\\* \\#\n\n\\# no\n\n- x\n  - y\n\n|  |  |\n| --- | --- |\n| 1 | 2 "
        "|\n\n````\n# code\n```\n````\n\n> said\n"
    )
    draft = markdown_of_html(read_text(page, format="html"))
    assert draft.text == expected
    assert [h.title for h in markdown_headings(draft.text)] == ["A & *b* #"]
    with pytest.raises(InvalidParameter, match="without a layout"):
        markdown_of_html(Document("x", format="html"))


@examples
def test_a_page_without_headings_is_noted(page: str, notes: tuple[str, ...]) -> None:
    assert markdown_of_html(read_text(page, format="html")).uncertain == notes


def table_of(text: str) -> Document:
    page = read_text("<p>text</p>", format="html")
    assert page.layout is not None
    layout = replace(page.layout, headings=(), blocks=(Block("table", 0, len(text)),))
    return Document(text, format="html", layout=layout)


def test_rows_of_several_lengths_have_a_header_of_the_longest() -> None:
    draft = markdown_of_html(table_of("| a |\n| b | c |"))
    assert draft.text == "|  |  |\n| --- | --- |\n| a |  |\n| b | c |\n"
    assert draft.uncertain[0].startswith(
        "The rows of the table that begins with '| a |'"
    )
