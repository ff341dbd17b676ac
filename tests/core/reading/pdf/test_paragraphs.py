"""Rows joined to paragraphs and lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fixture_cases import examples
from page_making import (
    FULL,
    column,
    markdown,
    page,
)

from structrag.reading.pdf.paragraphs import Spacing, paragraphs_of
from structrag.reading.pdf.rows import Row


def test_an_indented_first_row_begins_a_paragraph() -> None:
    lines = column([FULL, FULL, FULL, FULL])
    lines[2] = replace(lines[2], left=lines[2].left + 15)
    assert markdown(page(*lines)) == f"{FULL} {FULL}\n\n{FULL} {FULL}\n"


SPACING = Spacing({10.0: 12.0}, 1.2)


def row(
    text: str, top: float, left: float = 60, width: float | None = None, **more: Any
) -> Row:
    """A row of type of 10 points, each character 5 wide."""
    right = left + (5 * len(text) if width is None else width)
    fixed: dict[str, Any] = {
        "page": 1,
        "size": 10.0,
        "bold": False,
        "upright": True,
        **more,
    }
    return Row(
        cells=(),
        text=text,
        left=left,
        right=right,
        top=top,
        bottom=top + fixed["size"],
        **fixed,
    )


def shape(rows: list[Row], spacing: Spacing = SPACING) -> str:
    """The first letter of each row; "|" before a paragraph, "/" before a line of its own."""
    shown = ""
    for paragraph in paragraphs_of(rows, spacing):
        for i, member in enumerate(paragraph.rows):
            shown += "|" if not i else "/" if i in paragraph.breaks else ""
            shown += member.text[0]
    return shown[1:]


@examples
def test_a_row_of_other_type_lies_inside_a_paragraph(
    size: float, below: float, shown: str
) -> None:
    rows = [
        row("a" * 60, 100),
        row("b" * 60, 112, size=size),
        row("c" * 60, 112 + below),
    ]
    assert shape(rows) == shown
