"""Running heads, page numbers and watermarks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import pytest
from growth import LINEAR, power
from page_making import FULL, draft, line, page, text_from

from structrag.reading.pdf.pages import Grid, Page
from structrag.reading.pdf.running_heads import (
    HeadKey,
    _is_beside,
    _is_enough,
    _is_enough_of_a_part,
    _least_pages,
    _third_row,
    find_running_heads,
    head_keys,
    is_page_number,
)

HEAD, FOOT = 30.0, 780.0  # heights of running heads


def numbered(count: int, head: str = "Annual report", foot: str = "{}") -> list[Page]:
    return [
        page(
            line(head, HEAD),
            *(line(f"row {k} of {n} {FULL[:40]}", 200 + 12 * k) for k in range(4)),
            line(foot.format(n), FOOT),
        )
        for n in range(1, count + 1)
    ]


@pytest.mark.parametrize(
    "foot", ["{}", "- {} -", "Page {} of 90", "p. {}", "Report 2020, page {}"]
)
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
    assert any(
        "'Annual report' was left out on 5 of 5" in note for note in found.uncertain
    )
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
    pages = [
        page(*([line("Head", HEAD)] if i in on else []), *text_from(200))
        for i in range(6)
    ]
    assert sum(map(len, find_running_heads(pages).removed)) == count


def test_what_is_no_head() -> None:
    same_words = [page(line("Repeated", 400), *text_from(200)) for _ in range(4)]
    elsewhere = [page(line("Moves", 30 + 12 * i), *text_from(200)) for i in range(4)]
    chapters = [page(line(f"Chapter {i}", HEAD), *text_from(200)) for i in range(4)]
    not_counting = [
        page(line(f"{i * i + 7} items", FOOT), *text_from(200)) for i in range(4)
    ]
    everything = [page(line("Slide", HEAD)) for _ in range(4)]
    for pages in (same_words, elsewhere, chapters, not_counting, everything):
        assert draft(*pages).removed == ()


def test_the_header_row_of_a_ruled_table_is_no_head() -> None:
    grid = Grid((50, 150, 250), (20, 50, 80))
    lines = [
        line("Name", HEAD),
        line("Size", HEAD, 160),
        line("x", 60),
        line("y", 60, 160),
    ]
    assert (
        draft(*[page(*lines, *text_from(200), grids=(grid,)) for _ in range(4)]).removed
        == ()
    )


def test_a_chapters_title_beside_the_page_number() -> None:
    pages = numbered(6)
    for i, title in enumerate(["Start", "Start", "Middle", "Middle", "End", "Once"]):
        pages[i] = replace(
            pages[i], lines=(*pages[i].lines[1:], line(title, FOOT, 300))
        )
    assert {"Start", "Middle"} <= set(draft(*pages).removed)
    assert not {"End", "Once"} & set(draft(*pages).removed)


def test_a_watermark_on_every_page_is_left_out_and_one_stays() -> None:
    mark = line("DRAFT", 400, 200, 60, upright=False)
    assert (
        draft(*[page(*text_from(200), mark) for _ in range(3)]).removed
        == ("DRAFT",) * 3
    )
    assert draft(page(*text_from(200), mark)).text.endswith("\n\nDRAFT\n")


@pytest.mark.parametrize(
    ("on", "count"),
    [
        ([0, 6, 12], 0),
        ([0, 3, 6], 0),
        ([0, 2, 6], 3),
        ([0, 1, 4], 3),
        ([1, 5, 9], 3),
        ([1, 7], 0),
    ],
)
def test_a_chapters_head_stands_on_sixty_percent_of_its_pages(
    on: list[int], count: int
) -> None:
    """Of those from its first to its last: of one side where it stands on one side only."""
    pages = [
        page(*([line("Head", HEAD)] if i in on else []), *text_from(200))
        for i in range(14)
    ]
    assert sum(map(len, find_running_heads(pages).removed)) == count


def test_a_dotless_i_in_the_margin_is_counted_as_a_letter_of_roman_numbers() -> None:
    pages = [page(line("\u0131", FOOT), line(FULL, 200)), page(line(FULL, 200))]
    assert find_running_heads(pages).removed == (frozenset(), frozenset())


def test_a_page_of_very_many_rows_takes_about_linear_time() -> None:
    def pages(count: int) -> list[Page]:
        lines = [
            replace(line(f"w{i}", 100 * i / count), left=i % 500) for i in range(count)
        ]
        return [page(*lines), page(*lines)]

    assert power(find_running_heads, pages, 8_000) < LINEAR


@pytest.mark.parametrize(
    ("text", "page_number", "keys"),
    [
        ("  Annual  Report ", 0, [("annual report", None)]),
        ("Chapter 3", 5, [("chapter 3", None)]),
        (
            "Page 7 of 90",
            2,
            [("page 7 of 90", None), ("page \0 of 90", 5), ("page 7 of \0", 88)],
        ),
        ("7", 7, [("7", None), ("\0", 0)]),
        ("iv", 1, [("iv", None), ("\0", 3)]),
        (" ", 0, []),
    ],
)
def test_keys_of_a_line(text: str, page_number: int, keys: list[HeadKey]) -> None:
    assert list(head_keys(text, page_number)) == keys


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (("page \0 of 90", 5), True),
        (("- \0 -", 0), True),
        (("\0", None), False),
        (("report \0", 5), False),
    ],
)
def test_page_numbers_have_no_other_words(key: HeadKey, expected: bool) -> None:
    assert is_page_number(key) is expected


def test_the_third_row() -> None:
    assert _third_row([8, 9, 30, 50, 70]) == 50  # the first two stand in one row
    assert _third_row([8, 30]) == inf
    assert _third_row([6.1, 8, 30, 50]) == 50
    assert _third_row([5.9, 8, 30, 50]) == 30


@pytest.mark.parametrize(
    ("bottoms", "expected"),
    [
        ([], False),
        ([42], True),
        ([42.1], False),
        ([38], True),
        ([37.9], False),
        ([9, 41], True),
    ],
)
def test_a_text_stands_beside_a_number_within_two_points(
    bottoms: list[float], expected: bool
) -> None:
    assert _is_beside(line("Pumps", 30), bottoms) is expected


@pytest.mark.parametrize(
    ("on_pages", "filled", "expected"),
    [
        ({0, 1, 2}, range(5), True),  # 60 % of all
        ({0, 1}, range(4), False),
        ({0, 2, 4}, range(6), True),  # all left pages
        ({0, 2}, range(4), False),  # too few of them
        ({0, 2, 6}, range(10), True),  # 60 % of five
        ({0, 4, 8}, range(12), False),  # half of six
        ({0, 1, 2}, range(6), False),
        ({0, 2, 4}, [0, 1, 2, 3, 4, 5, 6, 8, 10], False),  # half of six left ones
        ({1, 3, 5}, [0, 1, 2, 3, 4, 5, 6, 8, 10], True),  # all three right ones
    ],
)
def test_what_is_on_enough_pages(
    on_pages: set[int], filled: Sequence[int], expected: bool
) -> None:
    assert _is_enough(on_pages, list(filled), same_text=False) is expected


@pytest.mark.parametrize(
    ("on_pages", "expected"),
    [
        ({10, 11, 12}, True),
        ({10, 11}, False),  # too few
        ({10, 12, 14}, True),  # the left pages of a part
        ({10, 11, 14}, True),  # 60 % of five
        ({10, 11, 15}, False),
        ({10, 14, 20}, False),  # half of the six left ones
        ({11, 15, 21}, False),  # half of the six right ones
        ({11, 13, 17}, True),  # three of four
    ],
)
def test_what_is_on_enough_pages_of_a_part(on_pages: set[int], expected: bool) -> None:
    assert _is_enough_of_a_part(on_pages, list(range(40))) is expected


def test_only_the_outermost_three_rows_are_heads() -> None:
    def pages(above: int) -> list[Page]:
        return [
            page(
                *(
                    line(f"line {k} of {n} {FULL[:20]}", 20 + 14 * k)
                    for k in range(above)
                ),
                line("Annual report", 20 + 14 * above),
                line(f"row of {n} {FULL[:40]}", 400),
            )
            for n in range(5)
        ]

    for above, expected in ((0, True), (1, True), (2, True), (3, False)):
        heads = find_running_heads(pages(above))
        assert [above in removed for removed in heads.removed] == [expected] * 5


@pytest.mark.parametrize(
    ("key", "pages"),
    [
        (("annual report", None), 2),
        (("#", 0), 2),
        (("chapter #", 0), 3),
        (("pumps", 0), 3),
    ],
)
def test_how_often_a_head_must_stand(key: HeadKey, pages: int) -> None:
    assert is_page_number(key) is (key == ("#", 0))
    assert _least_pages(key) == pages


@pytest.mark.parametrize(
    ("foot", "note"),
    [
        ("- {} -", "Page numbers such as '- 1 -' were left out on 4 of 4 pages."),
        (
            "Page {} of 90",
            "Running heads with the page's number such as 'Page 1 of 90' were left out on "
            "4 of 4 pages.",
        ),
        ("The end", "The running head 'The end' was left out on 4 of 4 pages."),
    ],
)
def test_notes_say_what_was_left_out(foot: str, note: str) -> None:
    notes = find_running_heads(numbered(4, foot=foot)).notes
    assert notes == (
        "The running head 'Annual report' was left out on 4 of 4 pages.",
        note,
    )


@pytest.mark.parametrize(("y", "on_pages"), [(34, 5), (34.1, 4), (26, 5), (25.9, 4)])
def test_a_head_may_stand_four_points_higher_or_lower(y: float, on_pages: int) -> None:
    heights = [HEAD, HEAD, y, HEAD, HEAD]
    pages = [page(line("Report", height), *text_from(200)) for height in heights]
    assert sum(map(len, find_running_heads(pages).removed)) == on_pages


@pytest.mark.parametrize(
    ("top", "is_head"),
    # A line's middle is five points below its top; the page is 800 high.
    [(115, True), (115.1, False), (675, True), (674.9, False)],
)
def test_the_margins_are_15_percent_of_the_height(top: float, is_head: bool) -> None:
    pages = [
        page(line("Report", top), line(f"words {n * n} of a page", 400))
        for n in range(4)
    ]
    assert any(find_running_heads(pages).removed) is is_head


@pytest.mark.parametrize(
    ("others", "top", "is_head"),
    [
        ((15, 35, 55), 59, True),  # four points below the third row
        ((15, 35, 55), 59.1, False),
        ((775, 755, 735), 731, True),
        ((775, 755, 735), 730.9, False),
    ],
)
def test_a_head_stands_on_the_third_row_by_four_points(
    others: tuple[float, ...], top: float, is_head: bool
) -> None:
    pages = [
        page(
            *(line(f"word {n * n} at {y}", y) for y in others),
            line("Report", top, 300),
        )
        for n in range(5)
    ]
    assert any(3 in numbers for numbers in find_running_heads(pages).removed) is is_head
