"""PDF pages: lines with their places in reading order, and ruled tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pdf_making import HEIGHT, WIDTH, made, prose, texts, wrapped, write

from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.reader import read_pdf

pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
pytest.importorskip("reportlab")


# Lines


def test_a_line_has_its_place_size_and_weight() -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["Heading here"], 72, 742, 20, "Helvetica-Bold")
        write(canvas, ["plain text"], 72, 700, 10)

    (page,) = read_pdf(made(draw))
    assert (page.width, page.height) == pytest.approx((WIDTH, HEIGHT), abs=0.1)
    heading, plain = page.lines
    assert (heading.text, heading.size, heading.bold, heading.upright) == (
        "Heading here",
        20,
        True,
        True,
    )
    assert (plain.text, plain.size, plain.bold) == ("plain text", 10, False)
    assert heading.left == pytest.approx(72, abs=0.5)
    assert heading.bottom - 0.2 * 20 == pytest.approx(HEIGHT - 742, abs=0.5)
    assert heading.top < heading.bottom < plain.top


def test_the_size_counts_the_scale_at_which_text_is_drawn() -> None:
    def draw(canvas: Any) -> None:
        canvas.scale(2, 2)
        write(canvas, ["scaled"], 36, 300, 7)

    assert read_pdf(made(draw))[0].lines[0].size == pytest.approx(14)


def test_a_wide_gap_ends_a_line_and_pieces_drawn_apart_are_joined() -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        canvas.drawString(72, 700, "left")
        canvas.drawString(300, 700, "right")
        canvas.drawString(72, 600, "later")
        canvas.drawString(72 + canvas.stringWidth("first ", "Helvetica", 10), 650, "second")
        canvas.drawString(72, 650, "first")

    assert texts(read_pdf(made(draw))[0]) == ["left", "right", "first second", "later"]


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


def test_turned_pages_and_turned_text() -> None:
    lines = wrapped(prose(3, 40), 10, 300)

    def draw(canvas: Any) -> None:
        write(canvas, lines, 72, 700)
        canvas.saveState()
        canvas.rotate(90)
        write(canvas, ["label of an axis"], 100, -560)
        canvas.restoreState()
        canvas.showPage()
        canvas.rotate(90)
        write(canvas, lines, 100, -200)

    upright, turned = read_pdf(made(draw))
    assert texts(upright) == [*lines, "label of an axis"]
    assert [line.upright for line in upright.lines] == [True] * len(lines) + [False]
    assert texts(turned) == lines
    assert turned.width > turned.height
    assert all(line.upright and 0 < line.top < turned.height for line in turned.lines)


def test_a_page_with_its_origin_elsewhere() -> None:
    def draw(canvas: Any) -> None:
        canvas.setPageSize((300, 400))
        canvas._doc.Page = None
        write(canvas, ["inside"], 20, 380)

    (page,) = read_pdf(made(draw))
    assert (page.width, page.height) == pytest.approx((300, 400))
    assert page.lines[0].top == pytest.approx(400 - 380 - 8, abs=0.5)


@pytest.mark.parametrize(
    ("font", "text"),
    [("STSong-Light", "今天天气很好。我们去公园"), ("HeiseiMin-W3", "日本語のテキスト")],
)
def test_chinese_and_japanese(font: str, text: str) -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont(font))

    def draw(canvas: Any) -> None:
        write(canvas, [text, text], 72, 700, 12, font)

    pages = read_pdf(made(draw))
    assert texts(pages[0]) == [text, text]
    assert markdown_of_pages(pages).text == f"{text}{text}\n"


@pytest.mark.parametrize("step", [0.3, 9, 12, 20])
def test_a_row_that_repeats_the_one_above_is_no_shadow(step: float) -> None:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    latin, chinese = (
        "A long row of text that comes three times on this page",
        "北京市朝阳区科技有限公司第一分公司",
    )

    def draw(canvas: Any) -> None:
        for i in range(3):
            write(canvas, [latin], 72, 700 - step * i, 10)
            write(canvas, [chinese], 72, 400 - step * i, 10, "STSong-Light")

    copies = 1 if step < 1 else 3
    assert texts(read_pdf(made(draw))[0]) == [latin] * copies + [chinese] * copies


@pytest.fixture
def dejavu() -> str:
    matplotlib = pytest.importorskip("matplotlib")
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.ttfonts import TTFont

    pdfmetrics.registerFont(
        TTFont("DejaVu", Path(matplotlib.get_data_path()) / "fonts" / "ttf" / "DejaVuSans.ttf")
    )
    return "DejaVu"


@pytest.mark.parametrize(
    "text", ["Съешь ещё этих мягких булок", "Ξεσκεπάζω την ψυχοφθόρα", "ﬁne oﬀice"]
)
def test_other_alphabets_and_ligatures(dejavu: str, text: str) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, [text], 72, 700, 12, dejavu)

    expected = text.replace("ﬁ", "fi").replace("ﬀ", "ff")
    assert texts(read_pdf(made(draw))[0]) == [expected]


def test_hebrew_is_read_from_right_to_left(dejavu: str) -> None:
    def draw(canvas: Any) -> None:
        canvas.setFont(dejavu, 12)
        canvas.drawRightString(500, 700, "שלום עולם"[::-1])  # drawn as it looks
        canvas.drawRightString(300, 700, "שמאל"[::-1])
        canvas.drawRightString(500, 680, "שורה שנייה"[::-1])

    assert texts(read_pdf(made(draw))[0]) == ["שלום עולם", "שמאל", "שורה שנייה"]


# Ruled tables


def ruled(
    canvas: Any, cells: list[list[str]], style: list[Any], widths: list[float], y: float = 500
) -> None:
    from reportlab.platypus import Table

    table = Table(cells, colWidths=widths, style=style)
    table.wrapOn(canvas, 400, 400)
    table.drawOn(canvas, 72, y)


GRID = ("GRID", (0, 0), (-1, -1), 0.5, (0, 0, 0))


def test_a_ruled_table_with_cells_of_several_lines() -> None:
    cells = [
        ["Name", "Use", "Size"],
        ["Valve", "lets water\nthrough", "3"],
        ["Pump", "moves it", "12\nmm"],
    ]

    def draw(canvas: Any) -> None:
        ruled(canvas, cells, [GRID], [80, 90, 60])

    pages = read_pdf(made(draw))
    (grid,) = pages[0].grids
    assert (len(grid.columns), len(grid.rows)) == (4, 4)
    assert texts(pages[0]) == [
        "Name",
        "Use",
        "Size",
        "Valve",
        "lets water",
        "through",
        "3",
        "Pump",
        "moves it",
        "12",
        "mm",
    ]
    assert markdown_of_pages(pages).text.splitlines() == [
        "| Name | Use | Size |",
        "| --- | --- | --- |",
        "| Valve | lets water through | 3 |",
        "| Pump | moves it | 12 mm |",
    ]


def test_rules_part_cells_that_stand_close() -> None:
    style = [GRID, ("LEFTPADDING", (0, 0), (-1, -1), 1), ("RIGHTPADDING", (0, 0), (-1, -1), 1)]
    cells = [["1995", "1996", "1997"], ["2001", "2002", "2003"], ["3001", "3002", "3003"]]

    def draw(canvas: Any) -> None:
        ruled(canvas, cells, style, [25, 25, 25])

    assert texts(read_pdf(made(draw))[0]) == [cell for row in cells for cell in row]


def test_a_table_of_shaded_cells_open_at_its_sides() -> None:
    style = [
        ("INNERGRID", (0, 0), (-1, -1), 0.5, (0, 0, 0)),
        ("LINEABOVE", (0, 0), (-1, 0), 1, (0, 0, 0)),
        ("LINEBELOW", (0, -1), (-1, -1), 1, (0, 0, 0)),
    ]

    def draw(canvas: Any) -> None:
        ruled(canvas, [["a", "b"], ["c", "d"]], style, [80, 80])

    assert markdown_of_pages(read_pdf(made(draw))).text == "| a | b |\n| --- | --- |\n| c | d |\n"


def test_the_grid_of_a_chart_is_no_table() -> None:
    def draw(canvas: Any) -> None:
        canvas.grid([100, 150, 200, 250, 300], [400, 450, 500, 550, 600])
        write(canvas, ["peak"], 160, 470)
        write(canvas, ["Time in hours"], 160, 380)

    (page,) = read_pdf(made(draw))
    assert page.grids == ()
    assert texts(page) == ["peak", "Time in hours"]
