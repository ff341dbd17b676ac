"""Headings, title, navigation and blocks of a page."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.reading.html.reader import read_html


def read(source: str) -> str:
    return read_html(source)[0]


@pytest.mark.parametrize("main", ["<h1>T</h1>", "<main>T</main>"])
def test_navigation_that_takes_in_the_page_is_kept(main: str) -> None:
    assert read(f"<div role=navigation><div>n</div>{main}</div>x") == "n\n\nT\n\nx"
    assert read(f"<nav>n{main}</nav><nav>m</nav>x") == "n\n\nT\n\nm\n\nx"


@examples
def test_breaks_around_elements(source: str, text: str) -> None:
    assert read(source) == text


def kinds(source: str) -> list[tuple[str, str]]:
    text, _, layout = read_html(source)
    return [
        (block.kind, text[block.start : block.end].strip()) for block in layout.blocks
    ]


@examples
def test_pages_by_example(
    source: str, text: str, blocks: list[tuple[str, str]]
) -> None:
    assert read(source) == text
    assert [block for block in kinds(source) if block[0] != "paragraph"] == blocks


@examples
def test_items_without_their_list(source: str, text: str) -> None:
    assert read(source) == text
