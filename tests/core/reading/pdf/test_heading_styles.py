"""Headings by type and number."""

from __future__ import annotations

from dataclasses import replace

import pytest
from page_making import FULL, draft, headings, line, page, text_from

from structrag.reading.markdown import markdown_headings
from structrag.reading.pdf.heading_styles import (
    Body,
    Style,
    body_of,
    has_leaders,
    heading_style,
    is_large,
    levels_of,
)
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


def test_cells_behind_a_number_are_columns_and_no_title() -> None:
    cells = [line("1.", 100, size=16), line("Bolt", 100, 100, size=16)]
    assert headings(page(*cells, *text_from(130))) == [(1, "1. Bolt")]
    row = [*cells, line("Steel", 100, 300, size=16)]
    assert headings(page(*row, *text_from(130))) == []


def test_numbers_of_headings_that_could_be_list_items_stay() -> None:
    titles = ["1. Aim", "2. Method", "3. Result"]
    lines = [
        part
        for i, title in enumerate(titles)
        for part in (line(title, 40 + 90 * i, size=16), *text_from(70 + 90 * i))
    ]
    assert headings(page(*lines)) == [(1, title) for title in titles]


@pytest.mark.parametrize(
    ("title", "is_heading"),
    [
        ("3.2 Test Results", True),
        ("Article IV Termination", True),
        ("LIMITATION OF LIABILITY", True),
        ("BEGIN", False),
        ("3 apples", False),
        ("3.2 mm of rain fell in the year.", False),
    ],
)
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


def test_long_text_in_large_type_is_reported() -> None:
    large = [line(FULL[:40], 100 + 20 * i, size=16) for i in range(5)]
    found = draft(
        page(*large, *(one for k in range(3) for one in text_from(250 + 60 * k, 4)))
    )
    assert markdown_headings(found.text) == []
    assert any(note.startswith("Large type on page 1") for note in found.uncertain)


def test_a_table_of_contents_has_no_headings_and_keeps_its_rows() -> None:
    entries = [
        line(f"{i} Part number {i} . . . . . . . . . . {i + 3}", 100 + 20 * i, size=14)
        for i in range(1, 5)
    ]
    found = draft(page(*entries, *text_from(300, 12)))
    assert markdown_headings(found.text) == []
    assert all(entry.text in found.text.splitlines() for entry in entries)


def row(text: str, size: float = 10, bold: bool = False, y: float = 100) -> Row:
    return row_of([line(text, y, size=size, bold=bold)], 1)


def test_the_body_has_the_type_of_most_characters() -> None:
    assert body_of([]) == Body(0.0, False)
    assert body_of([row("a" * 10), row("b" * 9, 12, True)]) == Body(10, False)
    assert body_of([row("a" * 10), row("b" * 11, 12, True)]) == Body(12, True)
    # Ties: the smaller.
    assert body_of([row("a" * 10, 12), row("b" * 10)]) == Body(10, False)
    assert body_of([row("aa", 10.2), row("bb", 9.8), row("ccc", 11)]).size == 10


@pytest.mark.parametrize(
    ("size", "body", "expected"),
    [
        (11.5, 10, True),
        (11.4, 10, False),
        (7, 6, True),
        (6.9, 6, False),
        (23, 20, True),
    ],
)
def test_large_type_is_a_seventh_and_a_point_larger(
    size: float, body: float, expected: bool
) -> None:
    assert is_large(size, Body(body, False)) is expected


WORDS = "Rinse"


@pytest.mark.parametrize(
    ("text", "type_of_it", "rows", "expected"),
    [
        # larger type
        (" ".join([WORDS] * 25), (14, False), 8, True),
        (" ".join([WORDS] * 26), (14, False), 1, False),
        (WORDS, (14, False), 9, False),
        (f"{' '.join([WORDS] * 12)}.", (14, False), 1, True),
        (f"{' '.join([WORDS] * 13)}.", (14, False), 1, False),
        ("Rinse it:", (14, False), 1, False),
        ("R", (14, False), 1, False),  # one letter
        ("Go", (14, False), 1, True),
        ("Rinse it ........ 4", (14, False), 1, False),
        # bold type
        (" ".join([WORDS] * 15), (10, True), 2, True),
        (" ".join([WORDS] * 16), (10, True), 2, False),
        ("Rinse it", (10, True), 3, False),
        ("Rinse it.", (10, True), 1, False),
        ("Rinse it", (9, True), 1, True),
        ("Rinse it", (8.5, True), 1, False),
        ("x" * 150, (10, True), 1, True),
        ("x" * 151, (10, True), 1, False),
        # the body's type
        ("CLEANING", (10, False), 1, True),
        ("CLEANING", (10, False), 2, False),
        ("FILTER", (10, False), 1, True),
        ("PUMPS", (10, False), 1, False),
        ("THE PUMP", (10, False), 1, True),
        ("2.1 Cleaning", (10, False), 1, True),
        ("2.1 Cleaning.", (10, False), 1, True),
        ("2 Cleaning", (10, False), 1, False),
        ("Chapter 2 Cleaning", (10, False), 1, True),
        ("2.1 cleaning it", (10, False), 1, False),
        ("Cleaning", (10, False), 1, False),
    ],
)
def test_what_is_a_heading(
    text: str, type_of_it: tuple[float, bool], rows: int, expected: bool
) -> None:
    of = [row(text, *type_of_it)] * rows
    style = heading_style(of, text, Body(10, False), before_text=True)
    assert (style is not None) is expected
    if style is not None:
        assert (style.size, style.bold) == type_of_it
    if type_of_it == (10, False):  # only before text
        assert heading_style(of, text, Body(10, False), before_text=False) is None


@pytest.mark.parametrize(
    ("text", "depth"),
    [
        ("Cleaning", 0),
        ("2 Cleaning", 1),
        ("2.1.3 Cleaning", 3),
        ("3.0 Cleaning", 1),  # written for 3
        ("A Pump", 0),  # an article
        ("B.2 Pumps", 2),
        ("Part 2 Pumps", 1),
        ("Annex 2 Pumps", 1),
        ("Chapter 2", 0),  # no title behind it
    ],
)
def test_the_depth_of_a_heading_counts_the_components_of_its_number(
    text: str, depth: int
) -> None:
    of = [row(text, 14)]
    style = heading_style(of, text, Body(10, False), before_text=True)
    assert style == Style(14, False, depth)


def test_bold_type_is_no_sign_in_a_bold_body_and_turned_text_is_none() -> None:
    assert (
        heading_style([row("It", bold=True)], "It", Body(10, True), before_text=True)
        is None
    )
    turned = replace(row("Axis", 14), upright=False)
    assert heading_style([turned], "Axis", Body(10, False), before_text=True) is None


def test_columns_are_no_heading() -> None:
    # Of 14 points, as wide as two lines are high.
    for gap, expected in ((28, True), (29, False)):
        first = line("Size", 100, size=14)
        cells = [first, line("Use", 100, first.right + gap, 14)]
        of = [row_of(cells, 1)]
        style = heading_style(of, "Size Use", Body(10, False), before_text=True)
        assert (style is not None) is expected
        number = [line("2", 100, 20, 14), *cells[:1]]
        assert heading_style(
            [row_of(number, 1)], "2 Size", Body(10, False), before_text=True
        ) == Style(14, False, 1)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Use .... 4", True),
        ("Use ... 4", False),
        ("Use . . . . 4", True),
        ("Use . . . 4", False),
        ("Use …… 4", True),
        ("Use … 4", False),
    ],
)
def test_leaders(text: str, expected: bool) -> None:
    assert has_leaders(text) is expected


@pytest.mark.parametrize(
    ("styles", "levels"),
    [
        ([], []),
        ([Style(20, False, 0), Style(14, True, 0), Style(14, False, 0)], [1, 2, 3]),
        ([Style(14, True, 0), Style(20, False, 0)], [2, 1]),
        ([Style(14, False, 0), Style(13.5, False, 0), Style(13, False, 0)], [1, 1, 2]),
        ([Style(10, True, 1), Style(10, True, 2), Style(10, True, 0)], [1, 2, 1]),
        ([Style(10, True, 2), Style(10, True, 0), Style(10, True, 3)], [1, 1, 2]),
        ([Style(30 - 3 * i, False, 0) for i in range(8)], [1, 2, 3, 4, 5, 6, 6, 6]),
    ],
)
def test_levels_by_size_weight_and_number(
    styles: list[Style], levels: list[int]
) -> None:
    assert levels_of(styles) == levels
