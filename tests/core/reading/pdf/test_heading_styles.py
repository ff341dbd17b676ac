"""Headings by type and number."""

from __future__ import annotations

from dataclasses import replace

import pytest
from fixture_cases import examples
from page_making import headings, line, page, text_from

from structrag.reading.pdf.heading_styles import Body, Style, heading_style
from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.rows import Row, row_of


def test_levels_follow_the_size_of_the_type() -> None:
    lines = [
        line("The book", 100, size=24),
        *text_from(140),
        line("Part", 200, size=16),
        *text_from(230),
        line("Detail", 290, bold=True),
        *text_from(310),
        line("Next part", 370, size=16.2),
        *text_from(400),
    ]
    assert headings(page(*lines)) == [
        (1, "The book"),
        (2, "Part"),
        (3, "Detail"),
        (2, "Next part"),
    ]


def test_levels_follow_numbers_where_the_type_is_one() -> None:
    titles = [
        "Abstract",
        "1 Introduction",
        "1.1 Aim",
        "1.1.1 Scope",
        "2 Method",
        "2.1 Data",
        "References",
    ]
    lines = [
        part
        for i, title in enumerate(titles)
        for part in (line(title, 40 + 90 * i, bold=True), *text_from(60 + 90 * i))
    ]
    assert headings(page(*lines)) == list(
        zip([1, 1, 2, 3, 1, 2, 1], titles, strict=True)
    )


def test_a_heading_of_several_rows_is_one() -> None:
    lines = [
        line("A title that goes on", 100, size=20),
        line("in a second row", 124, size=20),
        *text_from(170),
    ]
    assert headings(page(*lines)) == [(1, "A title that goes on in a second row")]


def index_page(titles: list[str], *, bold: bool = True) -> list[Line]:
    """Titles each over an entry of an index."""
    return [
        part
        for i, title in enumerate(titles)
        for part in (
            line(title, 100 + 40 * i, 150, bold=bold),
            line(f"{title.lower()}n entry . . . . . . . . . . . . 3", 114 + 40 * i),
        )
    ]


@examples
def test_capitals_in_the_order_of_the_alphabet_head_an_index(
    letters: list[str], expected: list[str]
) -> None:
    found = headings(page(*index_page(letters), *text_from(400, 20)))
    assert [title for _, title in found] == expected
    plain = page(*index_page(letters, bold=False), *text_from(400, 20))
    assert headings(plain) == []


def test_lines_between_the_title_and_the_text_of_a_first_page_are_no_headings() -> None:
    lines = [
        line("Of Pumps", 60, size=18),
        line("Ann Example", 90, size=13),
        line("12 May 2021", 110, size=13),
        line("Summary", 140, bold=True),
        *text_from(160, 6),
        line("First", 260, size=13, bold=True),
        *text_from(280),
    ]
    assert [title for _, title in headings(page(*lines))] == [
        "Of Pumps",
        "Summary",
        "First",
    ]


@pytest.mark.parametrize("date", ["12 May 2021", "October 31, 2022", "May 2021"])
def test_a_date_on_a_first_page_is_no_heading(date: str) -> None:
    lines = [
        line("Of Pumps", 60, size=18, bold=True),
        line(date, 90, size=13, bold=True),
        *text_from(120, 6),
        line("First", 240, size=13, bold=True),
        *text_from(260),
        line(date, 320, size=13, bold=True),
        *text_from(340),
    ]
    found = [title for _, title in headings(page(*lines))]
    assert found == ["Of Pumps", "First", date]  # the date of a change stays one


def test_short_bold_titles_may_end_with_a_stop_where_others_look_the_same() -> None:
    def titled(titles: list[str]) -> list[str]:
        lines = [
            part
            for i, title in enumerate(titles)
            for part in (line(title, 60 + 60 * i, bold=True), *text_from(76 + 60 * i))
        ]
        return [title for _, title in headings(page(*lines))]

    others = ["Pumps", "Seals", "Hoses"]
    long = "Never open the pump before the water in it is cold."
    assert titled([*others, "Use of pumps."]) == [*others, "Use of pumps."]
    assert titled([*others, long]) == others
    assert titled(["Pumps", "Use of pumps."]) == ["Pumps"]


def test_lines_to_be_filled_in_are_no_headings() -> None:
    lines = [line("8. Why? ____________", 60, bold=True), *text_from(80)]
    assert headings(page(*lines)) == []


def test_capitals_over_several_rows_end_where_text_begins() -> None:
    lines = [
        line("II. WHAT OLD PUMPS WITHOUT COVERS NEED BY", 60, 110),
        line("THEIR FIRST USE", 73, 175),
        *text_from(86),
    ]
    assert [title for _, title in headings(page(*lines))] == [
        "II. WHAT OLD PUMPS WITHOUT COVERS NEED BY THEIR FIRST USE"
    ]


def test_a_title_is_bold_by_what_is_not_in_type_of_one_width() -> None:
    def title(number: str, top: float) -> list[Line]:
        name = line("\\pump", top, 110)
        return [line(number, top, bold=True), replace(name, mono=True)]

    lines = [*title("1.1", 60), *text_from(80), *title("1.2", 140), *text_from(160)]
    assert [title for _, title in headings(page(*lines))] == [
        "1.1 \\pump",
        "1.2 \\pump",
    ]


@pytest.mark.parametrize("text", ["[In thousands]", "(all of 2001, in dollars)"])
def test_bold_remarks_in_brackets_are_no_headings(text: str) -> None:
    assert headings(page(line(text, 60, bold=True), *text_from(80))) == []


def test_text_beyond_the_paper_is_no_heading() -> None:
    lines = [
        line("Far Away", -900, size=40),
        replace(line("Wide", 60, size=20), right=5000),
    ]
    assert headings(page(*lines, *text_from(120))) == []


def test_a_labelled_title_goes_on_in_rows_that_hang() -> None:
    lines = [
        line(
            "No. 1020. Sales of pumps by kind of pump and by the country of its",
            60,
            bold=True,
        ),
        line("origin", 73, 118, bold=True),
        *text_from(100),
    ]
    assert [title for _, title in headings(page(*lines))] == [
        "No. 1020. Sales of pumps by kind of pump and by the country of its origin"
    ]


def test_headings_below_one_another_stay_apart() -> None:
    lines = [
        line("Part", 100, size=16),
        line("Chapter", 132, size=16),
        line("Section", 164, size=16),
        *text_from(200, 6),
    ]
    assert [title for _, title in headings(page(*lines))] == [
        "Part",
        "Chapter",
        "Section",
    ]


def test_a_number_apart_from_its_title_is_part_of_it() -> None:
    lines = [
        line("1.", 100, size=16),
        line("Results", 100, 100, size=16),
        *text_from(130),
    ]
    assert headings(page(*lines)) == [(1, "1. Results")]


def test_numbers_of_headings_that_could_be_list_items_stay() -> None:
    titles = ["1. Aim", "2. Method", "3. Result"]
    lines = [
        part
        for i, title in enumerate(titles)
        for part in (line(title, 40 + 90 * i, size=16), *text_from(70 + 90 * i))
    ]
    assert headings(page(*lines)) == [(1, title) for title in titles]


@examples
def test_headings_in_the_type_of_the_body(title: str, is_heading: bool) -> None:
    lines = [*text_from(100), line(title, 160), *text_from(180)]
    assert [found for _, found in headings(page(*lines))] == (
        [title] if is_heading else []
    )


def test_bold_text_in_a_bold_document_and_bold_sentences_are_no_headings() -> None:
    bold = [
        replace(one, bold=True)
        for one in (*text_from(100), line("Short row", 160), *text_from(180))
    ]
    assert headings(page(*bold)) == []
    assert (
        headings(
            page(
                *text_from(100),
                line("This is a warning.", 160, bold=True),
                *text_from(180),
            )
        )
        == []
    )


def row(text: str, size: float = 10, bold: bool = False, y: float = 100) -> Row:
    return row_of([line(text, y, size=size, bold=bold)], 1)


@examples
def test_the_depth_of_a_heading_counts_the_components_of_its_number(
    text: str, depth: int
) -> None:
    of = [row(text, 14)]
    style = heading_style(of, text, Body(10, False), before_text=True)
    assert style == Style(14, False, depth)
