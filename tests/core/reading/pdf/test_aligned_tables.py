"""Tables without rules, by what stands below what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from page_making import draft, line, page, text_from

from structrag.reading.pdf.aligned_tables import find_tables
from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.rows import Row, row_of, rows_of


def cells(
    table: Sequence[Sequence[str]],
    y: float = 200,
    xs: Sequence[float] = (60, 200, 340),
    step: float = 14,
) -> list[Line]:
    return [
        line(text, y + step * i, x)
        for i, row in enumerate(table)
        for text, x in zip(row, xs, strict=False)
        if text
    ]


TABLE = [
    ["Name", "Size", "Use"],
    ["Pump", "3 mm", "lifts"],
    ["Valve", "", "shuts"],
    ["Pipe", "2 | 3", "carries"],
]


def test_an_aligned_table() -> None:
    found = draft(page(*text_from(100), *cells(TABLE), *text_from(300)))
    assert found.text.split("\n\n")[1] == (
        "| Name | Size | Use |\n| --- | --- | --- |\n| Pump | 3 mm | lifts |\n| Valve |  | shuts "
        "|\n| Pipe | 2 \\| 3 | carries |"
    )
    assert not any("table" in note for note in found.uncertain)


def test_numbers_aligned_at_the_right() -> None:
    right = [
        replace(one, left=one.left - width, right=one.right - width) if k % 2 else one
        for k, one in enumerate(cells([["a", "1"], ["b", "1000"], ["c", "50"]]))
        for width in [one.right - one.left]
    ]
    assert "| b | 1000 |" in draft(page(*right)).text


def test_cells_of_two_rows_make_a_table_uncertain() -> None:
    wrapped = [
        *cells(TABLE[:2]),
        *cells([["Bend", "9 mm", "turns"]], 228),
        line("round", 240, 340),
    ]
    found = draft(page(*wrapped))
    assert "|" not in found.text
    assert found.text.splitlines()[:3] == [
        "Name Size Use",
        "Pump 3 mm lifts",
        "Bend 9 mm turns",
    ]
    assert [
        note
        for note in found.uncertain
        if note.startswith("3 rows of page 1 that may be a table")
    ]


def test_ragged_cells_are_no_table() -> None:
    ragged = [
        line(text, 100 + 14 * i, x)
        for i, row in enumerate([(60, 200), (75, 290), (60, 150)])
        for text, x in zip("ab", row, strict=True)
    ]
    written = draft(page(*ragged))
    assert "|" not in written.text and written.text.split() == ["a", "b"] * 3
    assert written.uncertain == ()  # two cells a row do not look like a table either


def test_labels_beside_text_are_a_list() -> None:
    found = draft(
        page(*cells([["1.", "one"], ["2.", "two"], ["3.", "three"]], xs=(60, 90)))
    ).text
    assert found == "1. one\n2. two\n3. three\n"


def test_cells_aligned_at_their_middles() -> None:
    centred = [
        replace(one, left=one.left - width / 2, right=one.right - width / 2)
        if k % 2
        else one
        for k, one in enumerate(cells([["a", "1"], ["b", "100000"], ["c", "50"]]))
        for width in [one.right - one.left]
    ]
    assert "| b | 100000 |" in draft(page(*centred)).text


def found(lines: Sequence[Line]) -> list[tuple[int, int, bool]]:
    """Where stretches begin and end, and whether each is a table for certain."""
    rows: list[Row] = list(rows_of(lines, 1))
    return [(one.start, one.end, one.cells is not None) for one in find_tables(rows)]


PAIRS = [["aa", "bb"], ["cc", "dd"], ["ee", "ff"]]


def test_tables_have_three_rows() -> None:
    assert found(cells(PAIRS)) == [(0, 3, True)]
    assert found(cells(PAIRS[:2])) == []
    text = [line("Some words of a text", 180), line("and some behind it", 260)]
    assert found([text[0], *cells(PAIRS), text[1]]) == [(1, 4, True)]


@pytest.mark.parametrize(
    ("step", "expected"),
    # Three times the type's height.
    [(30, [(0, 3, True)]), (30.1, []), (14, [(0, 3, True)])],
)
def test_rows_follow_each_other(
    step: float, expected: list[tuple[int, int, bool]]
) -> None:
    assert found(cells(PAIRS, step=step)) == expected


@pytest.mark.parametrize(
    ("right", "expected"),
    [(80, [(0, 3, True)]), (79.9, [])],  # the cells end at 70
)
def test_cells_stand_a_lines_height_apart(
    right: float, expected: list[tuple[int, int, bool]]
) -> None:
    assert found(cells(PAIRS, xs=(60, right))) == expected


def test_rows_at_one_height_are_not_below_each_other() -> None:
    row = row_of(cells([["aa", "bb"]]), 1)
    assert find_tables([row, row, row]) == []


def test_a_row_of_cells_atop_the_next_column_is_no_part_of_a_table() -> None:
    lines = [*cells(PAIRS, 214), *cells([["gg", "hh"]], 200, (300, 440))]
    assert found(lines) == [(0, 3, True)]


@pytest.mark.parametrize(("left", "expected"), [(104, [(0, 3, True)]), (103.9, [])])
def test_columns_stand_four_points_apart(
    left: float, expected: list[tuple[int, int, bool]]
) -> None:
    """The first column ends at 100, in another row than the one where the second begins."""
    rows = [((60, 100), (140, 160)), ((60, 80), (left, 160)), ((60, 100), (140, 160))]
    lines = [
        replace(line("aa", 200 + 14 * i, start), right=end)
        for i, row in enumerate(rows)
        for start, end in row
    ]
    assert found(lines) == expected


def test_a_cell_below_a_wide_one_is_of_its_column() -> None:
    wide = "b" * 20  # from 200 to 300
    table = cells([["aa", wide], *[["aa", "bb"]] * 3, ["aa", ""]])
    assert found([*table, line("bb", 256, 250)]) == [(0, 5, True)]


def test_rows_of_other_pages_are_apart() -> None:
    rows = [*rows_of(cells(PAIRS[:2]), 1), *rows_of(cells(PAIRS[2:], 230), 2)]
    assert find_tables(rows) == []


@pytest.mark.parametrize(
    ("full", "others", "expected"), [(3, 2, True), (2, 2, False), (4, 2, True)]
)
def test_most_rows_have_all_cells(full: int, others: int, expected: bool) -> None:
    table = [["aa", "bb", "cc"]] * full + [["aa", "bb", ""]] * others
    assert any(certain for *_, certain in found(cells(table))) is expected


def test_cells_are_aligned_at_one_edge() -> None:
    for shifts, expected in (
        ((0, 3, 0, 3, 0), True),
        ((0, 20, 40, 60, 80), False),
        ((0, 20, 0, 0, 0), True),  # four of five
        ((0, 20, 0, 20, 0), False),
    ):
        rows = [
            (
                line("aa", 200 + 14 * i),
                line("b" * (4 + 2 * i), 200 + 14 * i, 200 + shift),
            )
            for i, shift in enumerate(shifts)
        ]
        certain = [one for *_, one in found([cell for row in rows for cell in row])]
        assert (certain == [True]) is expected


@pytest.mark.parametrize(("shift", "expected"), [(3, True), (3.1, False)])
def test_middles_that_differ_by_three_points_are_aligned(
    shift: float, expected: bool
) -> None:
    middles = [260, 260 + shift, 260 - shift, 260 + shift, 260 - shift]
    widths = [20, 80, 30, 120, 60]
    lines = []
    for i, (middle, width) in enumerate(zip(middles, widths, strict=True)):
        lines.append(line("aa", 200 + 14 * i))
        edges = {"left": middle - width / 2, "right": middle + width / 2}
        lines.append(replace(line("bb", 200 + 14 * i), **edges))
    assert any(certain for *_, certain in found(lines)) is expected


@pytest.mark.parametrize(("words", "expected"), [(6, True), (7, False)])
def test_cells_are_short(words: int, expected: bool) -> None:
    cell = " ".join(["of"] * words)
    table = [[cell, cell]] * 3
    assert any(certain for *_, certain in found(cells(table, xs=(60, 300)))) is expected


@pytest.mark.parametrize("label", ["•", "-", "1.", "(a)", "iv)", "12)"])
def test_labels_are_no_column(label: str) -> None:
    assert found(cells([[label, "a first thing"]] * 3, xs=(60, 90))) == []
    assert found(cells([[label, "thing", "use"]] * 3, xs=(60, 90, 200))) == [
        (0, 3, True)
    ]


@pytest.mark.parametrize(
    ("y", "x", "certain"),
    [
        (240, 200, False),  # close under the second column
        (242, 203, False),
        (242.1, 200, True),  # 1.4 times the type's height below
        (240, 204, True),  # under no column
        (240, 60, True),  # under the first
    ],
)
def test_a_row_that_goes_on_makes_the_table_uncertain(
    y: float, x: float, certain: bool
) -> None:
    lines = [*cells([["aa", "bb", "cc"]] * 3), line("on", y, x)]
    assert found(lines) == [(0, 3, certain)]


def test_a_row_of_as_many_parts_below_a_table_does_not_go_on() -> None:
    parts = [line("on", 240, x) for x in (200, 215, 230)]
    assert found([*cells([["aa", "bb", "cc"]] * 3), *parts]) == [(0, 3, True)]


def test_justified_text_with_wide_spaces_is_no_table() -> None:
    rows = [["aaaa", "bbbbbb", "cc"], ["aaaaaa", "bb", "cc"], ["aa", "bbbb", "cc"]]
    spaces = [(60, 120, 340), (60, 170, 340), (60, 230, 340)]
    lines = [
        line(text, 200 + 14 * i, x)
        for i, (row, xs) in enumerate(zip(rows, spaces, strict=True))
        for text, x in zip(row, xs, strict=True)
    ]
    assert found(lines) == []
    for x, shift, expected in (
        (60, 3, []),
        (60, 3.1, [(0, 3, False)]),
        (340, 3, []),
        (340, 3.1, [(0, 3, False)]),
    ):
        moved = [
            replace(one, left=one.left + shift, right=one.right + shift)
            if (one.left, one.top) == (x, 214)
            else one
            for one in lines
        ]
        assert found(moved) == expected, (x, shift)
    ragged = [
        replace(one, left=one.left + 40, right=one.right + 40)
        if one.left == 340 and one.top == 214
        else one
        for one in lines
    ]
    assert found(ragged) == [(0, 3, False)]
