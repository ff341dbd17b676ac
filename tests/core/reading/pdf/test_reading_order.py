"""The order in which the lines of a page are read."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from growth import LINEAR, power
from pdf_making import made, prose, texts, wrapped, write

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Grid, Line
from structrag.reading.pdf.reader import read_pdf
from structrag.reading.pdf.reading_order import _Sides, reading_order

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


def test_two_columns_are_read_one_after_the_other_and_a_title_across_first() -> None:
    columns = [wrapped(prose(seed, 150), 10, 220) for seed in (1, 2)]

    def draw(canvas: Any) -> None:
        for i in range(max(map(len, columns))):  # row by row, as some programs do
            for column, x in zip(columns, (60, 310), strict=True):
                if i < len(column):
                    write(canvas, [column[i]], x, 700 - 12 * i)
        write(
            canvas,
            ["A title that stands across both of the columns"],
            60,
            760,
            20,
            "Helvetica-Bold",
        )

    (page,) = read_pdf(made(draw))
    assert texts(page) == [
        "A title that stands across both of the columns",
        *columns[0],
        *columns[1],
    ]


def test_text_between_two_columns_and_across_them_divides_the_page() -> None:
    parts = [wrapped(prose(seed, 60), 10, 220) for seed in range(4)]
    wide = wrapped(prose(9, 40), 10, 470)

    def draw(canvas: Any) -> None:
        for k, part in enumerate(parts):
            write(canvas, part, (60, 310)[k % 2], (780, 400)[k // 2])
        write(canvas, wide, 60, 500)

    (page,) = read_pdf(made(draw))
    assert texts(page) == [*parts[0], *parts[1], *wide, *parts[2], *parts[3]]


def justified(canvas: Any, lines: list[str], x: float, y: float, width: float) -> None:
    """Each line stretched to the width, by wider spaces between its words."""
    canvas.setFont("Helvetica", 10)
    for i, line in enumerate(lines):
        words = line.split()
        free = width - sum(canvas.stringWidth(word, "Helvetica", 10) for word in words)
        place = x
        for word in words:
            canvas.drawString(place, y - 12 * i, word)
            place += canvas.stringWidth(word, "Helvetica", 10) + free / max(1, len(words) - 1)


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


def test_a_word_that_runs_over_the_edge_of_its_column() -> None:
    columns = [wrapped(prose(seed, 100), 10, 220) for seed in (1, 2)]
    columns[0][5] = "x" * 60

    def draw(canvas: Any) -> None:
        for lines, x in zip(columns, (60, 310), strict=True):
            write(canvas, lines, x, 700)

    assert texts(read_pdf(made(draw))[0]) == [*columns[0], *columns[1]]


def test_rows_of_short_cells_are_no_columns() -> None:
    rows = [(f"part {i}", f"{i} mm", f"{i * 7} g") for i in range(12)]

    def draw(canvas: Any) -> None:
        for i, row in enumerate(rows):
            for x, cell in zip((72, 250, 400), row, strict=True):
                write(canvas, [cell], x, 700 - 15 * i)

    assert texts(read_pdf(made(draw))[0]) == [cell for row in rows for cell in row]


def test_a_grid_in_a_grid_adds_no_line() -> None:
    grid = Grid((0.0, 100.0, 200.0), (0.0, 100.0, 200.0))
    inner = Grid((10.0, 90.0, 190.0), (10.0, 90.0, 190.0))
    corners = [(x, y) for y in (20.0, 120.0) for x in (20.0, 120.0)]
    lines = [Line(f"{x} {y}", 10.0, False, x, x + 30, y, y + 10) for x, y in corners]
    assert reading_order(lines, [grid, inner]) == (lines, [grid, inner])


def scattered(count: int) -> list[Line]:
    random = Random(count)
    lines = []
    for i in range(count):
        x, y = random.uniform(0, 550), random.uniform(0, 830)
        lines.append(Line(f"w{i} and more", 5.0, False, x, x + 30, y, y + 5))
    return lines


def test_scattered_words_take_about_linear_time() -> None:
    for count in (2_000, 16_000):
        assert len(reading_order(scattered(count), [])[0]) == count
    assert power(lambda lines: reading_order(lines, []), scattered, 8_000) < LINEAR


def test_what_divides_columns_is_found_among_many_lines() -> None:
    """As if each line were compared with every other."""
    lines = [*scattered(400), Line("tall", 40.0, True, 100, 290, 300, 340)]
    for gutter in (150.0, 300.0, 420.0):
        sides = _Sides(lines, gutter)
        for line in lines:
            right = (line.left + line.right) / 2 >= gutter
            beside = any(
                min(other.bottom, line.bottom) - max(other.top, line.top) > 0.5 * other.size
                and (other.right <= gutter if right else other.left >= gutter)
                for other in lines
            )
            across = line.left < gutter < line.right
            assert sides.divided_by(line) == (across and not beside)
