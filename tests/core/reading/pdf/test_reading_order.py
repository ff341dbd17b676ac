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

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


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


def test_columns_on_the_left_of_the_widest_gap_are_parted_too() -> None:
    lines = columns(0, 88, 178, 270, 364)  # each gap is wider than the one before
    assert read(lines) == by_column(lines)


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
