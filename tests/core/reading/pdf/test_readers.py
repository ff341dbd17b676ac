"""Other readers of PDF: an object with docling's interface, functions."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("reportlab", reason="it makes the PDF files")
pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")

from pdf_making import made, prose, wrapped, write

from structrag.errors import InvalidDocument, InvalidParameter
from structrag.reading.files import read_file
from structrag.reading.pdf.document import pages_of


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


@pytest.mark.parametrize(
    ("reader", "match"),
    [
        ("pdfplumber", "reader must be one of 'docling', 'layout'"),
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
    with pytest.raises(InvalidParameter, match="password works only"):
        pages_of(b"", reader=Converter("a"), password="x")
    with pytest.raises(InvalidDocument, match="no text on its 2 pages"):
        pages_of(b"", reader=lambda source: ["", " "])
