"""PDF files to pages with lines. Needs the extra `pdf` (pypdfium2)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from structrag._locks import Lock
from structrag.errors import InvalidDocument, InvalidParameter, require
from structrag.reading.limits import count_bytes, reading_within, spend_characters
from structrag.reading.opening import file_bytes, shown
from structrag.reading.outline import own_title
from structrag.reading.pdf.annotations import with_typed
from structrag.reading.pdf.lines import lines_of
from structrag.reading.pdf.named_headings import bookmarks, tagged_headings
from structrag.reading.pdf.pages import Line, NamedHeading, Page
from structrag.reading.pdf.pictures import (
    Found,
    folder_for_images,
    read_pictures,
    without_repeated,
    written_pictures,
)
from structrag.reading.pdf.pieces import TextPiece, Turn, left_out_repeats, read_pieces
from structrag.reading.pdf.reading_order import reading_order
from structrag.reading.pdf.shapes import read_shapes
from structrag.text.numbers import pluralise

Source = str | os.PathLike[str] | bytes
_PDFIUM = Lock()  # PDFium may be called by one thread at a time


def read_pdf(
    source: Source,
    *,
    password: str | None = None,
    images_to: str | os.PathLike[str] | None = None,
) -> list[Page]:
    """The pages of a PDF with their lines, pictures and ruled tables.

    Args:
        source: A path, or the bytes of the file.
        password: For an encrypted file; the user's or the owner's.
        images_to: A folder, made if need be, for `Page.pictures` as PNG files of 200 pixels an
            inch, named by the file, page and number ("pump-page-3-picture-1.png"; without "pump-"
            where `source` is bytes). A file of that name is replaced. None: no files.

    Lines are in reading order. A page that only shows a picture (a scan) has no lines;
    `markdown_of_pages` reports it. Characters that the file gives no Unicode for come as U+FFFD.
    Nothing is rendered but pictures for `images_to`, no script of the file is run.

    Raises:
        InvalidDocument: the file is missing, empty, no PDF, damaged, cut off, encrypted (and no
            password or a wrong one was given), without pages, or no page holds text (a scan: OCR is
            needed).
        InvalidParameter: `source` is neither a path nor bytes, `password` is no string, or
            `images_to` is no folder that can be written to.
        MissingExtra: pypdfium2 is not installed.
    """
    folder = folder_for_images(images_to)
    with (
        reading_within(name=source_name(source)),
        opened(source, password) as (pdfium, pdf, name, size),
    ):
        count_bytes(size)
        pages, found = _pages(pdfium, pdf, name)
        stem = "" if isinstance(source, bytes) else f"{Path(source).stem}-"
        pictures = written_pictures(pdf, without_repeated(found), folder, stem)
    return [
        replace(page, pictures=shown)
        for page, shown in zip(pages, pictures, strict=True)
    ]


def title_of_pdf(source: Source, *, password: str | None = None) -> str:
    """The title in the file's metadata. One that a program made up is ""."""
    with opened(source, password) as (_, pdf, _, _):
        try:
            title = str(pdf.get_metadata_value("Title") or "").replace("\0", "")
        except UnicodeDecodeError:  # UTF-16 that is cut off or wrong
            title = ""
    return own_title(title)


@contextmanager
def opened(source: Source, password: str | None) -> Iterator[tuple[Any, Any, str, int]]:
    """PDFium, the open file, how errors name it, and its bytes. Afterwards the file is closed, and
    PDFium free for other threads."""
    check_password(password)
    data, name = _read(source)
    pdfium = require("pypdfium2", extra="pdf")
    with _PDFIUM:
        try:
            pdf = pdfium.PdfDocument(data, password=password)
        except pdfium.PdfiumError as error:
            # The error's code is then one from before.
            if _opens(pdfium.raw, data, password):
                raise InvalidDocument(
                    f"{name} is an empty PDF: it has no pages. Check how it was made."
                ) from error
            raise _refusal(pdfium, error, name, password) from error
        try:
            yield pdfium, pdf, name, len(data)
        finally:
            pdf.close()


def source_name(source: object) -> str:
    """What errors call a PDF."""
    is_path = isinstance(source, str | os.PathLike)
    return shown(Path(source)) if is_path else "The PDF"  # type: ignore[arg-type]


def check_password(password: object) -> None:
    """Raise InvalidParameter unless a password is None or valid UTF-8."""
    if password is None:
        return
    if not isinstance(password, str):
        raise InvalidParameter(
            f"password must be a string or None; got {type(password).__name__}. Give it as "
            "password='...'."
        )
    if any("\ud800" <= character <= "\udfff" for character in password):
        raise InvalidParameter(
            "password must be a string of whole characters; got one with a lone surrogate. Decode "
            "it anew from its bytes."
        )


def _read(source: Source) -> tuple[bytes, str]:
    """The bytes of a PDF and its name. Raises InvalidDocument for what is wrong with it as far as
    the bytes show."""
    name = source_name(source)
    if isinstance(source, bytes):
        data = source
    elif isinstance(source, str | os.PathLike):
        data = file_bytes(Path(source))
    else:
        raise InvalidParameter(
            f"source must be a path or the bytes of a PDF; got {type(source).__name__}."
        )
    if not data:
        raise InvalidDocument(f"{name} is empty (0 bytes). Get the file again.")
    if b"%PDF-" not in data[:1024]:
        raise InvalidDocument(
            f"{name} is not a PDF: it does not begin with %PDF-. Check the file."
        )
    if b"%%EOF" not in data[-2048:] and b"startxref" not in data[-2048:]:
        raise InvalidDocument(
            f"{name} is cut off: the end mark of a PDF is missing. Get the file again."
        )
    return data, name


def _refusal(
    pdfium: Any, error: Any, name: str, password: str | None
) -> InvalidDocument:
    if error.err_code == pdfium.raw.FPDF_ERR_PASSWORD:
        if password is None:
            return InvalidDocument(
                f"{name} is encrypted. Give its password as password='...'."
            )
        return InvalidDocument(
            f"{name} is encrypted, and the password given does not open it."
        )
    if error.err_code == pdfium.raw.FPDF_ERR_SECURITY:
        return InvalidDocument(
            f"{name} is encrypted in a way that cannot be read. Save it without encryption first."
        )
    return InvalidDocument(
        f"{name} is damaged and cannot be read as PDF. Open and save it in a viewer, or get it "
        "again."
    )


def _opens(raw: Any, data: bytes, password: str | None) -> bool:
    """Whether PDFium itself opens a file; pypdfium2 refuses one without pages."""
    key = None if password is None else password.encode("utf-8") + b"\0"
    handle = raw.FPDF_LoadMemDocument64(data, len(data), key)
    if handle:
        raw.FPDF_CloseDocument(handle)
    return bool(handle)


def _pages(pdfium: Any, pdf: Any, name: str) -> tuple[list[Page], list[list[Found]]]:
    """The pages, and the pictures found on each."""
    pages: list[Page] = []
    pictures: list[list[Found]] = []
    named = bookmarks(pdf)
    with form_of(pdfium.raw, pdf) as form:
        for i in range(len(pdf)):
            bookmarked = None if named is None else named[i]
            try:
                page, found = _page(pdfium.raw, pdf[i], form, bookmarked)
            except pdfium.PdfiumError as error:
                raise InvalidDocument(
                    f"Page {i + 1} of {name} is damaged and cannot be read. Get the file again."
                ) from error
            # One page can be named thousands of times.
            spend_characters(sum(len(line.text) for line in page.lines))
            pages.append(page)
            pictures.append(found)
    if any(page.lines for page in pages):
        return pages, pictures
    scans = [i for i, page in enumerate(pages, start=1) if page.images]
    if scans:
        raise InvalidDocument(
            f"{name} is a scan: no page holds text, and there are pictures on "
            f"{'page' if len(scans) == 1 else 'pages'} {page_ranges(scans)}. "
            "Run OCR (text recognition) on it first."
        )
    raise InvalidDocument(
        f"{name} holds no text on its {pluralise(len(pages), 'page')}. If a viewer shows text, it "
        "is drawn as shapes: run OCR on it first."
    )


@contextmanager
def form_of(raw: Any, pdf: Any) -> Iterator[Any]:
    """What gives the values of the file's form; None if it has none."""
    if pdf.get_formtype() == raw.FORMTYPE_NONE:
        yield None
        return
    info = raw.FPDF_FORMFILLINFO(version=2)  # must live as long as the form
    form = raw.FPDFDOC_InitFormFillEnvironment(pdf, info)
    try:
        yield form
    finally:
        raw.FPDFDOC_ExitFormFillEnvironment(form)


def _page(
    raw: Any, page: Any, form: Any, bookmarked: list[NamedHeading] | None
) -> tuple[Page, list[Found]]:
    """A page with what its bookmarks name, or its tags where the file has no bookmarks; and its
    pictures."""
    textpage = page.get_textpage()
    try:
        laid_out, turn, _ = laid_out_page(raw, page, textpage, form)
        found = read_pictures(raw, page.raw, turn) if laid_out.images else []
        if bookmarked is None:
            named = tagged_headings(raw, page, textpage.raw)
        else:
            named = [
                heading._replace(
                    top=None if heading.top is None else turn.point(0, heading.top)[1]
                )
                for heading in bookmarked
            ]
    finally:
        textpage.close()
        page.close()
    return replace(laid_out, headings=tuple(named)), found


def laid_out_page(
    raw: Any, page: Any, textpage: Any, form: Any
) -> tuple[Page, Turn, dict[Line, list[TextPiece]]]:
    """A page without its headings and pictures, how it is turned, and the pieces of its lines."""
    pieces, quarters = read_pieces(raw, textpage.raw)
    if quarters < 0:  # no text tells how the page is read
        quarters = page.get_rotation() // 90
    turn = Turn(quarters, tuple(page.get_bbox()))
    pieces += left_out_repeats(raw, page.raw, pieces)
    images, grids = read_shapes(raw, page.raw, turn)
    drawn = lines_of(pieces, turn, grids)
    lines, comments = with_typed(raw, page.raw, form, turn, [line for line, _ in drawn])
    lines, tables = reading_order(lines, grids)
    laid_out = Page(tuple(lines), *turn.size, images, tuple(tables), comments=comments)
    return laid_out, turn, dict(drawn)


def page_ranges(numbers: list[int]) -> str:
    """`[1, 2, 3, 5]` as "1-3, 5"."""
    ranges: list[list[int]] = []
    for number in numbers:
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1][1] = number
        else:
            ranges.append([number, number])
    return ", ".join(
        f"{first}-{last}" if last > first else str(first) for first, last in ranges
    )
