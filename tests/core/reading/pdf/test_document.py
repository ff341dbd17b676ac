"""Documents of PDF files: text, title, and what their metadata says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fixture_cases import examples

from structrag.reading.pdf.document import pdf_document
from structrag.reading.pdf.pages import Page


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
