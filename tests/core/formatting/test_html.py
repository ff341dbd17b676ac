"""Pages of HTML as Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from structrag import read_file, read_text
from structrag.errors import InvalidParameter
from structrag.formatting.html import markdown_of_html
from structrag.reading.markdown import markdown_headings
from structrag.records import Document


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
        assert letters(draft.text) == letters(document.text), path.name
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
    with pytest.raises(InvalidParameter, match="no layout"):
        markdown_of_html(Document("x", format="html"))
