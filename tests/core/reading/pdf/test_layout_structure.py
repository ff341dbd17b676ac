"""Laid-out pages to Markdown: headings, lists, tables, running heads, and what the report says
about them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from structrag.reading.drafts import Draft
from structrag.reading.markdown import markdown_headings
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Grid, Line, Page
from structrag.reading.pdf.running_heads import find_running_heads

FULL = "these are words that fill the whole row of the page until it ends at"
HEAD, FOOT = 30.0, 780.0  # heights of running heads


def line(
    text: str, y: float, x: float = 60, size: float = 10, bold: bool = False, **more: Any
) -> Line:
    return Line(text, size, bold, x, x + 0.5 * size * len(text), y, y + size, **more)


def page(*lines: Line, **more: Any) -> Page:
    return Page(lines, 600, 800, **more)


def text_from(y: float, rows: int = 3) -> list[Line]:
    return [line(FULL, y + 12 * i) for i in range(rows)]


def draft(*pages: Page) -> Draft:
    return markdown_of_pages(pages)


def headings(*pages: Page) -> list[tuple[int, str]]:
    return [(heading.level, heading.title) for heading in markdown_headings(draft(*pages).text)]


# Headings


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
    assert headings(page(*lines)) == [(1, "The book"), (2, "Part"), (3, "Detail"), (2, "Next part")]


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
    assert headings(page(*lines)) == list(zip([1, 1, 2, 3, 1, 2, 1], titles, strict=True))


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
    assert [title for _, title in headings(page(*lines))] == ["Part", "Chapter", "Section"]


def test_a_number_apart_from_its_title_is_part_of_it() -> None:
    lines = [line("1.", 100, size=16), line("Results", 100, 100, size=16), *text_from(130)]
    assert headings(page(*lines)) == [(1, "1. Results")]


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
    assert [found for _, found in headings(page(*lines))] == ([title] if is_heading else [])


def test_bold_text_in_a_bold_document_and_bold_sentences_are_no_headings() -> None:
    bold = [
        replace(one, bold=True)
        for one in (*text_from(100), line("Short row", 160), *text_from(180))
    ]
    assert headings(page(*bold)) == []
    assert (
        headings(page(*text_from(100), line("This is a warning.", 160, bold=True), *text_from(180)))
        == []
    )


def test_long_text_in_large_type_is_reported() -> None:
    large = [line(FULL[:40], 100 + 20 * i, size=16) for i in range(5)]
    found = draft(page(*large, *(one for k in range(3) for one in text_from(250 + 60 * k, 4))))
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


def test_titles_keep_their_signs() -> None:
    titles = ["Vector<int> & *more*", "Fortran #", "a_b __init__ `x`", "[1] Notes", "# Hash"]
    lines = [
        part
        for i, title in enumerate(titles)
        for part in (line(title, 40 + 90 * i, size=16), *text_from(70 + 90 * i))
    ]
    assert [title for _, title in headings(page(*lines))] == titles


# Lists


def rows(texts: Sequence[tuple[str, float]], y: float = 200, step: float = 12) -> list[Line]:
    return [line(text, y + step * i, x) for i, (text, x) in enumerate(texts)]


@pytest.mark.parametrize("bullet", ["•", "–", "-", "\uf0b7", "▪"])
def test_bullets_with_hanging_rows_and_nested_ones(bullet: str) -> None:
    long = FULL[:60]
    lines = rows(
        [(f"{bullet} {long}", 60), ("goes on here", 70), ("• nested", 80), (f"{bullet} last", 60)]
    )
    assert draft(page(*lines)).text == f"- {long} goes on here\n  - nested\n- last\n"


@pytest.mark.parametrize(
    ("labels", "shown"),
    [
        (["1.", "2.", "3."], ["1.", "2.", "3."]),
        (["9)", "10)"], ["9)", "10)"]),
        (["1)", "2)"], ["1)", "2)"]),
        (["(a)", "(b)"], ["- (a)", "- (b)"]),
        (["i.", "ii.", "iii."], ["- i.", "- ii.", "- iii."]),
        (["h)", "i)", "j)"], ["- h)", "- i)", "- j)"]),
        (["iv)", "v)", "vi)"], ["- iv)", "- v)", "- vi)"]),
        (["A.", "B."], ["- A.", "- B."]),
    ],
)
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
            page(line(FULL, 100), line("3. In this row a number is only a number", 112))
        ).text.count("\n")
        == 1
    )


def test_a_list_goes_on_over_a_page() -> None:
    first = page(*rows([("• one", 60), ("– sub", 80)], 700))
    second = page(*rows([("– sub two", 110), ("• two", 90)], 100))
    assert draft(first, second).text == "- one\n  - sub\n  - sub two\n- two\n"


# Tables


def cells(
    table: Sequence[Sequence[str]],
    y: float = 200,
    xs: Sequence[float] = (60, 200, 340),
    step: float = 14,
) -> list[Line]:
    return [
        line(text, y + step * i, x)
        for i, row in enumerate(table)
        for text, x in zip(row, xs, strict=False)
        if text
    ]


TABLE = [
    ["Name", "Size", "Use"],
    ["Pump", "3 mm", "lifts"],
    ["Valve", "", "shuts"],
    ["Pipe", "2 | 3", "carries"],
]


def test_an_aligned_table() -> None:
    found = draft(page(*text_from(100), *cells(TABLE), *text_from(300)))
    assert found.text.split("\n\n")[1] == (
        "| Name | Size | Use |\n| --- | --- | --- |\n| Pump | 3 mm | lifts |\n| Valve |  | shuts "
        "|\n| Pipe | 2 \\| 3 | carries |"
    )
    assert not any("table" in note for note in found.uncertain)


def test_numbers_aligned_at_the_right() -> None:
    right = [
        replace(one, left=one.left - width, right=one.right - width) if k % 2 else one
        for k, one in enumerate(cells([["a", "1"], ["b", "1000"], ["c", "50"]]))
        for width in [one.right - one.left]
    ]
    assert "| b | 1000 |" in draft(page(*right)).text


def test_cells_of_two_rows_make_a_table_uncertain() -> None:
    wrapped = [*cells(TABLE[:2]), *cells([["Bend", "9 mm", "turns"]], 228), line("round", 240, 340)]
    found = draft(page(*wrapped))
    assert "|" not in found.text
    assert found.text.splitlines()[:3] == ["Name Size Use", "Pump 3 mm lifts", "Bend 9 mm turns"]
    assert [
        note for note in found.uncertain if note.startswith("3 rows of page 1 that may be a table")
    ]


def test_ragged_cells_are_no_table() -> None:
    ragged = [
        line(text, 100 + 14 * i, x)
        for i, row in enumerate([(60, 200), (75, 290), (60, 150)])
        for text, x in zip("ab", row, strict=True)
    ]
    found = draft(page(*ragged)).text
    assert "|" not in found and found.split() == ["a", "b"] * 3


def test_labels_beside_text_are_a_list() -> None:
    found = draft(page(*cells([["1.", "one"], ["2.", "two"], ["3.", "three"]], xs=(60, 90)))).text
    assert found == "1. one\n2. two\n3. three\n"


def test_a_ruled_table_with_empty_rows_and_columns() -> None:
    grid = Grid((50, 150, 250, 350), (190, 210, 230, 250))
    inside = [
        line("a", 195),
        line("b", 195, 260),
        line("c-", 235),
        line("d", 243),
        line("e", 235, 260),
    ]
    found = draft(page(*text_from(100), *inside, *text_from(300), grids=(grid,))).text
    assert found.split("\n\n")[1] == "| a | b |\n| --- | --- |\n| cd | e |"


# Running heads


def numbered(count: int, head: str = "Annual report", foot: str = "{}") -> list[Page]:
    return [
        page(
            line(head, HEAD),
            *(line(f"row {k} of {n} {FULL[:40]}", 200 + 12 * k) for k in range(4)),
            line(foot.format(n), FOOT),
        )
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize("foot", ["{}", "- {} -", "Page {} of 90", "p. {}", "Report 2020, page {}"])
def test_heads_and_page_numbers(foot: str) -> None:
    pages = numbered(5, foot=foot)
    found = draft(*pages)
    assert found.removed == tuple(
        text for n in range(1, 6) for text in ("Annual report", foot.format(n))
    )
    assert (
        all(f"row {k} of {n}" in found.text for k in range(4) for n in range(1, 6))
        and "Annual" not in found.text
    )
    assert any("'Annual report' was left out on 5 of 5" in note for note in found.uncertain)
    assert any(repr(foot.format(1)) in note for note in found.uncertain)


def test_roman_page_numbers_before_arabic_ones() -> None:
    pages = numbered(8)
    for i, number in enumerate(["i", "ii", "iii", "1", "2", "3", "4", "5"]):
        pages[i] = replace(pages[i], lines=(*pages[i].lines[:-1], line(number, FOOT)))
    assert draft(*pages).removed[1::2] == ("i", "ii", "iii", "1", "2", "3", "4", "5")


@pytest.mark.parametrize(
    ("on", "count"), [([0, 1, 2], 3), ([0, 1], 0), ([1, 3, 5], 3), ([0, 1, 2, 3, 4], 5)]
)
def test_sixty_percent_of_the_pages(on: list[int], count: int) -> None:
    """Of all pages, of one side, or of a chapter's; two of six are too few."""
    pages = [page(*([line("Head", HEAD)] if i in on else []), *text_from(200)) for i in range(6)]
    assert sum(map(len, find_running_heads(pages).removed)) == count


def test_what_is_no_head() -> None:
    same_words = [page(line("Repeated", 400), *text_from(200)) for _ in range(4)]
    elsewhere = [page(line("Moves", 30 + 12 * i), *text_from(200)) for i in range(4)]
    chapters = [page(line(f"Chapter {i}", HEAD), *text_from(200)) for i in range(4)]
    not_counting = [page(line(f"{i * i + 7} items", FOOT), *text_from(200)) for i in range(4)]
    everything = [page(line("Slide", HEAD)) for _ in range(4)]
    for pages in (same_words, elsewhere, chapters, not_counting, everything):
        assert draft(*pages).removed == ()


def test_the_header_row_of_a_ruled_table_is_no_head() -> None:
    grid = Grid((50, 150, 250), (20, 50, 80))
    lines = [line("Name", HEAD), line("Size", HEAD, 160), line("x", 60), line("y", 60, 160)]
    assert draft(*[page(*lines, *text_from(200), grids=(grid,)) for _ in range(4)]).removed == ()


def test_a_chapters_title_beside_the_page_number() -> None:
    pages = numbered(6)
    for i, title in enumerate(["Start", "Start", "Middle", "Middle", "End", "Once"]):
        pages[i] = replace(pages[i], lines=(*pages[i].lines[1:], line(title, FOOT, 300)))
    assert {"Start", "Middle"} <= set(draft(*pages).removed)
    assert not {"End", "Once"} & set(draft(*pages).removed)


def test_a_watermark_on_every_page_is_left_out_and_one_stays() -> None:
    mark = line("DRAFT", 400, 200, 60, upright=False)
    assert draft(*[page(*text_from(200), mark) for _ in range(3)]).removed == ("DRAFT",) * 3
    assert draft(page(*text_from(200), mark)).text.endswith("\n\nDRAFT\n")


# Notes and edges


def test_pictures_and_unknown_characters_are_reported() -> None:
    whole = ((0.0, 0.0, 600.0, 800.0),)
    pages = [
        page(images=whole),
        page(line("stamp", 100), images=whole),
        page(line("a \ufffd\ufffd", 100), *text_from(200)),
    ]
    notes = draft(*pages).uncertain
    assert [note.split(":")[0] for note in notes] == [
        "Page 1 only shows a picture",
        "Page 2 is mostly a picture, with 1 words of text",
        "On page 3 the file does not say which 2 characters it shows; they are U+FFFD here.",
    ]


def test_nothing_gives_nothing() -> None:
    assert draft() == draft(page()) == draft(page(line("  ", 100))) == Draft("")
