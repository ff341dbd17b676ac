"""The order in which the lines of a page are read."""

from __future__ import annotations

from dataclasses import replace
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
                min(other.bottom, line.bottom) - max(other.top, line.top)
                > 0.5 * other.size
                and (other.right <= gutter if right else other.left >= gutter)
                for other in lines
            )
            across = line.left < gutter < line.right
            assert sides.divided_by(line) == (across and not beside)


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


@pytest.mark.parametrize("places", [(0, 100), (0, 100, 200), (0, 100, 200, 300, 400)])
def test_up_to_five_columns_in_both_directions(places: tuple[float, ...]) -> None:
    lines = columns(*places)
    assert read(lines) == by_column(lines)
    lines = columns(*places, word="מילה")
    assert read(lines) == sorted(lines, key=lambda line: (-line.left, line.top))


def test_columns_have_four_rows_or_more() -> None:
    for rows, is_columns in ((3, False), (4, True)):
        lines = columns(0, 100, rows=rows)
        assert (read(lines) == by_column(lines)) == is_columns, rows
        assert is_columns or read(lines) == lines


def test_a_gutter_is_six_points_wide_at_least() -> None:
    for gap, is_columns in ((4, False), (5.9, False), (6, True), (8, True)):
        lines = columns(50, 130 + gap)
        assert (read(lines) == by_column(lines)) == is_columns, gap


def test_a_column_is_mostly_filled_and_its_lines_have_three_words() -> None:
    lines = columns(0, 100)
    short = [replace(line, text="two words") for line in lines]
    assert read(short) == short
    three = [replace(line, text="three words there") for line in lines]
    assert read(three) == by_column(three)
    five = [replace(line, text="今天天气很") for line in lines]
    assert read(five) == five
    six = [replace(line, text="今天天气很好") for line in lines]  # as three words
    assert read(six) == by_column(six)
    # One line is as wide as the column, the others half as wide.
    ragged = [
        replace(line, right=line.left + (80 if line.top == 0 else 40)) for line in lines
    ]
    assert read(ragged) == ragged


def test_a_gutter_is_no_nearer_to_an_edge_than_15_percent_of_the_width() -> None:
    margin = columns(0, width=20)  # such as the numbers of lines, but with words
    lines = [*margin, *columns(30, width=270)]
    lines.sort(key=lambda line: (line.top, line.left))
    assert read(lines) == lines
    wider = [replace(line, right=70.0) if line.left == 0 else line for line in lines]
    apart = [replace(line, left=80.0) if line.left else line for line in wider]
    assert read(apart) == by_column(apart)


def test_lines_across_divide_the_page_unless_they_are_many() -> None:
    upper, lower = columns(0, 100), [_moved(line, 100) for line in columns(0, 100)]
    across = Line("a line across both of them", 10.0, False, 0, 180, 80, 90)
    page = [*upper, across, *lower]
    assert read(page) == [*by_column(upper), across, *by_column(lower)]
    many = [_moved(across, 200 + 12 * i) for i in range(12)]
    assert read([*upper, *many]) == [*upper, *many]
    upper = columns(0, 100, rows=13)
    for count, is_columns in ((14, True), (15, False)):  # of 40 lines, and of 41
        many = [_moved(across, 200 + 12 * i) for i in range(count)]
        expected = by_column(upper) if is_columns else upper
        assert read([*upper, *many]) == [*expected, *many], count


def test_a_line_over_the_edge_of_its_column_stays_in_it() -> None:
    lines = columns(0, 100, rows=20)
    for number, edges in (
        (10, (0.0, 120.0)),
        (11, (60.0, 180.0)),
        (11, (1.0, 180.0)),  # its middle is that of the gutter
    ):
        over = [*lines]
        over[number] = replace(lines[number], left=edges[0], right=edges[1])
        left = [line for line in over if line.left == 0]
        right = [line for line in over if line.left != 0]
        assert read(over) == [*left, *right]


@pytest.mark.parametrize(("right", "is_across"), [(83.4, False), (83.6, True)])
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


def test_lines_on_one_row_stand_a_third_of_their_size_apart_at_most() -> None:
    first = Line("first", 10.0, False, 100, 140, 0, 10)
    for lower, is_level in ((3.0, True), (3.5, True), (3.6, False), (4.0, False)):
        second = Line("second", 10.0, False, 0, 40, lower, 10 + lower)
        assert read([first, second]) == (
            [second, first] if is_level else [first, second]
        )
    tiny = Line("tiny", 0.5, False, 100, 140, 0, 1)  # as type of one point
    for lower, is_level in ((0.34, True), (0.36, False)):
        below = Line("below", 0.5, False, 0, 40, lower, 1 + lower)
        assert read([tiny, below]) == ([below, tiny] if is_level else [tiny, below])
    small = Line("small", 4.0, False, 0, 40, 5, 9)  # its middle is two points lower
    assert read([first, small]) == [first, small]


def test_turned_lines_come_last() -> None:
    turned = Line("turned", 10.0, False, 0, 10, 0, 80, upright=False)
    below = Line("below", 10.0, False, 0, 40, 100, 110)
    assert read([turned, below]) == [below, turned]


def test_a_table_is_read_cell_by_cell_in_its_place() -> None:
    grid = Grid((0.0, 100.0, 200.0), (0.0, 30.0, 60.0))
    # Two lines in each cell: a row of lines goes through both cells of a row.
    lines = [
        Line(f"{x} {y}", 10.0, False, x + 5, x + 60, y, y + 10)
        for y in (2.0, 16.0, 32.0, 46.0)
        for x in (0.0, 100.0)
    ]
    above = Line("above", 10.0, False, 0, 40, -20, -10)
    below = Line("below", 10.0, False, 0, 40, 70, 80)
    upper, lower = lines[:4], lines[4:]
    cells = [*upper[::2], *upper[1::2], *lower[::2], *lower[1::2]]
    assert reading_order([below, *lines, above], [grid]) == (
        [above, *cells, below],
        [grid],
    )


@pytest.mark.parametrize(
    ("left", "middle", "is_before"),
    [(150, 29, True), (150, 31, False), (-60, 30, True), (150, 30, False)],
)
def test_a_table_stands_among_the_rows_by_its_middle(
    left: float, middle: float, is_before: bool
) -> None:
    grid = Grid((0.0, 50.0, 100.0), (0.0, 30.0, 60.0))
    cells = [
        Line("cell", 10.0, False, x + 5, x + 40, y, y + 10)
        for y in (5.0, 40.0)
        for x in (0.0, 50.0)
    ]
    beside = Line("beside", 10.0, False, left, left + 40, middle - 5, middle + 5)
    expected = [beside, *cells] if is_before else [*cells, beside]
    assert reading_order([*cells, beside], [grid])[0] == expected


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


@pytest.mark.parametrize(
    ("filled", "is_table"),
    [
        ([(0, 0), (1, 1)], True),
        ([(0, 0), (0, 1)], False),  # one row
        ([(0, 0), (1, 0)], False),  # one column
    ],
)
def test_a_table_has_text_in_two_rows_and_two_columns(
    filled: list[tuple[int, int]], is_table: bool
) -> None:
    grid = Grid((0.0, 50.0, 100.0), (0.0, 30.0, 60.0))
    cells = [
        Line(
            "cell",
            10.0,
            False,
            50.0 * column + 5,
            50.0 * column + 40,
            30.0 * row + 5,
            30.0 * row + 15,
        )
        for row, column in filled
    ]
    assert reading_order(cells, [grid])[1] == ([grid] if is_table else [])


def test_a_grid_with_text_in_fewer_than_half_of_its_cells_is_no_table() -> None:
    grid = Grid((0.0, 50.0, 100.0, 150.0, 200.0), (0.0, 30.0, 60.0))
    places = [(0.0, 2.0), (50.0, 32.0), (100.0, 2.0), (150.0, 32.0)]
    cells = [Line("cell", 10.0, False, x + 5, x + 40, y, y + 10) for x, y in places]
    assert reading_order(cells, [grid])[1] == [grid]
    assert reading_order(cells[:3], [grid])[1] == []
    row = [line for line in cells if line.top == 2.0]
    assert reading_order([*row, *(_moved(line, 10) for line in row)], [grid])[1] == []


def _moved(line: Line, down: float) -> Line:
    return replace(line, top=line.top + down, bottom=line.bottom + down)


def test_columns_on_the_left_of_the_widest_gap_are_parted_too() -> None:
    lines = columns(0, 88, 178, 270, 364)  # each gap is wider than the one before
    assert read(lines) == by_column(lines)


def test_lines_across_leave_four_rows_or_more_on_average() -> None:
    across = Line("a line across both of them", 10.0, False, 0, 180, 80, 90)
    for rows, is_columns in ((2, False), (3, True)):
        upper, lower = columns(0, 100, rows=5), columns(0, 100, rows=rows)
        lower = [_moved(line, 100) for line in lower]
        in_columns = [*by_column(upper), across, *by_column(lower)]
        expected = in_columns if is_columns else [*upper, across, *lower]
        assert read([*upper, across, *lower]) == expected, rows


def test_columns_are_parted_four_times_one_within_the_other() -> None:
    """The widest gap comes first, so the last two of six columns stay together."""
    widening, narrowing = (0, 88, 178, 270, 364, 460), (0, 96, 190, 282, 372, 460)
    lines = columns(*widening)
    together = [line for line in lines if line.left < 178]
    apart = [line for line in lines if line.left >= 178]
    assert read(lines) == [*together, *by_column(apart)]
    lines = columns(*narrowing)
    apart = [line for line in lines if line.left < 372]
    together = [line for line in lines if line.left >= 372]
    assert read(lines) == [*by_column(apart), *together]
