"""Rows joined to paragraphs and lists."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from fixture_cases import examples
from page_making import (
    FULL,
    column,
    draft,
    line,
    markdown,
    page,
    rows,
    text_from,
)

from structrag.reading.pdf.paragraphs import Spacing, paragraphs_of
from structrag.reading.pdf.rows import Row

TEXT = [FULL, FULL, "the last row."]


def test_rows_of_a_paragraph_are_joined_and_gaps_part_paragraphs() -> None:
    lines = [*column(TEXT, 200), *column(TEXT, 260)]
    paragraph = f"{FULL} {FULL} the last row."
    assert markdown(page(*lines)) == f"{paragraph}\n\n{paragraph}\n"


def test_an_indented_first_row_begins_a_paragraph() -> None:
    lines = column([FULL, FULL, FULL, FULL])
    lines[2] = replace(lines[2], left=lines[2].left + 15)
    assert markdown(page(*lines)) == f"{FULL} {FULL}\n\n{FULL} {FULL}\n"


def test_a_row_that_ends_on_purpose_keeps_its_end() -> None:
    lines = column(
        [
            "John Smith",
            "12 High Street",
            "Springfield",
            "The United Kingdom of Great Britain",
        ]
    )
    assert markdown(page(*lines)).splitlines() == [line.text for line in lines]


@examples
def test_paragraphs_over_pages(last: str, first: str, joined: bool) -> None:
    text = markdown(page(*column([FULL, FULL, last], 700)), page(*column([first], 60)))
    assert (f"{last} {first}" in text) == joined


def test_paragraphs_over_columns() -> None:
    half = FULL[:39]
    lines = [*column([half, half, half], 200), *column(["goes on.", half], 200, x=320)]
    assert f"{half} {half} {half} goes on." in markdown(page(*lines))


@pytest.mark.parametrize("bullet", ["•", "–", "-", "\uf0b7", "▪"])
def test_bullets_with_hanging_rows_and_nested_ones(bullet: str) -> None:
    long = FULL[:60]
    lines = rows(
        [
            (f"{bullet} {long}", 60),
            ("goes on here", 70),
            ("• nested", 80),
            (f"{bullet} last", 60),
        ]
    )
    assert draft(page(*lines)).text == f"- {long} goes on here\n  - nested\n- last\n"


@examples
def test_numbered_lists(labels: list[str], shown: list[str]) -> None:
    lines = rows([(f"{label} item text", 60) for label in labels], step=30)
    found = draft(page(*text_from(100), *lines)).text
    assert found.splitlines()[2:] == [f"{label} item text" for label in shown]


def test_a_lone_dash_begins_no_list() -> None:
    found = draft(page(*text_from(100), line("— Italo Calvino", 160), *text_from(200)))
    assert "\n\n— Italo Calvino\n\n" in found.text


def test_a_lone_number_begins_no_list() -> None:
    found = draft(page(*text_from(100), line("7. is a lucky number", 160)))
    assert found.text.endswith("\n\n7\\. is a lucky number\n")
    assert (
        draft(
            page(
                line(FULL, 100),
                line("3. In this row a number is only a number", 112),
            )
        ).text.count("\n")
        == 1
    )


def test_a_list_goes_on_over_a_page() -> None:
    first = page(*rows([("• one", 60), ("– sub", 80)], 700))
    second = page(*rows([("– sub two", 110), ("• two", 90)], 100))
    assert draft(first, second).text == "- one\n  - sub\n  - sub two\n- two\n"


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


def test_a_short_bold_row_behind_a_full_sentence_is_a_title_however_close() -> None:
    full = f"{FULL[:-1]}."
    lines = [*column([full, "SKILLS", FULL, FULL, "the end."], 200)]
    lines[1] = replace(lines[1], bold=True)
    assert f"{full}\n\n# SKILLS\n\n{FULL}" in markdown(page(*lines))
    going_on = [*lines[:2], replace(lines[2], bold=True), *lines[3:]]
    assert f"{full}\n\n" not in markdown(page(*going_on))
