"""Documents of PDF files: text, title, and what their metadata says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fixture_cases import examples
from page_making import FULL, line, page

from structrag.reading.pdf.document import pdf_document, source_of_pdf
from structrag.reading.pdf.pages import Page
from structrag.records import Document

PICTURE = (0.0, 0.0, 600.0, 800.0)


def reader_of(*pages: Page | str) -> Any:
    """A reader that gives these pages of every file."""
    return lambda source: list(pages)


@examples
def test_the_title_is_that_which_is_set_or_the_only_heading_or_the_files_name(
    text: str, title: str, expected: str
) -> None:
    source = Path("folder") / "meter.pdf"
    document = pdf_document(source, reader=reader_of(text), title=title, id="7")
    assert (document.title, document.id) == (expected, "7")
    assert (document.format, document.meta["source"]) == ("markdown", str(source))


def test_pages_that_are_pictures_without_text_are_listed() -> None:
    scan, empty = page(images=(PICTURE,)), page()
    both = page(line(FULL, 700), images=(PICTURE,))
    document = pdf_document(b"", reader=reader_of(both, scan, empty, scan))
    assert document.meta["pages_without_text"] == [2, 4]
    document = pdf_document(b"", reader=reader_of(both, empty))
    assert "pages_without_text" not in document.meta


def test_a_formatter_takes_laid_out_pages_or_a_document() -> None:
    pages = [page(line("One.", 100)), page(line("Two.", 100))]
    assert source_of_pdf(b"", reader=reader_of(*pages)) == (pages, 2)
    source, count = source_of_pdf(b"", reader=reader_of("One.\n", " ", "Two.\n"))
    assert count == 3
    assert source == Document(
        "One.\n\nTwo.\n", format="markdown", meta={"page_starts": "0:1 6:3"}
    )
