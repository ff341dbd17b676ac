"""Other readers of PDF: pdfplumber, an object with docling's interface, functions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("reportlab", reason="it makes the PDF files")
pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")

from pdf_making import image, made, prose, wrapped, write

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.files import read_file
from structrag.reading.markdown import markdown_headings
from structrag.reading.pdf.document import pdf_document, source_of_pdf
from structrag.reading.pdf.pages import Line, Page
from structrag.reading.pdf.readers import _grid, _line, _runs, pages_of


def manual(canvas: Any) -> None:
    y = write(canvas, ["1 Meter"], 60, 780, 18, "Helvetica-Bold")
    y = write(canvas, wrapped(prose(1, 60), 10, 470), 60, y - 10)
    y = write(canvas, ["1.1 Cleaning"], 60, y - 20, 14, "Helvetica-Bold")
    write(canvas, wrapped(prose(2, 60), 10, 470), 60, y - 10)
    canvas.showPage()
    y = write(canvas, ["1.2 Storage"], 60, 780, 14, "Helvetica-Bold")
    write(canvas, wrapped(prose(3, 60), 10, 470), 60, y - 10)


class Converter:
    """As much of docling's DocumentConverter as is used."""

    def __init__(self, *pages: str) -> None:
        self.pages = pages
        self.paths: list[Path] = []

    def convert(self, source: Path) -> Any:
        self.paths.append(source)
        assert source.read_bytes().startswith(b"%PDF-")
        pages = self.pages

        def export_to_markdown(page_no: int | None = None) -> str:
            return "\n\n".join(pages) if page_no is None else pages[page_no - 1]

        numbers = {number: object() for number in range(1, len(pages) + 1)}
        document = SimpleNamespace(pages=numbers, export_to_markdown=export_to_markdown)
        return SimpleNamespace(document=document)


def test_pdfplumber_gives_the_same_words_and_headings_as_ours(tmp_path: Path) -> None:
    pytest.importorskip("pdfplumber", reason="the extra 'pdfplumber' is not installed")
    data = made(manual)
    ours, theirs = pdf_document(data), pdf_document(data, reader="pdfplumber")
    assert theirs.text == ours.text and theirs.meta == ours.meta
    titles = [
        (heading.level, heading.title) for heading in markdown_headings(theirs.text)
    ]
    assert titles == [(1, "1 Meter"), (2, "1.1 Cleaning"), (2, "1.2 Storage")]
    (tmp_path / "meter.pdf").write_bytes(data)
    assert read_file(tmp_path / "meter.pdf", reader="pdfplumber").text == ours.text


def test_pdfplumber_reads_columns_in_order_and_ruled_tables() -> None:
    pytest.importorskip("pdfplumber", reason="the extra 'pdfplumber' is not installed")

    def columns(canvas: Any) -> None:
        for left, seed in ((50, 1), (310, 2)):
            write(canvas, wrapped(prose(seed, 120), 10, 235), left, 780)

    def table(canvas: Any) -> None:
        for i in range(4):
            canvas.line(60, 700 - 20 * i, 360, 700 - 20 * i)
        for i in range(3):
            canvas.line(60 + 150 * i, 700, 60 + 150 * i, 640)
        for i, row in enumerate((("Part", "Price"), ("Pump", "12"), ("Hose", "3"))):
            for j, cell in enumerate(row):
                write(canvas, [cell], 65 + 150 * j, 686 - 20 * i)

    words = pdf_document(made(columns), reader="pdfplumber").text.split()
    assert words == f"{prose(1, 120)} {prose(2, 120)}".split()
    text = pdf_document(made(table), reader="pdfplumber").text
    assert "| Part | Price |" in text and "| Pump | 12 |" in text


def test_an_object_with_doclings_interface_gives_markdown_by_page(
    tmp_path: Path,
) -> None:
    file = tmp_path / "meter.pdf"
    file.write_bytes(made(manual))
    converter = Converter("# Meter\n\nOne.", "## Storage\n\nTwo.")
    document = read_file(file, reader=converter)
    assert document.text == "# Meter\n\nOne.\n\n## Storage\n\nTwo.\n"
    assert (document.title, document.format, document.meta["pages"]) == (
        "Meter",
        "markdown",
        2,
    )
    assert converter.paths == [file]
    assert pages_of(made(manual), reader=converter) == [
        "# Meter\n\nOne.",
        "## Storage\n\nTwo.",
    ]
    assert not converter.paths[-1].exists()


def test_a_format_without_pages_is_one_text() -> None:
    class OneText(Converter):
        def convert(self, source: Path) -> Any:
            document = SimpleNamespace(pages={}, export_to_markdown=lambda: "# All\n")
            return SimpleNamespace(document=document)

    assert pages_of(b"%PDF-", reader=OneText()) == ["# All\n"]


def test_a_function_gives_markdown_or_pages() -> None:
    assert pages_of(b"", reader=lambda source: "# All\n") == ["# All\n"]
    page = Page((Line("Hello", 10, False, 50, 90, 50, 60),), 595, 842)
    assert pages_of(b"", reader=lambda source: [page]) == [page]
    assert source_of_pdf(b"", reader=lambda source: [page]) == ([page], 1)
    document, pages = source_of_pdf(b"", reader=lambda source: ["# A\n", "B\n", " "])
    assert not isinstance(document, list) and (document.text, pages) == (
        "# A\n\nB\n",
        3,
    )


@pytest.mark.parametrize(
    ("reader", "match"),
    [
        ("pdfminer", "reader must be one of"),
        (3, "reader must be 'layout'"),
        (lambda source: [1], "reader must return .*got int"),
        (lambda source: None, "got NoneType"),
        (lambda source: [], "got nothing"),
    ],
)
def test_what_is_no_reader_is_said(reader: Any, match: str) -> None:
    with pytest.raises(InvalidParameter, match=match):
        pages_of(b"", reader=reader)


def test_what_cannot_be_read_is_said() -> None:
    with pytest.raises(InvalidParameter, match="password is for"):
        pages_of(b"", reader=Converter("a"), password="x")
    with pytest.raises(InvalidDocument, match="no text on its 2 pages"):
        pages_of(b"", reader=lambda source: ["", " "])
    pytest.importorskip("pdfplumber", reason="the extra 'pdfplumber' is not installed")
    with pytest.raises(InvalidDocument, match="cannot be read by pdfplumber"):
        pages_of(b"no PDF", reader="pdfplumber")
    with pytest.raises(InvalidDocument, match="OCR"):
        pages_of(made(image), reader="pdfplumber")


def word(
    text: str, left: float, right: float, bottom: float = 100, **changes: Any
) -> Any:
    """A word as pdfplumber gives it, of ten points."""
    return {
        "text": text,
        "x0": left,
        "x1": right,
        "top": bottom - 10,
        "bottom": bottom,
        "size": 10,
        "fontname": "Helvetica",
        "upright": True,
        **changes,
    }


@pytest.mark.parametrize(
    ("other", "goes_on"),
    [
        (word("b", 53, 60), True),
        (word("b", 60, 70), True),  # a gap as wide as the type is high
        (word("b", 60.1, 70), False),
        (word("b", 45, 60), True),  # they overlap a little
        (word("b", 40, 60), False),
        (word("b", 10, 20), False),
        (word("b", 53, 60, 105), True),  # half the type's height lower
        (word("b", 53, 60, 105.1), False),
        (word("b", 53, 60, 95), True),
        (word("b", 53, 60, upright=False), False),
        (word("b", 65, 80, size=15), True),  # the larger type decides
    ],
)
def test_words_of_one_line(other: Any, goes_on: bool) -> None:
    first = word("a", 40, 50)
    assert list(_runs([first, other])) == (
        [[first, other]] if goes_on else [[first], [other]]
    )
    assert list(_runs([])) == []


def test_each_word_goes_on_from_the_one_before() -> None:
    words = [word("a", 40, 50), word("b", 55, 65), word("c", 70, 80)]
    assert list(_runs(words)) == [words]
    far = word("d", 95, 105)
    assert list(_runs([*words, far])) == [words, [far]]


def test_a_line_of_words() -> None:
    bold = "Arial-BoldMT"
    words = [
        word("Go", 10, 20, fontname=bold, size=12),
        word("safely", 25, 60, 101, fontname=bold, size=9.999),
    ]
    assert _line(words) == Line("Go safely", 10.0, True, 10.0, 60.0, 90.0, 101.0)
    assert not _line([*words, word("now", 62, 70)]).bold
    assert not _line([word("x", 0, 5, upright=False)]).upright
    sizes = [word("ab", 0, 10, size=8), word("cd", 15, 25), word("e", 30, 35, size=8)]
    assert _line(sizes).size == 8
    assert _line(sizes[:2]).size == 8  # of as many characters the first
    assert _line([word("x", 0, 5, size=9.964)]).size == 9.96


@pytest.mark.parametrize(
    ("cells", "columns", "rows"),
    [
        ([(0, 0, 10, 5), (10, 0, 20, 5)], (0, 10, 20), (0, 5)),
        ([(0, 0, 10, 5), (0, 5, 10, 9), None], (0, 10), (0, 5, 9)),
        ([(0, 0, 10, 5)], None, None),
    ],
)
def test_rules_of_a_table_cross_at_its_cells(
    cells: Any, columns: Any, rows: Any
) -> None:
    grid = _grid(SimpleNamespace(rows=[SimpleNamespace(cells=cells)]))
    if columns is None:
        assert grid is None
    else:
        assert grid is not None and (grid.columns, grid.rows) == (columns, rows)


def test_pdfplumber_reads_an_encrypted_file_and_a_row_from_its_left() -> None:
    pytest.importorskip("pdfplumber", reason="the extra 'pdfplumber' is not installed")

    def draw(canvas: Any) -> None:
        write(canvas, ["valve"], 90, 700)  # the right word is drawn first
        write(canvas, ["pump"], 60, 700)

    data = made(draw, encrypt="secret")
    (page,) = pages_of(data, reader="pdfplumber", password="secret")
    assert isinstance(page, Page)
    assert [line.text for line in page.lines] == ["pump valve"]
    with pytest.raises(InvalidDocument, match="cannot be read by pdfplumber"):
        pages_of(data, reader="pdfplumber")


def test_pdfplumber_gives_the_grid_of_a_table_but_none_of_a_lone_box() -> None:
    pytest.importorskip("pdfplumber", reason="the extra 'pdfplumber' is not installed")

    def draw(canvas: Any) -> None:
        canvas.grid([60, 150, 240], [600, 630, 660])
        for x in (65, 155):
            for y in (610, 640):
                write(canvas, ["cell"], x, y)
        canvas.rect(60, 300, 200, 100)
        write(canvas, ["A text in a box"], 70, 350)

    (page,) = pages_of(made(draw), reader="pdfplumber")
    assert isinstance(page, Page)
    (grid,) = page.grids
    assert grid.columns == pytest.approx((60, 150, 240))
    assert grid.rows == pytest.approx((842 - 660, 842 - 630, 842 - 600))
