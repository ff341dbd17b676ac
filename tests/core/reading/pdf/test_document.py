"""Documents of PDF files: text, title, and what their metadata says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from page_making import FULL, line, page

from structrag.reading.pdf.document import pdf_document, source_of_pdf
from structrag.reading.pdf.pages import Page
from structrag.records import Document

PICTURE = (0.0, 0.0, 600.0, 800.0)


def reader_of(*pages: Page | str) -> Any:
    """A reader that gives these pages of every file."""
    return lambda source: list(pages)


def test_markdown_pages_are_joined_by_a_blank_line_and_blank_ones_left_out() -> None:
    pages = ["\n# A\n\none\n", " \n", "    code\n\n"]
    document = pdf_document(b"", reader=reader_of(*pages))
    assert document.text == "# A\n\none\n\n    code\n"
    assert document.meta == {"pages": 3, "page_starts": "0:1 10:3"}
    assert document.text[10:] == "    code\n"


def test_laid_out_pages_become_markdown() -> None:
    document = pdf_document(
        b"", reader=reader_of(page(line("One.", 100)), page(line("Two.", 100)))
    )
    assert document.text == "One.\n\nTwo.\n"
    assert document.meta == {"pages": 2, "page_starts": "0:1 6:2"}


@pytest.mark.parametrize(
    ("text", "title", "expected"),
    [
        ("# Pump\n\n## Parts\n", "", "Pump"),
        ("# Pump\n\n# Valve\n", "", "meter"),  # one of several is no title
        ("Words.\n", "", "meter"),  # the file's name
        ("# Pump\n", "Mine", "Mine"),
    ],
)
def test_the_title_is_that_which_is_set_or_the_only_heading_or_the_files_name(
    text: str, title: str, expected: str
) -> None:
    source = Path("folder") / "meter.pdf"
    document = pdf_document(source, reader=reader_of(text), title=title, id="7")
    assert (document.title, document.id) == (expected, "7")
    assert (document.format, document.meta["source"]) == ("markdown", str(source))


def test_bytes_without_a_heading_are_named_by_the_source_in_the_metadata() -> None:
    words = reader_of("Words.\n")
    assert pdf_document(b"", reader=words).title == ""
    meta = {"source": "https://example.org/a/meter.pdf"}
    assert pdf_document(b"", reader=words, meta=meta).title == "meter"


def test_metadata_of_the_caller_replaces_the_path_but_not_the_count_of_pages() -> None:
    meta = {"source": "elsewhere", "pages": 9, "shelf": 3}
    document = pdf_document("meter.pdf", reader=reader_of("Words.\n"), meta=meta)
    assert document.meta == {
        "source": "elsewhere",
        "pages": 1,
        "shelf": 3,
        "page_starts": "0:1",
    }
    assert meta["pages"] == 9


def test_pages_that_are_pictures_without_text_are_listed() -> None:
    scan, empty = page(images=(PICTURE,)), page()
    both = page(line(FULL, 700), images=(PICTURE,))
    document = pdf_document(b"", reader=reader_of(both, scan, empty, scan))
    assert document.meta["pages_without_text"] == [2, 4]
    document = pdf_document(b"", reader=reader_of(both, empty))
    assert "pages_without_text" not in document.meta


def test_the_title_of_the_files_metadata_is_read_with_our_reader_alone() -> None:
    pytest.importorskip("pypdfium2", reason="the extra 'pdf' is not installed")
    pytest.importorskip("reportlab")
    from pdf_making import made, pump_page

    data = made(lambda canvas: (canvas.setTitle("Meter guide"), pump_page(canvas)))
    assert pdf_document(data).title == "Meter guide"
    assert pdf_document(data, title="Mine").title == "Mine"
    assert pdf_document(data, reader=reader_of("# Pump\n")).title == "Pump"
    assert pdf_document(made(pump_page)).title == "Pump"


def test_a_formatter_takes_laid_out_pages_or_a_document() -> None:
    pages = [page(line("One.", 100)), page(line("Two.", 100))]
    assert source_of_pdf(b"", reader=reader_of(*pages)) == (pages, 2)
    source, count = source_of_pdf(b"", reader=reader_of("One.\n", " ", "Two.\n"))
    assert count == 3
    assert source == Document(
        "One.\n\nTwo.\n", format="markdown", meta={"page_starts": "0:1 6:3"}
    )
