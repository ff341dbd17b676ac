"""The page of D3's routing: one set is measured, the others keep their tables."""

from __future__ import annotations

from benchmarks.d3_routing import page


def test_other_sets_keep_their_tables() -> None:
    first = page("", "nq", "### nq: 7 documents\n\n| a |")
    both = page(first, "qasper", "### qasper: 10 documents\n\n| b |")
    again = page(both, "nq", "### nq: 5 documents\n\n| c |")
    assert "| b |" in again and "| c |" in again and "| a |" not in again
    assert again.index("### qasper") < again.index("### nq")
    assert again.count("# Routing without") == 1 and "\n\n\n" not in again
