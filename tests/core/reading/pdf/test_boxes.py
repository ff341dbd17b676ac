"""Where passages stand on the pages of a PDF, and pictures of the pages."""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from pdf_making import HEIGHT, made, prose, wrapped, write

from structrag import EvidenceRetriever, FixedSplitter, read_file
from structrag.errors import InvalidDocument, InvalidParameter
from structrag.records import Chunk, Document
from structrag.show import boxes, page_image


def file_of(folder: Path, draw: Any) -> Path:
    file = folder / "pump.pdf"
    file.write_bytes(made(draw))
    return file


def passage(document: Document, text: str) -> Chunk:
    start = document.text.index(text)
    return Chunk("", document.id, "", start, start + len(text), text)


def test_each_line_of_a_passage_has_one_box(tmp_path: Path) -> None:
    lines = wrapped(prose(1, 60), 10, 300)

    def draw(canvas: Any) -> None:
        write(canvas, lines, 72, 700)

    file = file_of(tmp_path, draw)
    document = read_file(file)
    hit = passage(document, " ".join(lines[1:3]))
    first, second = boxes(file, hit)
    assert first.page == second.page == 1
    assert abs(first.x0 - 72) < 1
    assert first.top < HEIGHT - 700 + 12 < first.bottom + 1
    assert abs(second.top - first.top - 12) < 0.1
    word = passage(document, lines[1].split()[2])
    (inside,) = boxes(document, word)
    assert first.x0 < inside.x0 < inside.x1 < first.x1


def test_the_passage_before_among_equal_ones_is_not_marked(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        for y in (700, 600, 500):
            write(canvas, ["Clean the pump."], 72, y)

    document = read_file(file_of(tmp_path, draw))
    starts = [found.start() for found in re.finditer("Clean", document.text)]
    tops = []
    for start in starts:
        hit = Chunk("", document.id, "", start, start + 15, "Clean the pump.")
        (box,) = boxes(document, hit)
        tops.append(box.top)
    assert [round(b - a) for a, b in pairwise(tops)] == [100, 100]


def test_columns_cells_and_pages_have_boxes_of_their_own(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        for page in (1, 2):
            write(canvas, wrapped(prose(page, 30), 10, 200), 60, 780)
            write(canvas, wrapped(prose(page + 4, 30), 10, 200), 330, 780)
            for row in range(4):
                for x, cell in ((60, f"Seal {page}{row}"), (300, f"{page}{row}.50")):
                    write(canvas, [cell], x + 4, 500 - 16 * row)
                canvas.grid([60, 300, 480], [495 - 16 * row, 511 - 16 * row])
            canvas.showPage()

    document = read_file(file_of(tmp_path, draw))
    row = boxes(document, passage(document, "| Seal 22 | 22.50 |"))
    assert [(box.page, round(box.x0)) for box in row] == [(2, 64), (2, 304)]
    whole = Chunk("", document.id, "", 0, len(document.text), document.text)
    placed = boxes(document, whole)
    assert {box.page for box in placed} == {1, 2}
    assert all(box.x1 - box.x0 < 215 for box in placed)


def test_a_turned_page_is_measured_as_it_is_seen(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        canvas.setPageRotation(90)
        canvas.translate(100, 100)
        canvas.rotate(90)
        write(canvas, ["Clean the pump with warm water."], 0, 0)

    file = file_of(tmp_path, draw)
    (box,) = boxes(file, passage(read_file(file), "Clean the pump with warm water."))
    assert box.x1 - box.x0 > 100 > 30 > box.bottom - box.top
    assert abs(box.x0 - 100) < 1 and abs(box.bottom - 100) < 5


def test_typed_text_and_fields_side_by_side_have_boxes(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["Name:"], 60, 700)
        canvas.acroForm.textfield("Ann Doe", x=150, y=696, width=200, height=18)

    file = file_of(tmp_path, draw)
    (box,) = boxes(file, passage(read_file(file), "Ann Doe"))
    assert box.x0 == 150 and box.x1 < 200
    assert HEIGHT - 714 <= box.top < box.bottom <= HEIGHT - 696


def test_hits_and_pictures(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["The pump has a brass seal."], 60, 700)
        canvas.showPage()
        write(canvas, ["Cats sleep all day."], 60, 700)

    file = file_of(tmp_path, draw)
    retriever = EvidenceRetriever.from_documents([read_file(file)])
    hit = retriever.search("Which seal has the pump?", 1)[0]
    assert hit.boxes == boxes(str(file), hit)
    assert {box.page for box in hit.boxes} == {1}
    picture = page_image(file, hit)
    assert picture.startswith(b"\x89PNG")
    for page in (0, 2):
        with pytest.raises(InvalidParameter, match=rf"pages, \[1\]; got {page}"):
            page_image(file, hit, page)
    bare = made(draw)
    assert boxes(bare, hit) == hit.boxes


def test_a_passage_without_words_has_no_picture(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, ["It leaks. ... It drips."], 60, 700)

    document = read_file(file_of(tmp_path, draw))
    hit = passage(document, "...")
    assert boxes(document, hit) == ()
    with pytest.raises(InvalidParameter, match="nothing can be marked"):
        page_image(document, hit)


def test_another_text_at_the_place_is_an_error(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        write(canvas, wrapped(prose(2, 40), 10, 300), 60, 700)

    def other(canvas: Any) -> None:
        write(canvas, wrapped(prose(3, 40), 10, 300), 60, 700)

    chunk = FixedSplitter(max_tokens=40).split(read_file(file_of(tmp_path, draw)))[0]
    with pytest.raises(InvalidParameter, match="Index the file again"):
        boxes(file_of(tmp_path, other), chunk)
    with pytest.raises(InvalidParameter, match="got str"):
        boxes(tmp_path / "pump.pdf", "pump")
    with pytest.raises(InvalidParameter, match="read from a file"):
        boxes(Document("It leaks."), Chunk("", "", "", 0, 9, "It leaks."))
    (tmp_path / "pump.md").write_text("# Pump")
    with pytest.raises(InvalidDocument, match="not a PDF"):
        boxes(tmp_path / "pump.md", chunk)
