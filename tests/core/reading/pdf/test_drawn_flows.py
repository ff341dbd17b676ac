"""Texts side by side, in the order in which the file draws them."""

from __future__ import annotations

from typing import Any

import pytest
from pdf_making import made, prose, wrapped, write

from structrag import ContentAwareSplitter, read_file
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.reader import read_pdf

WARNING = [
    "Warning",
    "Never open the lid while the",
    "pump is running and hot, nor",
    "touch it.",
]


@pytest.mark.parametrize("columns", [2, 3])
def test_columns_of_two_rows_do_not_alternate(columns: int) -> None:
    texts = [
        ["The board reviewed the yearly", "accounts and"],
        ["approved a plan for all of the", "coming years."],
        ["It then named the new heads of", "both works."],
    ][:columns]

    def draw(canvas: Any) -> None:
        write(canvas, ["Minutes"], 50, 780, 18, "Helvetica-Bold")
        for i, text in enumerate(texts):
            write(canvas, text, 50 + 180 * i, 740)

    text = " ".join(markdown_of_pages(read_pdf(made(draw))).text.split())
    assert all(" ".join(lines) in text for lines in texts)


@pytest.mark.parametrize("drawn", ["behind its section's text", "before it", "last"])
@pytest.mark.parametrize("box_left", [390, 60])
def test_a_box_at_the_side_is_in_the_section_it_stands_beside(
    drawn: str, box_left: int, tmp_path: Any
) -> None:
    text_left = 60 if box_left > 60 else 230

    def draw(canvas: Any) -> None:
        y = last = 780.0
        for title, seed in (("Scope", 1), ("Cleaning", 2), ("Storage", 3)):
            y = write(canvas, [title], text_left, y, 15, "Helvetica-Bold") - 8
            top, has_box = y, title == "Cleaning"
            if has_box and drawn == "before it":
                write(canvas, WARNING, box_left, top, 9)
            y = write(canvas, wrapped(prose(seed, 70), 10, 310), text_left, y) - 12
            if has_box and drawn == "behind its section's text":
                write(canvas, WARNING, box_left, top, 9)
            last = top if has_box else last
        if drawn == "last":
            write(canvas, WARNING, box_left, last, 9)

    file = tmp_path / "manual.pdf"
    file.write_bytes(made(draw))
    document = read_file(file)
    chunks = ContentAwareSplitter(max_tokens=2000).split(document)
    assert {c.path[-1] for c in chunks if "Never open" in c.text} == {"Cleaning"}
    text = " ".join(document.text.split())
    assert all(
        whole in text
        for whole in (" ".join(WARNING[1:]), *(prose(seed, 70) for seed in (1, 2, 3)))
    )
