"""Parts of pages: tables over pages, code, titles and numbers at the side, tables alone."""

from __future__ import annotations

from typing import Any

import pytest
from fixture_cases import examples
from pdf_making import made, prose, wrapped, write

from structrag import parse
from structrag.reading.paging import pages_between
from structrag.reading.pdf.document import pdf_document

HEADER = ("Part", "Metal", "Price")


def table(canvas: Any, rows: list[tuple[str, ...]], y: float, ruled: bool) -> float:
    for row in rows:
        for x, cell in zip((72, 220, 360), row, strict=True):
            write(canvas, [cell], x + 4, y)
        if ruled:
            canvas.grid([72, 220, 360, 480], [y - 5, y + 11])
        y -= 16
    return y


def part(number: int) -> tuple[str, ...]:
    return f"Seal {number}", "Brass", f"{number}14.50"


@pytest.mark.parametrize("ruled", [True, False])
@pytest.mark.parametrize("repeated", [True, False])
@pytest.mark.parametrize("pages", [2, 3])
def test_a_table_over_pages_is_one_with_one_header(
    ruled: bool, repeated: bool, pages: int
) -> None:
    def draw(canvas: Any) -> None:
        for page in range(pages):
            rows = [part(10 * page + i) for i in range(1, 9)]
            header = [HEADER] if repeated or not page else []
            table(canvas, [*header, *rows], 780, ruled)
            canvas.showPage()

    document = pdf_document(made(draw))
    lines = document.text.splitlines()
    assert lines[:2] == ["| Part | Metal | Price |", "| --- | --- | --- |"]
    assert lines[2:] == [
        f"| {' | '.join(part(10 * p + i))} |" for p in range(pages) for i in range(1, 9)
    ]
    place = document.text.index("Seal 13")
    assert pages_between(document.meta, place, place + 4) == (2, 2)


def test_tables_of_other_columns_and_with_text_between_stay_apart() -> None:
    def draw(canvas: Any) -> None:
        y = table(canvas, [HEADER, *map(part, range(1, 9))], 780, True)
        write(canvas, ["Prices of the year before follow."], 72, y - 20)
        canvas.showPage()
        table(canvas, [HEADER, *map(part, range(11, 19))], 780, True)

    text = pdf_document(made(draw)).text
    assert text.count("| --- | --- | --- |") == 2


@pytest.mark.parametrize("font", ["Courier", "Courier-Bold"])
def test_code_keeps_its_lines_and_indents(font: str) -> None:
    code = [
        "def clean(pump):",
        "    # rinse it",
        "    if pump.on:",
        "        pump.stop()",
        "",
        "    return True",
    ]

    def draw(canvas: Any) -> None:
        y = write(canvas, wrapped(prose(1, 60), 10, 450), 72, 780) - 10
        canvas.setFont(font, 9)
        for line in code:
            canvas.drawString(
                72 + 5.4 * (len(line) - len(line.lstrip())), y, line.strip()
            )
            y -= 11
        write(canvas, wrapped(prose(2, 60), 10, 450), 72, y - 10)

    document = pdf_document(made(draw))
    assert "```\n" + "\n".join(code) + "\n```" in document.text
    assert len(parse(document).sections) == 1  # the comment is no heading


def test_a_typewritten_paper_is_no_code() -> None:
    def draw(canvas: Any) -> None:
        write(
            canvas, wrapped(prose(1, 90), 10, 450, "Courier"), 72, 780, font="Courier"
        )

    assert "```" not in pdf_document(made(draw)).text


def test_titles_at_the_side_of_their_text_are_headings() -> None:
    def draw(canvas: Any) -> None:
        y = 780.0
        for seed, title in enumerate(["Introduction", "Cleaning", "Storage"]):
            write(canvas, [title], 50, y, 11, "Helvetica-Bold")
            y = write(canvas, wrapped(prose(seed, 60), 10, 330), 190, y) - 14

    sections = parse(pdf_document(made(draw))).sections[1:]
    assert [section.title for section in sections] == [
        "Introduction",
        "Cleaning",
        "Storage",
    ]


def test_titles_above_tables_alone_are_headings() -> None:
    def draw(canvas: Any) -> None:
        y = 780.0
        for title in ("Faults", "Noises"):
            y = write(canvas, [title], 72, y, 18, "Helvetica-Bold") - 6
            y = table(canvas, [HEADER, *map(part, range(1, 14))], y, True) - 24

    sections = parse(pdf_document(made(draw))).sections[1:]
    assert [section.title for section in sections] == ["Faults", "Noises"]


@examples
def test_a_hyphen_that_belongs_to_its_word_stays(
    first: str, second: str, whole: str
) -> None:
    def draw(canvas: Any) -> None:
        y = write(canvas, wrapped(prose(1, 40), 10, 300), 72, 780)
        y = write(
            canvas, [f"the pump moves a great deal of what is called {first}"], 72, y
        )
        write(canvas, [f"{second} by those who know it well and sell it too."], 72, y)

    assert whole in pdf_document(made(draw)).text


@examples
def test_numbered_titles_close_above_their_text_are_headings(titles: list[str]) -> None:
    def draw(canvas: Any) -> None:
        y = 780.0
        for seed, title in enumerate(titles):
            y = write(canvas, [title], 60, y - 10) - 3
            y = write(canvas, wrapped(prose(seed, 60), 10, 470), 60, y)

    sections = parse(pdf_document(made(draw))).sections[1:]
    assert [section.title for section in sections] == titles


def test_numbers_of_paragraphs_in_the_right_margin_cut_nothing() -> None:
    texts = [prose(seed, 60) for seed in (1, 2, 3)]

    def draw(canvas: Any) -> None:
        y = 780.0
        for number, text in enumerate(texts, start=17):
            write(canvas, [str(number)], 545, y, 8)
            y = write(canvas, wrapped(text, 10, 470), 60, y) - 14

    text = pdf_document(made(draw)).text
    assert (
        text == "\n\n".join(f"{17 + i} {text}" for i, text in enumerate(texts)) + "\n"
    )
