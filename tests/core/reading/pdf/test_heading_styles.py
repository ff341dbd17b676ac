"""Headings by type and number."""

from __future__ import annotations

from dataclasses import replace

from fixture_cases import examples
from page_making import headings, line, page, text_from

from structrag.reading.pdf.heading_styles import Body, Style, heading_style
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
