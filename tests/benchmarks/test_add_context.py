"""The table of what a heading path in front of chunks changes."""

from __future__ import annotations

from benchmarks.add_context import PLAIN, SCOPES, WITH_PATH, table


def test_what_is_certain_is_bold_and_sets_count_alike() -> None:
    cell = (SCOPES[0], 500)
    values = {
        PLAIN: [{cell: [0.0, 0.0, 0.0]}, {cell: [1.0]}],
        WITH_PATH: [{cell: [1.0, 1.0, 1.0]}, {cell: [1.0]}],
    }
    rows = table(["a", "b"], values, cell).splitlines()
    assert [row.split("|")[2].strip() for row in rows[2:4]] == ["0.0", "100.0"]
    difference = [one.strip() for one in rows[4].split("|")[1:-1]]
    assert difference == [
        "difference",
        "**+100.0 [+100.0, +100.0]**",
        "+0.0 [+0.0, +0.0]",
        "**+50.0 [+50.0, +50.0]**",
    ]
