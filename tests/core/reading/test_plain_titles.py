"""Which lines are titles by their form."""

from __future__ import annotations

import pytest
from fixture_cases import examples

from structrag.reading.plain_titles import (
    MARK,
    read_number,
    title_ends,
)


@examples
def test_numbers_have_a_kind_a_family_and_a_value(
    line: str, expected: tuple[str, str, tuple[int, ...]]
) -> None:
    mark = MARK.match(line)
    assert mark is not None
    assert read_number(mark) == expected


@pytest.mark.parametrize(
    ("line", "alone", "title", "behind"),
    [
        ("ARTICLE IV", True, "", ""),
        ("EXHIBIT A", True, "", ""),
        ("ARTICLE IV", False, None, ""),
        ("4.", True, None, ""),
        ("1. TERM. It lasts.", False, "TERM", "It lasts."),
        ("1. TERM: It lasts.", True, "TERM", "It lasts."),
        ("1. TERM. it lasts.", False, None, ""),
        ("1. US V. CANADA. He signs.", False, "US V. CANADA", "He signs."),
        ("1. Use it now. Big Words. He signs.", False, None, ""),
        (f"1. Goods – {'W' * 40}", False, None, ""),
        (f"1. Goods – {'W' * 41}", False, "Goods", "W" * 41),
        ("1. Term.", True, "Term", ""),
        ("1. Term", False, None, ""),
        ("2 Term", True, "Term", ""),
        ("2  Term", True, "Term", ""),
        ("2   Term", True, None, ""),
        ("2.   Term", True, "Term", ""),
        ("2. Costs of heating", True, "Costs of heating", ""),
        ("2 Costs of heating", True, None, ""),
        ("2.1 Costs of heating", True, "Costs of heating", ""),
        ("Section 2 Costs of heating", True, "Costs of heating", ""),
        ("2. Costs shall rise", True, None, ""),
        ("2. Costs of 100 rooms", True, None, ""),
    ],
)
def test_titles_end_before_their_clauses_or_with_their_lines(
    line: str, alone: bool, title: str | None, behind: str
) -> None:
    mark = MARK.match(line)
    assert mark is not None
    ends = title_ends(line, mark, len(line), alone)
    if title is None:
        assert ends is None
    else:
        assert ends is not None
        assert (line[mark.end() : ends[0]], line[ends[1] :]) == (title, behind)
