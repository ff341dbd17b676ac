"""A PDF as a Markdown document, by our own reader, docling or a function."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from structrag.errors import InvalidDocument, InvalidParameter, require
from structrag.reading.drafts import Draft
from structrag.reading.limits import reading_within
from structrag.reading.markdown import markdown_headings
from structrag.reading.opening import (
    check_file,
    check_images_to,
    check_reader,
    path_of,
)
from structrag.reading.outline import title_of_headings
from structrag.reading.paging import starts_in_text, written_starts
from structrag.reading.pdf.layout import markdown_of_pages
from structrag.reading.pdf.pages import Page
from structrag.reading.pdf.reader import (
    Source,
    check_password,
    read_pdf,
    source_name,
    title_of_pdf,
)
from structrag.records import Document
from structrag.text.numbers import pluralise


def pdf_document(
    source: Source,
    *,
    reader: PdfReader = "layout",
    password: str | None = None,
    id: str = "",
    title: str = "",
    meta: dict[str, Any] | None = None,
    images_to: str | os.PathLike[str] | None = None,
) -> Document:
    """A PDF as a Markdown document.

    Laid-out pages become one by `markdown_of_pages`, Markdown stays as it is. The title is the
    given one, else with the reader "layout" that of the file's metadata unless a program made it
    up, else the first heading, else the stem of the file's name. `meta["pages"]` counts the pages;
    `meta["page_starts"]` says where they begin, for `pages_between`; `meta["pages_without_text"]`
    lists the scanned ones, from 1, if there are any. Pages that a reader gives as Markdown are
    joined by a blank line. `images_to` is a folder for the pictures as PNG files, which their image
    blocks then name (`read_pdf`). Raises what `pages_of` raises.
    """
    with reading_within(name=source_name(source)):
        pages = pages_of(source, reader=reader, password=password, images_to=images_to)
        laid_out = [page for page in pages if isinstance(page, Page)]
        draft = markdown_of_pages(laid_out) if laid_out else _joined(pages)
        text = draft.text
        facts: dict[str, Any] = {**_origin(source), **(meta or {}), "pages": len(pages)}
        facts |= written_starts(draft.page_starts)
        scans = [
            i
            for i, page in enumerate(laid_out, start=1)
            if page.images and not page.lines
        ]
        if scans:
            facts["pages_without_text"] = scans
        if not title and reader == "layout":
            title = title_of_pdf(source, password=password)
        title = title or title_of_headings(markdown_headings(text))
        title = title or Path(str(facts.get("source", ""))).stem
        return Document(text, id=id, title=title, format="markdown", meta=facts)


def source_of_pdf(
    source: Source, *, reader: PdfReader = "layout", password: str | None = None
) -> tuple[list[Page] | Document, int]:
    """What a formatter takes of a PDF, and its page count. It takes laid-out pages, or a Markdown
    document."""
    pages = pages_of(source, reader=reader, password=password)
    laid_out = [page for page in pages if isinstance(page, Page)]
    if laid_out:
        return laid_out, len(pages)
    draft = _joined(pages)
    meta = written_starts(draft.page_starts)
    return Document(draft.text, format="markdown", meta=meta), len(pages)


def _origin(source: Source) -> dict[str, str]:
    return {} if isinstance(source, bytes) else {"source": str(Path(source))}


def _joined(pages: list[Any]) -> Draft:
    texts = [
        (str(page).strip("\n"), [(0, number)])
        for number, page in enumerate(pages, start=1)
    ]
    filled = [(text, starts) for text, starts in texts if text.strip()]
    whole = "\n\n".join(text for text, _ in filled) + "\n"
    return Draft(whole, page_starts=tuple(starts_in_text(whole, filled)))


Pages: TypeAlias = "Sequence[Page] | Sequence[str]"
PdfReader: TypeAlias = "str | Callable[[Source], Pages | str] | Any"


def pages_of(
    source: Source,
    *,
    reader: PdfReader = "layout",
    password: str | None = None,
    images_to: str | os.PathLike[str] | None = None,
) -> list[Page] | list[str]:
    """The pages of a PDF as a reader gives them.

    Args:
        source: A path, or the bytes of the file.
        reader: "layout" is ours (extra `pdf`), which reads the text and its places with PDFium.
            "docling" gives Markdown by trained models (extra `docling`). Or an object of your own:
            docling's `DocumentConverter`, or a function that is called with `source` and returns
            Markdown, a list with the Markdown of each page, or a list of `Page`.
        password: For an encrypted file; "layout" takes one.
        images_to: A folder for the pictures as files, as in `read_pdf`; for "layout".

    Returns:
        Pages with lines, for `markdown_of_pages`; or one string of Markdown for each page.

    Raises:
        InvalidParameter: `reader` is none of these, gave something else, or takes no password or
            no `images_to`.
        InvalidDocument: the file cannot be read, or no page holds text.
        MissingExtra: the package of the reader is not installed.
    """
    check_password(password)
    if isinstance(reader, str):
        if not isinstance(source, bytes):
            check_file(path_of(source))
        check_reader(reader)
        if reader == "layout":
            return read_pdf(source, password=password, images_to=images_to)
        docling: Any = require("docling.document_converter", extra="docling")
        reader = docling.DocumentConverter()
    if password is not None:
        raise InvalidParameter(
            "password works only with reader='layout'; decrypt the file, or open it with the "
            "password in a reader of your own."
        )
    check_images_to(images_to, reader)
    if hasattr(reader, "convert"):
        return _with_text(_converted(reader, source), source)
    if not callable(reader):
        raise InvalidParameter(
            "reader must be 'layout', 'docling', a docling DocumentConverter or a "
            f"function of the PDF's path or bytes; got {type(reader).__name__}."
        )
    pages = reader(source)
    return _with_text([pages] if isinstance(pages, str) else pages, source)


def _converted(converter: Any, source: Source) -> list[str]:
    """The Markdown of each page by an object with docling's interface."""
    with _as_path(source) as path:
        document = converter.convert(path).document
    numbers = sorted(document.pages)
    if not numbers:  # a format without pages
        return [document.export_to_markdown()]
    return [document.export_to_markdown(page_no=number) for number in numbers]


@contextmanager
def _as_path(source: Source) -> Iterator[Path]:
    """The file on disk: docling reads a path."""
    if not isinstance(source, bytes):
        yield Path(source)
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        file = Path(folder) / "document.pdf"
        file.write_bytes(source)
        yield file


def _with_text(answer: Any, source: Source) -> list[Page] | list[str]:
    """The pages, checked. Raises for what are no pages, and where none holds text."""
    pages: list[Any] = list(answer) if isinstance(answer, Sequence) else [answer]
    of_one_kind = any(
        all(isinstance(page, kind) for page in pages) for kind in (str, Page)
    )
    if not pages or not of_one_kind:
        kinds = ", ".join(sorted({type(page).__name__ for page in pages})) or "nothing"
        raise InvalidParameter(
            f"reader must return Markdown, or a list of pages as Markdown or as Page; got {kinds}."
        )
    if not any(page.strip() if isinstance(page, str) else page.lines for page in pages):
        raise InvalidDocument(
            f"{_name(source)} holds no text on its {pluralise(len(pages), 'page')}. If it is a "
            "scan, run OCR on it first."
        )
    return pages


def _name(source: Source) -> str:
    return "The PDF" if isinstance(source, bytes) else repr(os.fspath(source))
