"""Rows of a page's lines, and texts joined across line ends."""

from __future__ import annotations

from dataclasses import replace

from fixture_cases import examples
from page_making import line

from structrag.reading.pdf.rows import Joiner, row_of

FIRST = line("first", 100)  # from 60 to 85, ten points high


def test_a_row_of_several_lines() -> None:
    cells = [
        line("12", 98, 60, 14, True),
        line("the  longest ", 100, 90, 10, True),
        line("x", 101, 300, 10, True),
    ]
    row = row_of(cells, 2)
    assert row.text == "12 the longest x"
    assert (row.size, row.bold, row.upright) == (10, True, True)
    assert (row.left, row.right) == (60, 305)
    assert (row.top, row.bottom, row.middle) == (100, 110, 105)
    assert not row_of([*cells, line("y", 100, 320)], 2).bold
    assert not row_of([replace(FIRST, upright=False)], 1).upright


@examples
def test_texts_are_joined_across_line_ends(
    before: str, after: str, joined: str
) -> None:
    assert Joiner.of([before, after]).join(before, after) == joined


def test_words_of_the_document_decide_about_hyphens() -> None:
    for words, joined in (("reenter", "reenter"), ("re-enter", "re-enter")):
        assert Joiner.of([words]).join("re-", "enter") == joined
