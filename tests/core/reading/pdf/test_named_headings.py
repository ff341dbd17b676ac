"""Headings by bookmarks and tags, and by type where a file names none."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, prose, wrapped, write

from structrag import parse
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.pages import Line
from structrag.reading.pdf.reading_order import reading_order

Title = tuple[int, str]  # level, title
TEXT = "Helvetica"


def outline(data: bytes) -> list[Title]:
    sections = parse(pdf_document(data)).sections[1:]
    return [(section.level, section.title) for section in sections]


def paragraph(
    canvas: Any, seed: int, y: float, x: float = 72, width: float = 450
) -> float:
    return write(canvas, wrapped(prose(seed, 60), 10, width), x, y) - 8


def book(
    titles: list[tuple[str, str, int]], *, font: str = TEXT, tops: bool = True
) -> Callable[[Any], None]:
    """Text under titles in its own type; each (as printed, as bookmarked, level from 0)."""

    def draw(canvas: Any) -> None:
        y = 780.0
        for seed, (shown, named, level) in enumerate(titles):
            if y < 200:
                canvas.showPage()
                y = 780
            if named:
                canvas.bookmarkHorizontal(f"k{seed}", 0, y + 12 if tops else 800)
                canvas.addOutlineEntry(named, f"k{seed}", level)
            y = write(canvas, wrapped(shown, 10, 300, font), 72, y, font=font) - 8
            y = paragraph(canvas, seed, y)

    return draw


@pytest.mark.parametrize("tops", [True, False])
def test_bookmarks_name_headings_in_the_type_of_the_text(tops: bool) -> None:
    titles = [
        ("Safety of pumps", "Safety of pumps", 0),
        ("1.1 Electric parts", "Electric parts", 1),  # the number stands on the page alone
        ("Hot parts", "1.2 Hot parts", 1),  # and in the bookmark alone
        ("Service, spare parts and what is to be known of both before a first use of pumps",
         "Service, spare parts and what is to be known of both before a first use of pumps", 0),
    ]  # fmt: skip
    assert outline(made(book(titles, tops=tops))) == [
        (1, "Safety of pumps"),
        (2, "1.1 Electric parts"),
        (2, "Hot parts"),
        (1, titles[3][0]),
    ]


def test_of_two_places_with_the_words_the_bookmark_takes_the_one_it_points_to() -> None:
    titles = [
        ("Notes", "", 0),
        ("Pumps", "Pumps", 0),
        ("Notes", "Notes", 0),
        ("Seals", "Seals", 0),
    ]
    found = outline(made(book(titles)))
    assert found == [(1, "Pumps"), (1, "Notes"), (1, "Seals")]


def test_a_bookmark_that_is_cut_off_names_the_whole_title() -> None:
    long = "Support schemes for heating and cooling of buildings from renewable sources"
    titles = [(long, long[:50], 0), ("Seals", "Seals", 0), ("Pipes", "Pipes", 0)]
    found = outline(made(book(titles, font="Helvetica-Bold")))
    assert found == [(1, long), (1, "Seals"), (1, "Pipes")]


def test_two_bookmarks_are_no_outline() -> None:
    titles = [("Safety", "Safety", 0), ("Service", "Service", 0), ("Parts", "", 0)]
    assert outline(made(book(titles))) == []


BOLD = "Helvetica-Bold"


@examples
def test_what_looks_as_a_named_heading_has_its_level_where_few_are_named(
    unnamed: list[str], expected: list[int]
) -> None:
    named = ["Safety", "Service", "Seals"]
    titles = [(title, title, 0) for title in named]
    titles += [(title, "", 0) for title in unnamed]
    found = outline(made(book(titles, font=BOLD)))
    assert found[:3] == [(1, title) for title in named]
    assert [level for level, _ in found[3:]] == expected


def test_only_what_is_clearly_deeper_than_the_outline_is_a_heading_beyond_it() -> None:
    """Three of one lesser look, or a deeper number."""

    def draw(canvas: Any) -> None:
        y = write(canvas, ["The manual"], 72, 790, font=BOLD, size=20)
        y = write(canvas, ["Of all pumps"], 72, y, font=BOLD, size=14)
        for seed, title in enumerate(["1 Safety", "2 Service", "3 Seals"]):
            canvas.bookmarkHorizontal(title, 0, y + 14)
            canvas.addOutlineEntry(title, title, 0)
            y = write(canvas, [title], 72, y, font=BOLD, size=14)
            y = write(canvas, [f"Of {title[2:]}"], 72, y, font=BOLD)
            y = paragraph(canvas, seed, y)
        y = write(canvas, ["Large but alone"], 72, y, font="Helvetica", size=13)
        y = paragraph(canvas, 5, y)
        y = write(canvas, ["3.1 Rings"], 72, y, font=BOLD, size=12)
        paragraph(canvas, 6, y)

    assert outline(made(draw)) == [
        (1, "The manual"),
        (1, "1 Safety"),
        (2, "Of Safety"),
        (1, "2 Service"),
        (2, "Of Service"),
        (1, "3 Seals"),
        (2, "Of Seals"),
        (2, "3.1 Rings"),
    ]


@pytest.mark.parametrize("sign", [": ", ". ", " \u2014 "])
def test_a_named_title_is_apart_from_the_text_that_follows_it_in_its_row(
    sign: str,
) -> None:
    titles = [
        ("Safety", "Safety", 0),
        (f"1) Hot parts{sign}They are hot, and the text goes on here", "Hot parts", 1),
        ("Service", "Service", 0),
    ]
    text = pdf_document(made(book(titles))).text
    title = f"1) Hot parts{sign}".strip()
    assert outline(made(book(titles))) == [(1, "Safety"), (2, title), (1, "Service")]
    assert f"## {title}\n\nThey are hot, and the text" in text.replace("\\", "")


def test_a_named_title_may_go_on_behind_the_words_of_its_bookmark() -> None:
    titles = [
        ("1.1 Strings [1, page 7]", "1.1 Strings", 0),
        ("1.2 Files [1, page 9]", "1.2 Files", 0),
        ("1.3 Times", "1.3 Times", 0),
    ]
    found = outline(made(book(titles, font=BOLD)))
    assert found == [(1, shown) for shown, _, _ in titles]


def test_slanted_titles_and_small_capitals_are_headings() -> None:
    def capitals(canvas: Any, words: str, y: float) -> float:
        text = canvas.beginText(220, y)
        for number, word in enumerate(words.split()):
            is_number = number == 0
            text.setFont(TEXT, 10)
            text.textOut(f"{word} " if is_number else word[0])
            text.setFont(TEXT, 8)
            text.textOut("" if is_number else f"{word[1:]} ")
        canvas.drawText(text)
        return y - 14

    def draw(canvas: Any) -> None:
        y = capitals(canvas, "I. INTRODUCTION", 780)
        y = paragraph(canvas, 1, y)
        y = capitals(canvas, "II. RELATED WORK", y)
        y = write(canvas, ["A. Pumps of Today"], 72, y, font="Helvetica-Oblique")
        y = paragraph(canvas, 2, y)
        y = write(canvas, ["B. Seals"], 72, y, font="Helvetica-Oblique")
        y = paragraph(canvas, 3, y)
        y = write(
            canvas,
            ["a word that is slanted, for its weight."],
            72,
            y,
            font="Helvetica-Oblique",
        )
        paragraph(canvas, 4, y)

    assert outline(made(draw)) == [
        (1, "I. INTRODUCTION"),
        (1, "II. RELATED WORK"),
        (2, "A. Pumps of Today"),
        (2, "B. Seals"),
    ]


def test_rows_of_capitals_under_one_middle_are_one_title() -> None:
    """The second has no large ones. A short row to the left of the title is the text's."""
    titles = [
        ("I. SCOPES OF PUMPS AND", "SEALS"),
        ("II. TESTS", ""),
        ("III. VALVES", ""),
    ]

    def draw(canvas: Any) -> None:
        y = 780.0
        for seed, (first, second) in enumerate(titles):
            canvas.setFont(TEXT, 10)
            canvas.drawCentredString(285, y, first)
            canvas.setFont(TEXT, 8)
            canvas.drawCentredString(285, y - 12, second)
            y = write(canvas, ["//// tab"], 72, y - (28 if second else 15))
            y = paragraph(canvas, seed, y)

    assert outline(made(draw)) == [
        (1, "I. SCOPES OF PUMPS AND SEALS"),
        (1, "II. TESTS"),
        (1, "III. VALVES"),
    ]


@pytest.mark.parametrize("font", ["Helvetica-Bold", "Helvetica-Oblique"])
@pytest.mark.parametrize("numbers", ["1) ", "a) ", "2.1 "])
@pytest.mark.parametrize("hanging", [False, True])
def test_a_numbered_title_in_the_row_of_its_text_is_a_heading_but_an_item_is_none(
    font: str, numbers: str, hanging: bool
) -> None:
    title = f"{numbers}Hot Parts:"

    def draw(canvas: Any) -> None:
        y = write(canvas, ["The Manual"], 72, 780, size=16)
        y = paragraph(canvas, 1, y)
        canvas.setFont(font, 10)
        canvas.drawString(72, y, title)
        canvas.setFont(TEXT, 10)
        begin = 72 + canvas.stringWidth(title, font, 10)
        canvas.drawString(begin, y, " they get hot when the pump runs and are")
        left = 90 if hanging else 72
        write(canvas, wrapped(prose(5, 60), 10, 430), left, y - 12)

    found = outline(made(draw))
    assert found == [(1, "The Manual"), *([] if hanging else [(2, title)])]


def test_a_numbered_title_goes_on_in_an_indented_row() -> None:
    first, second = "2. What pumps of many kinds need", "on a lattice"
    bold = "Helvetica-Bold"

    def draw(canvas: Any) -> None:
        y = write(canvas, [first], 72, 780, font=bold)
        y = write(canvas, [second], 86, y, font=bold)
        paragraph(canvas, 1, y, width=160)

    assert outline(made(draw)) == [(1, f"{first} {second}")]


@pytest.mark.parametrize(
    "caption",
    ["Table 2: Pumps by size", "Figure 3.1 The pump", "Tab. IV. Pumps", "Abb. 7 Pumpe"],
)
def test_a_caption_in_bold_is_no_heading(caption: str) -> None:
    titles = [("Safety", "", 0), (caption, "", 0), ("Tables of pumps", "", 0)]
    found = outline(made(book(titles, font="Helvetica-Bold")))
    assert found == [(1, "Safety"), (1, "Tables of pumps")]


def test_text_millions_of_points_away_costs_no_memory() -> None:
    near = [
        Line(f"pump {i}", 10, False, 72, 300, 20.0 * i, 20.0 * i + 10) for i in range(9)
    ]
    far = Line(
        "far", 10, False, 2e12, 2e12 + 30, 50, 60
    )  # a point for each took all memory
    ordered, _ = reading_order([*near, far], [])
    assert {line.text for line in ordered} == {line.text for line in (*near, far)}


def test_numbered_steps_are_no_titles() -> None:
    def draw(canvas: Any) -> None:
        y = paragraph(canvas, 1, 780)
        for number, step in enumerate(
            ["Switch off the pump", "Open the lid", "Rinse it"], 1
        ):
            y = write(canvas, [f"{number}. {step}."], 72, y)
        paragraph(canvas, 2, y - 8)

    assert outline(made(draw)) == []
