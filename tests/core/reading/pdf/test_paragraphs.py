"""Rows joined to paragraphs and lists."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate
from typing import Any

import pytest
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

from structrag.reading.pdf.paragraphs import Spacing, paragraphs_of, spacing_of
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


@pytest.mark.parametrize(
    ("last", "first", "joined"),
    [
        (FULL, "goes on here.", True),
        (FULL[:-1] + ".", "A new one begins.", False),
        (FULL, "London is a name.", True),
        ("short row", "New thought", False),
    ],
)
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


def stack(*lefts: float, top: float = 100) -> list[Row]:
    """Rows one below the other that all end far to the right."""
    return [
        row("words", top + 12 * i, left, 400 - left) for i, left in enumerate(lefts)
    ]


def shape(rows: list[Row], spacing: Spacing = SPACING) -> str:
    """The first letter of each row; "|" before a paragraph, "/" before a line of its own."""
    shown = ""
    for paragraph in paragraphs_of(rows, spacing):
        for i, member in enumerate(paragraph.rows):
            shown += "|" if not i else "/" if i in paragraph.breaks else ""
            shown += member.text[0]
    return shown[1:]


@pytest.mark.parametrize(
    ("distances", "spacing"),
    [
        ([8], Spacing({10: 8}, 0.8)),
        ([7.9], Spacing({}, 1.2)),
        ([22], Spacing({10: 22}, 2.2)),
        ([22.1], Spacing({}, 1.2)),
        ([12, 12, 20], Spacing({10: 12}, 1.2)),
        ([-12], Spacing({}, 1.2)),
        ([0], Spacing({}, 1.2)),
    ],
)
def test_usual_distances_are_medians_of_those_near_the_size(
    distances: list[float], spacing: Spacing
) -> None:
    tops = accumulate(distances, initial=100.0)
    assert spacing_of([row("words", top) for top in tops]) == spacing


def test_usual_distances_are_within_a_page_and_a_size() -> None:
    assert spacing_of([row("a", 100), row("b", 112, page=2)]) == Spacing({}, 1.2)
    assert spacing_of([row("a", 100), row("b", 112, size=11)]) == Spacing({}, 1.2)
    assert spacing_of([row("a", 100), row("b", 112, size=10.8)]) == Spacing(
        {10: 12}, 1.2
    )
    # Sizes that are one differ by 8 % of the larger at most: 2 of 25 points.
    rows = [row("a", 100, size=25), row("b", 130, size=23)]
    assert spacing_of(rows) == Spacing({25: 30}, 1.2)


def test_type_of_a_point_and_less_has_its_usual_distance() -> None:
    point = [row("a", 100, size=1), row("b", 101.5, size=1)]
    assert spacing_of(point) == Spacing({1: 1.5}, 1.5)
    less = [row("a", 100, size=0.375), row("b", 100.5, size=0.375)]
    assert spacing_of(less) == Spacing({0: 0.5}, 0.5)


def test_the_body_is_the_size_with_most_rows_and_of_as_many_the_smaller() -> None:
    large = [row("a", 100 + 30 * i, size=20) for i in range(3)]
    small = [row("b", 300 + 12 * i) for i in range(3)]
    assert spacing_of(large + small).body == 1.2
    assert spacing_of(large + small[:2]).body == 1.5


def test_type_without_a_distance_has_the_body_s_and_large_type_hardly_more() -> None:
    assert Spacing({10: 12}, 1.2).of(20) == 24
    assert Spacing({20: 25}, 1.2).of(20) == 25
    assert Spacing({20: 40}, 1.2).of(20) == pytest.approx(26.4)


@pytest.mark.parametrize(
    ("distance", "shown"), [(12, "ab"), (16.2, "ab"), (16.3, "a|b")]
)
def test_more_than_a_third_above_the_usual_distance_parts_paragraphs(
    distance: float, shown: str
) -> None:
    assert shape([row("a" * 60, 100), row("b" * 60, 100 + distance)]) == shown


def test_the_larger_of_two_sizes_says_how_far_apart_rows_may_be() -> None:
    above, below = row("a" * 60, 100), row("b" * 60, 117, size=10.8)
    assert shape([above, below]) == "ab"
    assert shape([row("a" * 60, 100, size=10.8), row("b" * 60, 117)]) == "ab"


@pytest.mark.parametrize(
    ("room", "first", "shown"),
    [
        (35, "bird", "Wab"),
        (36, "bird", "Wa/b"),
        (165, "b" * 40, "Wab"),
        (166, "b" * 40, "Wa/b"),
    ],
)
def test_a_line_ends_on_purpose_where_the_next_word_would_fit(
    room: float, first: str, shown: str
) -> None:
    wide, below = (
        row(text, top, width=100 + room) for text, top in (("W", 88), (first, 112))
    )
    assert shape([wide, row("a" * 20, 100), below]) == shown


@pytest.mark.parametrize(
    ("wide", "shown"),
    [
        ({}, "a/b/w"),
        ({"size": 20.0}, "ab|w"),  # other type
        ({"page": 2}, "abw"),
        ({"left": 100.0}, "a/b|w"),  # 4 times the type's height further right
        ({"left": 100.1}, "abw"),
    ],
)
def test_rows_in_the_same_column_and_type_tell_how_far_a_line_could_reach(
    wide: dict[str, Any], shown: str
) -> None:
    last = replace(row("wide", 124, width=300), **wide)
    assert shape([row("aaa", 100), row("bbb", 112), last]) == shown


def test_a_row_at_the_same_height_does_not_tell_how_far_a_line_could_reach() -> None:
    def beside(top: float) -> Row:
        return row("b", top, 64, 300)

    assert shape([row("a", 100), beside(100)]) == "ab"
    assert shape([row("a", 100), beside(100.5)]) == "a/b"
    assert shape([row("a", 112), row("b", 100, width=300, page=2)]) == "ab"
    # The last row stands higher, in another column.
    assert shape([row("a", 200), row("b", 212), row("c", 100, width=300)]) == "abc"
    assert shape([row("a", 100), row("b", 112, width=300, page=2)]) == "ab"


@pytest.mark.parametrize(
    ("above", "shown"),
    [
        (row("aaa", 100), "a/w"),
        (row("aa.", 100), "a|w"),
        (row("aaa", 100, bold=True), "a|w"),
        (row("aa.", 100, bold=True), "a|w"),
    ],
)
def test_behind_a_short_line_a_full_stop_or_other_weight_parts_paragraphs(
    above: Row, shown: str
) -> None:
    assert shape([above, row("words", 112, width=300)]) == shown


def test_a_line_of_a_broken_word_does_not_end_on_purpose() -> None:
    wide = [row("wide", 100, width=300)]
    assert shape([*wide, row("a bro-", 112), row("ken word", 124)]) == "wak"
    assert shape([*wide, row("a bro-", 112), row("Ken is", 124)]) == "waK"


@pytest.mark.parametrize(
    ("between", "shown"), [(2, "ws/s/x"), (3, "ws/s/s/x"), (4, "ws/s/s/sx")]
)
def test_three_rows_above_tell_how_far_a_line_could_reach(
    between: int, shown: str
) -> None:
    rows = [row("wide wide wide", 100, width=90)]
    rows += [row("sss", 112 + 12 * i) for i in range(between)]
    rows.append(row("x", 112 + 12 * between))
    assert shape(rows) == shown


@pytest.mark.parametrize(
    ("short", "shown"), [(2, "a/b/w"), (3, "a/b/c/w"), (4, "ab/c/d/w")]
)
def test_three_rows_below_tell_how_far_a_line_could_reach(
    short: int, shown: str
) -> None:
    rows = [row(letter * 3, 100 + 12 * i) for i, letter in enumerate("abcd"[:short])]
    rows.append(row("wide wide wide", 100 + 12 * short, width=90))
    assert shape(rows) == shown


def after(*rows: Row) -> str:
    """Whether the last of the rows goes on with those before."""
    return "new" if "|" in shape(list(rows))[-2:] else "on"


@pytest.mark.parametrize(
    ("left", "verdict"), [(68, "on"), (68.1, "new"), (52, "on"), (51.9, "new")]
)
def test_a_row_further_in_or_out_begins_a_paragraph(left: float, verdict: str) -> None:
    assert after(*stack(60, 60, left)) == verdict


@pytest.mark.parametrize(
    ("left", "verdict"), [(68, "on"), (68.1, "new"), (10, "on"), (9.9, "new")]
)
def test_a_second_row_may_stand_further_left_than_an_indented_first(
    left: float, verdict: str
) -> None:
    assert after(*stack(60, left)) == verdict


@pytest.mark.parametrize(
    ("left", "verdict"), [(59, "on"), (58.9, "new"), (120, "on"), (120.1, "new")]
)
def test_a_second_row_of_an_item_may_hang(left: float, verdict: str) -> None:
    item = row("• item", 100, width=340)
    assert after(item, row("words", 112, left, 300)) == verdict


@pytest.mark.parametrize(
    ("above", "left", "shown"),
    [
        # Its line ended on purpose, so it is no indented first line.
        (row("aaaa", 100, 80), 60, "a|b"),
        (row("aaaa", 100, 80), 72, "a/b"),
        (row("• item", 100), 80, "•/b"),
        (row("• item", 100), 59, "•/b"),
    ],
)
def test_where_a_second_row_may_stand_behind_a_short_line(
    above: Row, left: float, shown: str
) -> None:
    assert shape([above, row("bb", 112, left, 300)]) == shown


def test_the_rows_of_the_last_page_tell_where_a_paragraph_stands() -> None:
    first = stack(60, 60)
    second = [replace(one, page=2) for one in stack(90, 90, 90)]
    second[2] = replace(second[2], right=380)
    assert len(paragraphs_of([*first, *second], SPACING)) == 1


@pytest.mark.parametrize(
    ("left", "width", "verdict"),
    [
        (120, 40, "on"),  # its left edge is the other's right one: the next column
        (119.9, 40, "new"),
        (0, 60, "on"),
        (0, 60.1, "new"),
    ],
)
def test_a_row_beside_the_one_above_stands_in_another_column(
    left: float, width: float, verdict: str
) -> None:
    above = row("words", 100, width=60)
    assert after(above, row("go on", 112, left, width)) == verdict


def test_the_last_dozen_rows_tell_where_a_paragraph_stands() -> None:
    assert after(*stack(60, 60, *[66] * 11, 74)) == "on"
    assert after(*stack(66, 66, 60, *[66] * 10, 74)) == "new"
    assert after(*stack(66, 60, *[66] * 9, 74)) == "new"


def test_rows_in_the_middle_of_those_above_stay_with_them() -> None:
    title = row("a" * 60, 100)
    assert shape([title, row("b" * 40, 112, left=110)]) == "ab"
    assert shape([title, row("b" * 40, 112, left=112)]) == "ab"
    assert shape([title, row("b" * 40, 112, left=112.1)]) == "a|b"
    assert shape([title, row("b" * 40, 112, left=107.9)]) == "a|b"


@pytest.mark.parametrize(
    ("size", "below", "shown"),
    [
        (7.5, 16, "abc"),
        (7.4, 16, "a|b|c"),
        (13.3, 16, "abc"),
        (13.4, 16, "ab|c"),
        (13.5, 16, "a|b|c"),
        (9.0, 16, "abc"),
        (9.0, 16.1, "a|b|c"),
        (9.0, 0.5, "abc"),
        (9.0, 0, "a|b|c"),  # beside it, not below
    ],
)
def test_a_row_of_other_type_lies_inside_a_paragraph(
    size: float, below: float, shown: str
) -> None:
    rows = [
        row("a" * 60, 100),
        row("b" * 60, 112, size=size),
        row("c" * 60, 112 + below),
    ]
    assert shape(rows) == shown


def test_type_that_a_paragraph_has_may_come_again() -> None:
    sizes = [10.0, 9.0, 10.0, 9.0]
    rows = [
        row("abcd"[i] * 60, 100 + 12 * i, size=size) for i, size in enumerate(sizes)
    ]
    assert shape(rows) == "abcd"
    assert shape(rows[:2]) == "a|b"
    assert shape([rows[0], replace(rows[1], bold=True), rows[2]]) == "a|b|c"
    assert shape([replace(rows[0], text="a" * 59 + "."), *rows[1:3]]) == "a|b|c"


@pytest.mark.parametrize(
    ("above", "below", "verdict"),
    [
        ({}, {"text": "goes on"}, "on"),
        ({}, {"text": "“goes on”"}, "on"),
        ({}, {"text": "London"}, "new"),
        ({"text": "It ends."}, {"text": "goes on"}, "new"),
        ({"text": "It ends.”"}, {"text": "goes on"}, "new"),
        ({"bold": True}, {"text": "goes on"}, "new"),
        ({"text": "Contents ........ 3"}, {"text": "goes on"}, "new"),
        ({}, {"text": "goes on", "size": 11.0}, "new"),
        ({"upright": False}, {"text": "goes on"}, "new"),
        ({}, {"text": "goes on", "upright": False}, "new"),
    ],
)
def test_what_goes_on_atop_a_page(
    above: dict[str, Any], below: dict[str, Any], verdict: str
) -> None:
    last = replace(row("words", 700, width=300), **above)
    assert after(last, replace(row("", 60, page=2, width=300), **below)) == verdict


@pytest.mark.parametrize(
    ("text", "verdict"),
    [("London", "on"), ("3 towns", "new"), ("• item", "new"), ("(a", "on")],
)
def test_capitals_go_on_atop_a_page_only_below_several_rows(
    text: str, verdict: str
) -> None:
    assert after(*stack(60, 60), row(text, 60, page=2)) == verdict


@pytest.mark.parametrize(
    ("left", "distance", "shown"),
    [
        (69, 12, "w|fs"),
        (68, 12, "wfs"),
        (69, 20, "w|f|s"),
        (69, 20.1, "wf|s"),
        (69, -5, "wfs"),
        (69, 0, "wfs"),
        (69, 0.5, "w|fs"),
    ],
)
def test_an_indented_row_atop_a_page_begins_a_paragraph(
    left: float, distance: float, shown: str
) -> None:
    first = row("first words", 60, left, 391 - left, page=2)
    assert (
        shape([*stack(60), first, row("second", 60 + distance, width=330, page=2)])
        == shown
    )


def marks(*rows: Row) -> list[str]:
    return [p.mark.shown for p in paragraphs_of(rows, SPACING) if p.mark]


@pytest.mark.parametrize(
    ("left", "page", "items"), [(66, 1, 2), (66.1, 1, 0), (96, 2, 2), (97, 2, 0)]
)
def test_items_of_a_list_stand_at_one_distance_from_the_edge(
    left: float, page: int, items: int
) -> None:
    assert len(marks(row("1. one", 100), row("2. two", 130, left, page=page))) == items


@pytest.mark.parametrize(("between", "items"), [(59, 2), (60, 0)])
def test_the_neighbour_of_an_item_stands_within_sixty_rows(
    between: int, items: int
) -> None:
    rows = [row("words", 130 + 30 * i) for i in range(between)]
    assert len(marks(row("1. one", 100), *rows, row("2. two", 9000))) == items


@pytest.mark.parametrize(
    ("labels", "items"),
    [
        (["xiv)", "xv)"], 2),
        (["1.", "3."], 0),
        (["2.", "1."], 0),
        (["(1)", "2."], 0),
        (["(a)", "(B)"], 0),
        (["a.", "c."], 0),
        (["–", "–"], 2),
        (["–", "—"], 0),
        (["–"], 0),
        (["•"], 1),
        (["1.", "2."], 2),
        (["2.", "3.", "9."], 2),
    ],
)
def test_numbers_and_dashes_are_marks_beside_their_neighbours(
    labels: list[str], items: int
) -> None:
    rows = [row(f"{label} item", 100 + 30 * i) for i, label in enumerate(labels)]
    assert len(marks(*rows)) == items


def test_a_number_amid_a_sentence_is_no_mark() -> None:
    full = "a" * 60
    assert marks(row(full, 100), row("1. one", 112), row("2. two", 130)) == ["2."]
    assert marks(row(full[:-1] + ":", 100), row("1. one", 112), row("2. two", 130)) == [
        "1.",
        "2.",
    ]
    assert marks(row(full, 100), row("– one", 112), row("– two", 130)) == ["–"]
    assert marks(
        row("• item", 100, width=300), row("– one", 112), row("– two", 124)
    ) == [
        "•",
        "–",
        "–",
    ]
