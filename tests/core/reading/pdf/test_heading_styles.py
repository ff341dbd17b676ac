"""Headings by type and number."""

from __future__ import annotations

from dataclasses import replace

from fixture_cases import examples
from page_making import headings, line, page, text_from

from structrag.reading.pdf.heading_styles import Body, Style, heading_style
from structrag.reading.pdf.rows import Row, row_of


def test_text_beyond_the_paper_is_no_heading() -> None:
    lines = [
        line("Far Away", -900, size=40),
        replace(line("Wide", 60, size=20), right=5000),
    ]
    assert headings(page(*lines, *text_from(120))) == []


def row(text: str, size: float = 10, bold: bool = False, y: float = 100) -> Row:
    return row_of([line(text, y, size=size, bold=bold)], 1)


@examples
def test_the_depth_of_a_heading_counts_the_components_of_its_number(
    text: str, depth: int
) -> None:
    of = [row(text, 14)]
    style = heading_style(of, text, Body(10, False), before_text=True)
    assert style == Style(14, False, depth)
