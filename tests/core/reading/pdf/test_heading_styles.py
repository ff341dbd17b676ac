"""Headings by type and number."""

from __future__ import annotations

from dataclasses import replace

from page_making import headings, line, page, text_from


def test_text_beyond_the_paper_is_no_heading() -> None:
    lines = [
        line("Far Away", -900, size=40),
        replace(line("Wide", 60, size=20), right=5000),
    ]
    assert headings(page(*lines, *text_from(120))) == []
