"""Tables without rules, by what stands below what."""

from __future__ import annotations

from collections.abc import Sequence

from fixture_cases import examples
from page_making import draft, line, page

from structrag.reading.pdf.aligned_tables import find_tables
from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.rows import Row, rows_of


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


def found(lines: Sequence[Line]) -> list[tuple[int, int, bool]]:
    """Where stretches begin and end, and whether each is a table for certain."""
    rows: list[Row] = list(rows_of(lines, 1))
    return [(one.start, one.end, one.cells is not None) for one in find_tables(rows)]


PAIRS = [["aa", "bb"], ["cc", "dd"], ["ee", "ff"]]


@examples
def test_rows_follow_each_other(
    step: float, expected: list[tuple[int, int, bool]]
) -> None:
    assert found(cells(PAIRS, step=step)) == expected


@examples
def test_cells_are_short(words: int, expected: bool) -> None:
    cell = " ".join(["of"] * words)
    table = [[cell, cell]] * 3
    assert any(certain for *_, certain in found(cells(table, xs=(60, 300)))) is expected


def test_a_row_of_as_many_parts_below_a_table_does_not_go_on() -> None:
    parts = [line("on", 240, x) for x in (200, 215, 230)]
    assert found([*cells([["aa", "bb", "cc"]] * 3), *parts]) == [(0, 3, True)]
