"""Tables without rules, by what stands below what."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from page_making import draft, line, page, text_from

from structrag.reading.pdf.pages import Line


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
    assert found.text.splitlines()[:3] == ["Name Size Use", "Pump 3 mm lifts", "Bend 9 mm turns"]
    assert [
        note for note in found.uncertain if note.startswith("3 rows of page 1 that may be a table")
    ]


def test_ragged_cells_are_no_table() -> None:
    ragged = [
        line(text, 100 + 14 * i, x)
        for i, row in enumerate([(60, 200), (75, 290), (60, 150)])
        for text, x in zip("ab", row, strict=True)
    ]
    found = draft(page(*ragged)).text
    assert "|" not in found and found.split() == ["a", "b"] * 3


def test_labels_beside_text_are_a_list() -> None:
    found = draft(page(*cells([["1.", "one"], ["2.", "two"], ["3.", "three"]], xs=(60, 90)))).text
    assert found == "1. one\n2. two\n3. three\n"


def test_cells_aligned_at_their_middles() -> None:
    centred = [
        replace(one, left=one.left - width / 2, right=one.right - width / 2) if k % 2 else one
        for k, one in enumerate(cells([["a", "1"], ["b", "100000"], ["c", "50"]]))
        for width in [one.right - one.left]
    ]
    assert "| b | 100000 |" in draft(page(*centred)).text
