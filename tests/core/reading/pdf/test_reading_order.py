"""The order in which the lines of a page are read."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any

import pytest
from fixture_cases import examples
from growth import LINEAR, power
from pdf_making import made, prose, texts, wrapped

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.reader import read_pdf
from structrag.reading.pdf.reading_order import reading_order


def justified(canvas: Any, lines: list[str], x: float, y: float, width: float) -> None:
    """Each line stretched to the width, by wider spaces between its words."""
    canvas.setFont("Helvetica", 10)
    for i, line in enumerate(lines):
        words = line.split()
        free = width - sum(canvas.stringWidth(word, "Helvetica", 10) for word in words)
        place = x
        for word in words:
            canvas.drawString(place, y - 12 * i, word)
            place += canvas.stringWidth(word, "Helvetica", 10) + free / max(
                1, len(words) - 1
            )


def test_justified_columns_with_wide_spaces() -> None:
    columns = [wrapped(prose(seed, 150), 10, 170) for seed in (1, 2)]

    def draw(canvas: Any) -> None:
        for lines, x in zip(columns, (60, 250), strict=True):
            justified(canvas, lines, x, 700, 178)

    page = read_pdf(made(draw))
    assert any(
        len(one.text.split()) == 1 for one in page[0].lines
    )  # spaces wide enough to part lines
    assert " ".join(texts(page[0])) == f"{prose(1, 150)} {prose(2, 150)}"
    assert markdown_of_pages(page).text == f"{prose(1, 150)}\n\n{prose(2, 150)}\n"


def scattered(count: int) -> list[Line]:
    random = Random(count)
    lines = []
    for i in range(count):
        x, y = random.uniform(0, 550), random.uniform(0, 830)
        lines.append(Line(f"w{i} and more", 5.0, False, x, x + 30, y, y + 5))
    return lines


@pytest.mark.slow
@pytest.mark.long
def test_scattered_words_take_about_linear_time() -> None:
    for count in (2_000, 16_000):
        assert len(reading_order(scattered(count), [])[0]) == count
    assert power(lambda lines: reading_order(lines, []), scattered, 8_000) < LINEAR


def columns(
    *places: float, rows: int = 4, width: float = 80.0, word: str = "word"
) -> list[Line]:
    """Columns of a page, row by row: each line has four words and says where it stands."""
    return [
        Line(
            f"{word} of {number} {row}",
            10.0,
            False,
            x,
            x + width,
            12.0 * row,
            12.0 * row + 10,
        )
        for row in range(rows)
        for number, x in enumerate(places)
    ]


def by_column(lines: list[Line]) -> list[Line]:
    return sorted(lines, key=lambda line: (line.left, line.top))


def read(lines: list[Line]) -> list[Line]:
    return reading_order(lines, [])[0]


@examples
def test_up_to_five_columns_in_both_directions(places: tuple[float, ...]) -> None:
    lines = columns(*places)
    assert read(lines) == by_column(lines)
    lines = columns(*places, word="מילה")
    assert read(lines) == sorted(lines, key=lambda line: (-line.left, line.top))


@pytest.mark.parametrize("rule", [70.0, 110.0])
def test_a_table_across_columns_divides_the_page(rule: float) -> None:
    grid = Grid((0.0, rule, 180.0), (60.0, 90.0, 120.0))
    cells = [
        Line("cell", 10.0, False, x + 5, x + 40, y, y + 10)
        for y in (65.0, 100.0)
        for x in (0.0, rule)
    ]
    upper, lower = columns(0, 100), [_moved(line, 130) for line in columns(0, 100)]
    assert reading_order([*upper, *cells, *lower], [grid]) == (
        [*by_column(upper), *cells, *by_column(lower)],
        [grid],
    )


def _moved(line: Line, down: float) -> Line:
    return replace(line, top=line.top + down, bottom=line.bottom + down)


def column(text: str, left: float, first: int) -> list[Line]:
    words = text.split()
    return [
        Line(
            " ".join(words[i : i + 4]),
            10,
            False,
            left,
            left + 120,
            12.0 * i,
            12.0 * i + 10,
            drawn=first + i,
        )
        for i in range(0, len(words), 4)
    ]


@pytest.mark.parametrize("gap", [2, 4, 30])
def test_columns_that_places_do_not_tell_are_read_in_the_order_of_the_file(
    gap: int,
) -> None:
    left = column("The pump moves " + "water through its " * 9 + "pipes.", 50, 0)
    right = column("Here is how " + "seals are kept " * 9 + "dry.", 170 + gap, 100)
    mixed = sorted([*left, *right], key=lambda line: (line.top, line.left))
    ordered, _ = reading_order(mixed, [])
    assert [line.text for line in ordered] == [line.text for line in [*left, *right]]


def test_cells_that_a_file_draws_by_columns_are_read_by_rows() -> None:
    cells = [
        Line(
            f"{name} {row}",
            10,
            False,
            left,
            left + 40,
            14.0 * row,
            14.0 * row + 10,
            drawn=100 * number + row,
        )
        for number, (name, left) in enumerate(
            [("Seal", 50), ("Brass", 150), ("Price", 250)]
        )
        for row in range(9)
    ]
    ordered, _ = reading_order(cells, [])
    assert [line.text for line in ordered[:3]] == ["Seal 0", "Brass 0", "Price 0"]


Placed = tuple[str, float, float]  # text, left, top


def drawn(items: list[Placed], first: int = 0) -> list[Line]:
    return [
        Line(text, 9, False, x, x + 4.5 * len(text), y, y + 9, drawn=first + i)
        for i, (text, x, y) in enumerate(items)
    ]


CODE = ["fn main() {", "let a = 1;", "x: f32,", "}", "use gdb;", "a + b"] * 4
ITEMS = ["the model", "the class", "a base class", "an event", "the header"] * 4


@pytest.mark.parametrize(
    "right",
    [
        [(text, 300.0 + 9 * (i % 3), 62 + 10.6 * i) for i, text in enumerate(CODE)],
        [
            item
            for i, text in enumerate(ITEMS)
            for item in (("\u2022", 300.0, 58 + 11.7 * i), (text, 312.0, 58 + 11.7 * i))
        ],
    ],
)
def test_columns_of_short_lines_at_heights_of_their_own_are_read_one_by_one(
    right: list[Placed],
) -> None:
    """Code, and a list, beside another list."""
    left = drawn(
        [
            item
            for i, text in enumerate(ITEMS)
            for item in (("\u2022", 50.0, 52.0 + 11.7 * i), (text, 62.0, 52 + 11.7 * i))
        ]
    )
    both = [*left, *drawn(right, 100)]
    mixed = sorted(both, key=lambda line: (line.top, line.left))
    assert reading_order(mixed, [])[0] == both


def test_a_table_beside_text_is_read_where_the_file_draws_it() -> None:
    texts = [f"text of row {i} goes on" for i in range(12)]
    left = drawn([(text, 50, 50 + 12.0 * i) for i, text in enumerate(texts)], 1)
    cells = drawn(
        [
            (f"cell {row} {column}", 300.0 + 90 * column, 52.0 + 20 * row)
            for row in range(4)
            for column in range(2)
        ],
        100,
    )
    head, foot = drawn([("Manual", 50, 20)]), drawn([("7", 300, 800)], 201)
    below = drawn([(f"more of it {i}", 300, 160 + 12.0 * i) for i in range(3)], 150)
    grid = Grid((295, 385, 475), (48, 68, 88, 108, 128))
    mixed = sorted(
        [*left, *cells, *head, *foot, *below], key=lambda line: (line.top, line.left)
    )
    ordered = [line.text for line in reading_order(mixed, [grid])[0]]
    inner = [text for text in ordered if text not in ("Manual", "7")]
    assert inner == [line.text for line in [*left, *cells, *below]]


def test_columns_at_the_foot_of_text_in_one_column_are_found() -> None:
    """As those of an index: short letters and rows of dots, below lines over the whole width."""
    whole = [
        Line("words over the whole width of the page", 10, False, 50, 500, y, y + 10)
        for y in range(50, 190, 12)
    ]
    short = [
        Line(f"{i} Title", 14, False, 50, 120, 200 + 20.0 * i, 214 + 20.0 * i)
        for i in range(6)
    ]
    entries = [
        Line(text, 9, False, x + shift, x + shift + width, y, y + 9)
        for x, start in ((50.0, 0), (300.0, 5))
        for i in range(12)
        for y in [350.0 + 11 * i + start]
        for text, shift, width in [
            ("A", 90.0, 7.0) if i % 4 == 0 else (f"entry {i} . . . . . . 7", 0.0, 190.0)
        ]
    ]
    mixed = sorted([*whole, *short, *entries], key=lambda line: (line.top, line.left))
    assert reading_order(mixed, [])[0] == [*whole, *short, *entries]


@examples
def test_a_line_that_ends_behind_the_middle_of_the_gutter_divides_the_page(
    right: float, is_across: bool
) -> None:
    """Text ends before 81, and begins again at 86: the middle is 83.5 from the left edge."""
    lines = columns(50, 136, rows=20)
    del lines[21]  # nothing stands beside the line that is made longer
    lines[20] = replace(lines[20], right=50 + right)
    above, line, below = lines[:20], lines[20], lines[21:]
    divided = [*by_column(above), line, *by_column(below)]
    assert read(lines) == (divided if is_across else by_column(lines))
