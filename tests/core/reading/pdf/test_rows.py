"""Rows of a page's lines, and texts joined across line ends."""

from __future__ import annotations

from dataclasses import replace

import pytest
from page_making import line

from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.rows import Joiner, row_of, rows_of, space_between

FIRST = line("first", 100)  # from 60 to 85, ten points high


@pytest.mark.parametrize(
    ("other", "is_same"),
    [
        (line("b", 100, 90), True),
        (line("b", 100, 84), True),  # a point of overlap
        (line("b", 100, 83.9), False),
        (line("b", 100, 56), True),  # before it
        (line("b", 100, 57), False),
        (line("b", 104, 90), True),  # 0.4 of the type's height lower
        (line("b", 104.1, 90), False),
        (line("b", 96, 90), True),
        (line("b", 95.9, 90), False),
        # Its middle is 8 points lower: the larger type decides.
        (line("b", 103, 90, 20), True),
        (line("b", 103.1, 90, 20), False),
        (line("b", 100, 90, upright=False), False),
    ],
)
def test_lines_beside_each_other_are_a_row(other: Line, is_same: bool) -> None:
    assert len(list(rows_of([FIRST, other], 1))) == (1 if is_same else 2)
    if not other.upright:
        assert len(list(rows_of([other, FIRST], 1))) == 2


def test_rows_come_as_their_lines_do_and_blank_lines_are_left_out() -> None:
    lines = [line("a", 100), line("b", 100, 80), line(" ", 100, 100), line("c", 120)]
    rows = list(rows_of(lines, 3))
    assert [(row.text, row.page, len(row.cells)) for row in rows] == [
        ("a b", 3, 2),
        ("c", 3, 1),
    ]
    assert list(rows_of([line(" ", 100)], 1)) == []


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


@pytest.mark.parametrize(
    ("before", "after", "between"),
    [
        ("one", "two", " "),
        ("", "two", ""),
        ("今天", "天气", ""),
        ("今天。", "天气", ""),
        ("今天", "（天气", ""),
        ("今天", "two", " "),
        ("one", "天气", " "),
        ("สวัส", "ดี", ""),
        ("天", "气", ""),
        ("天a", "天气", " "),
    ],
)
def test_spaces_between_texts(before: str, after: str, between: str) -> None:
    assert space_between(before, after) == between


@pytest.mark.parametrize(
    ("before", "after", "joined"),
    [
        ("It is an impor-", "tant one", "It is an important one"),
        ("It is an impor\u00ad", "tant one", "It is an important one"),
        ("It is an impor\u2010", "tant one", "It is an important one"),
        ("It is an impor-", "tant one.", "It is an important one."),
        ("It is well-", "known", "It is well-known"),
        ("a state-of-", "the-art one", "a state-of-the-art one"),
        ("the IEC 60-", "335 rule", "the IEC 60-335 rule"),
        ("the Anglo-", "Saxon one", "the Anglo-Saxon one"),
        ("the Anglo-", "Saxon one.", "the Anglo-Saxon one."),
        ("both pre-", "and post-war", "both pre- and post-war"),
        ("a range of 3 -", "to 4", "a range of 3 - to 4"),
        ("a range -", "wide", "a range - wide"),
        ("an end-", "(of it)", "an end- (of it)"),
        ("one", "two", "one two"),
        ("今天", "天气", "今天天气"),
    ],
)
def test_texts_are_joined_across_line_ends(
    before: str, after: str, joined: str
) -> None:
    assert Joiner.of([before, after]).join(before, after) == joined


def test_words_of_the_document_decide_about_hyphens() -> None:
    for words, joined in (("reenter", "reenter"), ("re-enter", "re-enter")):
        assert Joiner.of([words]).join("re-", "enter") == joined
