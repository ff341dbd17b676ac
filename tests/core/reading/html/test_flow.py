"""The visible text: white space, lists, preformatted text."""

from __future__ import annotations

from fixture_cases import examples

from structrag.reading.html.reader import read_html


def read(source: str) -> str:
    return read_html(source)[0]


@examples
def test_visible_text(source: str, text: str) -> None:
    assert read(source) == text


@examples
def test_white_space_in_a_table(source: str, text: str) -> None:
    assert read(source) == text
