"""Tables of office files as pipe tables."""

from __future__ import annotations

from structrag.reading.office.tables import Cell, pipe_table, spread


def test_spans_down_are_repeated_and_spans_across_are_not() -> None:
    rows = [[Cell("Pump", 2), Cell("Price", rows=3)], [Cell("a"), Cell("b")], []]
    assert spread(rows) == [
        ["Pump", "", "Price"],
        ["a", "b", "Price"],
        [],
    ]


def test_absurd_spans_end_at_a_limit() -> None:
    [row] = spread([[Cell("a", 10**9, 10**9), Cell("b")]])
    assert len(row) == 1001


def test_a_table_has_one_header_line() -> None:
    rows = [["Pump", "Price"], ["Pump", "net"], ["P1", "5"]]
    assert pipe_table(rows, 2).splitlines() == [
        "| Pump | Price / net |",
        "| --- | --- |",
        "| P1 | 5 |",
    ]
    assert pipe_table(rows[2:], 0).splitlines() == [
        "|  |  |",
        "| --- | --- |",
        "| P1 | 5 |",
    ]


def test_empty_rows_and_columns_are_left_out() -> None:
    rows = [["a", "", "b"], ["", " ", ""], ["c|d", "", "e\nf", ""]]
    assert pipe_table(rows).splitlines() == [
        "| a | b |",
        "| --- | --- |",
        "| c\\|d | e f |",
    ]
    assert pipe_table([["", ""]]) == ""
