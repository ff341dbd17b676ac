"""PDF pages: lines with their places in reading order, and ruled tables."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from pdf_making import HEIGHT, WIDTH, image, made, manual, prose, texts, wrapped, write

from structrag.errors import InvalidDocument, InvalidParameter, MissingExtra
from structrag.reading.files import find_files, read_file
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Page
from structrag.reading.pdf.reader import page_ranges, pdf_document, read_pdf
from structrag.reading.sections import parse

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


def test_a_manual_becomes_markdown(tmp_path: Path) -> None:
    path = tmp_path / "manual.pdf"
    path.write_bytes(made(manual))
    document = read_file(path)
    assert (document.format, document.title, document.id) == (
        "markdown",
        "Acme Meter 300",
        str(path),
    )
    assert dict(document.meta) == {"source": str(path), "pages": 5}
    outline = parse(document)
    assert [section.path for section in outline.sections[1:4]] == [
        ("Acme Meter 300",),
        ("Acme Meter 300", "1 Chapter about item 1"),
        ("Acme Meter 300", "1 Chapter about item 1", "1.1 Details of 1"),
    ]
    assert len(outline.sections) == 12
    assert prose(3, 60) in document.text
    assert "It is an important instrument." in document.text
    assert "- first thing of 4\n- second thing of 4" in document.text
    assert "operating manual" not in document.text
    assert "Page" not in document.text


def test_the_report_names_running_heads_and_page_numbers() -> None:
    draft = markdown_of_pages(read_pdf(made(manual)))
    assert draft.removed == tuple(
        text for i in range(1, 6) for text in ("Acme operating manual", f"Page {i} of 5")
    )
    assert any(
        "'Acme operating manual'" in note and "5 of 5 pages" in note for note in draft.uncertain
    )
    assert any("'Page 1 of 5'" in note for note in draft.uncertain)
    assert any("'impor-tant'" in note for note in draft.uncertain)


def test_the_title_is_the_files_own_unless_a_program_made_it_up(tmp_path: Path) -> None:
    path = tmp_path / "x.PDF"
    for told, title in [
        ("Meter guide", "Meter guide"),
        ("Microsoft Word - a.doc", "Acme Meter 300"),
        ("a.docx", "Acme Meter 300"),
    ]:
        path.write_bytes(made(lambda canvas, told=told: (canvas.setTitle(told), manual(canvas))))
        assert read_file(path).title == title
    assert read_file(path, title="Mine", id="7", meta={"shelf": 3}).meta == {
        "source": str(path),
        "shelf": 3,
        "pages": 5,
    }
    assert read_file(path, title="Mine", id="7").title == "Mine"


def test_find_files_finds_pdfs(tmp_path: Path) -> None:
    for name in ("a.pdf", "b.PDF", "c.md", "d.png"):
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in find_files(tmp_path)] == ["a.pdf", "b.PDF", "c.md"]


def test_a_pdf_has_one_format(tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(made(manual))
    assert read_file(path, format="markdown").format == "markdown"
    with pytest.raises(InvalidParameter, match="format"):
        read_file(path, format="html")


def test_a_scan_says_so_and_on_which_pages() -> None:
    def draw(canvas: Any) -> None:
        for _ in range(3):
            image(canvas)
            canvas.showPage()

    with pytest.raises(InvalidDocument, match=r"scan: pages 1-3 show pictures .* OCR"):
        read_pdf(made(draw))


def test_some_scanned_pages_are_reported(tmp_path: Path) -> None:
    def draw(canvas: Any) -> None:
        for number in range(1, 5):
            if number in (2, 4):
                image(canvas)
                if number == 4:
                    write(canvas, ["Received 3 May"], 20, 20)
            else:
                write(canvas, wrapped(prose(number, 80), 10, 400), 60, 700)
            canvas.showPage()

    path = tmp_path / "mixed.pdf"
    path.write_bytes(made(draw))
    pages = read_pdf(path)
    assert [len(page.images) for page in pages] == [0, 1, 0, 1]
    notes = markdown_of_pages(pages).uncertain
    assert [
        note for note in notes if note.startswith("Page 2 only shows a picture") and "OCR" in note
    ]
    assert [note for note in notes if note.startswith("Page 4 is mostly a picture, with 3 words")]
    assert read_file(path).meta["pages_without_text"] == [2]


def test_empty_pages() -> None:
    with pytest.raises(InvalidDocument, match="no text on its 2 pages"):
        read_pdf(made(lambda canvas: (canvas.showPage(), canvas.showPage())))
    pages = read_pdf(made(lambda canvas: (canvas.showPage(), write(canvas, ["words"], 60, 700))))
    assert [len(page.lines) for page in pages] == [0, 1]


def test_encrypted(tmp_path: Path) -> None:
    data = made(manual, encrypt="secret")
    with pytest.raises(InvalidDocument, match=r"is encrypted\. Give its password"):
        read_pdf(data)
    with pytest.raises(InvalidDocument, match="password given does not open it"):
        read_pdf(data, password="other")
    assert texts(read_pdf(data, password="secret")[0])[0] == "Acme operating manual"
    path = tmp_path / "locked.pdf"
    path.write_bytes(data)
    assert read_file(path, password="secret").title == "Acme Meter 300"
    with pytest.raises(InvalidDocument, match=re.escape(repr(str(path)))):
        read_file(path)


def damaged() -> Iterator[tuple[str, bytes, str]]:
    data = made(manual)
    yield "empty", b"", "empty"
    yield "half", data[: len(data) // 2], "cut off"
    yield "start", data[:500], "cut off"
    yield "text", b"Just words, no PDF.", "is no PDF"
    yield "hollow", b"%PDF-1.7\nnothing at all\n%%EOF\n", "damaged"
    yield (
        "no pages",
        b"%PDF-1.4\n1 0 obj\n<< /Type /Catalog >>\nendobj\ntrailer << /Root 1 0 R "
        b">>\nstartxref\n0\n%%EOF",
        "pdf|PDF",
    )


@pytest.mark.parametrize(
    ("data", "words"), [pytest.param(*case[1:], id=case[0]) for case in damaged()]
)
def test_damaged_files_are_one_sentence(tmp_path: Path, data: bytes, words: str) -> None:
    path = tmp_path / "broken.pdf"
    path.write_bytes(data)
    for source in (data, path):
        with pytest.raises(InvalidDocument, match=words) as caught:
            read_pdf(source)
        assert "\n" not in str(caught.value)
    with pytest.raises(InvalidDocument, match=r"broken\.pdf"):
        read_file(path)


def test_any_cut_gives_all_pages_or_an_error() -> None:
    data = made(manual)
    whole = [texts(page) for page in read_pdf(data)]
    for cut in range(0, len(data), 97):
        try:
            pages = read_pdf(data[:cut])
        except InvalidDocument:
            continue
        assert [texts(page) for page in pages] == whole


def test_wrong_sources(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument, match="No such file"):
        read_pdf(tmp_path / "missing.pdf")
    with pytest.raises(InvalidDocument, match="is a folder"):
        read_pdf(tmp_path)
    with pytest.raises(InvalidParameter, match="path or the bytes"):
        read_pdf(3)  # type: ignore[arg-type]


def test_threads_read_side_by_side() -> None:
    data = made(manual)
    expected = read_pdf(data)
    found: list[list[Page]] = []
    threads = [Thread(target=lambda: found.append(read_pdf(data))) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 6


def test_page_ranges() -> None:
    assert page_ranges([1, 2, 3, 5, 7, 8]) == "1-3, 5, 7-8"
    assert page_ranges([]) == ""


def test_without_the_extra(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path = tmp_path / "a.pdf"
    path.write_bytes(made(manual))
    monkeypatch.setitem(sys.modules, "pypdfium2", None)
    with pytest.raises(MissingExtra, match=re.escape("pip install 'structrag[pdf]'")):
        read_file(path)


def test_a_document_of_bytes() -> None:
    document = pdf_document(made(manual), meta={"source": "https://example.org/meter.pdf"})
    assert (document.id, document.meta["pages"]) == ("https://example.org/meter.pdf", 5)
    assert pdf_document(made(manual)).meta == {"pages": 5}
