"""What is no text of a page: raised digits apart, watermarks, line numbers, titles like heads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fixture_cases import examples
from growth import LINEAR, power
from pdf_making import made, prose, wrapped, write

from structrag import parse
from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Line, Page
from structrag.reading.pdf.reader import read_pdf
from structrag.reading.pdf.running_heads import find_page_marks


def titles(data: bytes) -> list[str]:
    return [section.title for section in parse(pdf_document(data)).sections[1:]]


def raised(canvas: Any, parts: list[tuple[str, float]], y: float = 700) -> None:
    """Pieces in one row; each with how far it stands above the row, in smaller type then."""
    text = canvas.beginText(72, y)
    for words, rise in parts:
        text.setFont("Helvetica", 7 if rise else 11)
        text.setRise(rise)
        text.textOut(words)
    canvas.drawText(text)


@examples
def test_raised_digits_are_no_part_of_a_number(
    parts: list[tuple[str, float]], expected: str
) -> None:
    assert expected in pdf_document(made(lambda canvas: raised(canvas, parts))).text


def page_of_text(
    canvas: Any, seed: int, number_lines: Callable[[int, float], None] | None = None
) -> None:
    y = 780.0
    row = 0
    for part in range(3):
        canvas.setFont("Helvetica-Bold", 14)
        canvas.drawString(100, y, f"Part {seed}{part}")
        for line in ["", *wrapped(prose(seed + part, 90), 10, 400)]:
            if line:
                canvas.setFont("Helvetica", 10)
                canvas.drawString(100, y, line)
            if number_lines:
                row += 1
                number_lines(row, y)
            y -= 16 if line else 18
        y -= 14


@pytest.mark.parametrize("pages", [1, 2, 3])
@pytest.mark.parametrize("size", [24, 40])
@examples
def test_a_watermark_is_left_out_and_counted(
    pages: int, size: int, y: float, grey: float
) -> None:
    def draw(canvas: Any) -> None:
        for seed in range(pages):
            canvas.setFillGray(grey)
            canvas.setFont("Helvetica-Bold", size)
            canvas.drawCentredString(297, y, "CONFIDENTIAL")
            canvas.setFillGray(0)
            page_of_text(canvas, seed)
            canvas.showPage()

    draft = markdown_of_pages(read_pdf(made(draw)))
    assert "CONFIDENTIAL" not in draft.text
    assert draft.removed == ("CONFIDENTIAL",) * pages
    assert f"left out on {pages} of {pages} pages" in " ".join(draft.uncertain)


def test_a_light_word_at_the_edge_of_one_page_is_a_watermark_where_it_says_so() -> None:
    def draw(canvas: Any) -> None:
        for y, words in ((790, "DRAFT"), (60, "Garden news")):
            canvas.setFillGray(0.8)
            canvas.setFont("Helvetica-Bold", 28)
            canvas.drawString(300, y, words)
        canvas.setFillGray(0)
        page_of_text(canvas, 1)

    assert markdown_of_pages(read_pdf(made(draw))).removed == ("DRAFT",)


def test_a_title_in_grey_is_no_watermark() -> None:
    def draw(canvas: Any) -> None:
        canvas.setFillGray(0.6)
        canvas.setFont("Helvetica-Bold", 24)
        canvas.drawString(72, 800, "Pump manual")
        canvas.setFillGray(0)
        page_of_text(canvas, 1)

    assert titles(made(draw))[0] == "Pump manual"


@pytest.mark.parametrize("step", [1, 5])
@examples
def test_the_numbers_of_lines_are_left_out(step: int, left: bool, size: int) -> None:
    def draw(canvas: Any) -> None:
        def number(row: int, y: float) -> None:
            if row % step == 0:
                canvas.setFont("Helvetica", size)
                canvas.drawRightString(80 if left else 530, y, str(row))

        page_of_text(canvas, 1, number)

    plain = pdf_document(made(lambda canvas: page_of_text(canvas, 1)))
    numbered = markdown_of_pages(read_pdf(made(draw)))
    assert numbered.text == plain.text
    assert len(numbered.removed) >= 5 and all(map(str.isdecimal, numbered.removed))


def test_the_numbers_of_lines_beside_two_columns_are_left_out() -> None:
    columns = [wrapped(prose(seed, 150), 10, 200)[:30] for seed in (1, 2)]

    def draw(canvas: Any) -> None:
        canvas.setFont("Helvetica", 10)
        for row, cells in enumerate(zip(*columns, strict=True), start=1):
            for x, cell in zip((100, 330), cells, strict=True):
                canvas.drawString(x, 780 - 13 * row, cell)
            if row % 5 == 0:
                canvas.drawRightString(80, 780 - 13 * row, str(row))

    draft = markdown_of_pages(read_pdf(made(draw)))
    assert draft.removed == ("5", "10", "15", "20", "25", "30")


def test_the_numbers_of_a_tables_rows_stay() -> None:
    def draw(canvas: Any) -> None:
        page_of_text(canvas, 1)
        for row in range(1, 9):
            for x, cell in (
                (72, f"{row}"),
                (120, f"Seal {row}"),
                (220, "Brass"),
                (320, f"{row}4.50"),
            ):
                write(canvas, [cell], x, 300 - 14 * row)

    text = pdf_document(made(draw)).text
    assert all(
        f"{row} | Seal {row}" in text or f"{row} Seal {row}" in text
        for row in range(1, 9)
    )


@examples
@pytest.mark.parametrize("word", ["Lesson", "Aufgabe", "Day", "Station"])
def test_numbered_titles_atop_pages_are_no_running_heads(
    size: int, gap: int, word: str
) -> None:
    def draw(canvas: Any) -> None:
        for number in range(1, 5):
            write(canvas, [f"{word} {number}"], 72, 790, size, "Helvetica-Bold")
            write(canvas, wrapped(prose(number, 120), 10, 450), 72, 790 - gap)
            canvas.showPage()

    assert titles(made(draw)) == [f"{word} {number}" for number in range(1, 5)]


def test_running_heads_with_the_pages_number_are_left_out_all_the_same() -> None:
    def draw(canvas: Any) -> None:
        for number in range(1, 6):
            write(canvas, [f"Pump manual {number}"], 72, 815, 9, "Helvetica-Bold")
            page_of_text(canvas, number)
            canvas.showPage()

    assert "Pump manual" not in pdf_document(made(draw)).text


def test_a_page_of_very_many_numbers_takes_about_linear_time() -> None:
    def pages(count: int) -> list[Page]:
        rows = [
            Line(text, 8, False, left, left + 20, top, top + 8)
            for i in range(count)
            for text, left, top in ((f"{i % 9999}", 40, i / 9), (f"w{i}", 90, i / 9))
        ]
        return [Page(tuple(rows), 595, 842)]

    assert power(find_page_marks, pages, 8_000) < LINEAR
