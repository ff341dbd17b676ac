"""Who reads a PDF: our own reader, pdfplumber, docling, or a function."""

from __future__ import annotations

import io
import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias

from structrag.errors import InvalidDocument, InvalidParameter, require
from structrag.reading.opening import check_file, check_reader, path_of
from structrag.reading.pdf.pages import Grid, Line, Page
from structrag.reading.pdf.reader import Source, check_password, read_pdf
from structrag.reading.pdf.reading_order import reading_order
from structrag.text.amounts import amount

Pages: TypeAlias = "Sequence[Page] | Sequence[str]"
PdfReader: TypeAlias = "str | Callable[[Source], Pages | str] | Any"

# of the font size
GAP = 1.0  # a wider gap between two words begins another line
RISE = 0.5  # words whose feet differ by no more stand in one row


def pages_of(
    source: Source, *, reader: PdfReader = "layout", password: str | None = None
) -> list[Page] | list[str]:
    """The pages of a PDF as a reader gives them.

    Args:
        source: A path, or the bytes of the file.
        reader: "layout" is ours (extra `pdf`), which reads the text and its places with PDFium.
            "pdfplumber" gives text, places and ruled tables (extra `pdfplumber`). "docling" gives
            Markdown by trained models (extra `docling`). Or an object of your own: docling's
            `DocumentConverter`, or a function that is called with `source` and returns Markdown, a
            list with the Markdown of each page, or a list of `Page`.
        password: For an encrypted file; "layout" and "pdfplumber" take one.

    Returns:
        Pages with lines, for `markdown_of_pages`; or one string of Markdown for each page.

    Raises:
        InvalidParameter: `reader` is none of these, gave something else, or takes no password.
        InvalidDocument: the file cannot be read, or no page holds text.
        MissingExtra: the package of the reader is not installed.
    """
    check_password(password)
    if isinstance(reader, str):
        if not isinstance(source, bytes):
            check_file(path_of(source))
        check_reader(reader)
        if reader == "layout":
            return read_pdf(source, password=password)
        if reader == "pdfplumber":
            return _with_text(read_with_pdfplumber(source, password=password), source)
        docling: Any = require("docling.document_converter", extra="docling")
        reader = docling.DocumentConverter()
    if password is not None:
        raise InvalidParameter(
            "password is for the readers 'layout' and 'pdfplumber'; decrypt the file, or open it "
            "with the password in a reader of your own."
        )
    if hasattr(reader, "convert"):
        return _with_text(_converted(reader, source), source)
    if not callable(reader):
        raise InvalidParameter(
            "reader must be 'layout', 'pdfplumber', 'docling', a docling DocumentConverter or a "
            f"function of the PDF's path or bytes; got {type(reader).__name__}."
        )
    pages = reader(source)
    return _with_text([pages] if isinstance(pages, str) else pages, source)


def read_with_pdfplumber(source: Source, *, password: str | None = None) -> list[Page]:
    """The pages of a PDF by pdfplumber: lines, pictures and ruled tables.

    Raises:
        InvalidDocument: pdfplumber cannot open or read the file.
        MissingExtra: pdfplumber is not installed.
    """
    package: Any = require("pdfplumber", extra="pdfplumber")
    file = io.BytesIO(source) if isinstance(source, bytes) else Path(source)
    try:
        with package.open(file, password=password or "") as pdf:
            return [_page(page) for page in pdf.pages]
    # Pdfminer raises its own and Python's errors for a broken file.
    except Exception as error:
        raise InvalidDocument(
            f"{_name(source)} cannot be read by pdfplumber: {type(error).__name__} {error}. It is "
            "missing, encrypted, damaged or no PDF."
        ) from error


def _page(page: Any) -> Page:
    words = page.extract_words(extra_attrs=["fontname", "size"], use_text_flow=False)
    lines = [_line(run) for run in _runs(words)]
    grids = [grid for table in page.find_tables() if (grid := _grid(table)) is not None]
    ordered, tables = reading_order(lines, grids)
    boxes = [(box["x0"], box["top"], box["x1"], box["bottom"]) for box in page.images]
    width, height = float(page.width), float(page.height)
    return Page(tuple(ordered), width, height, tuple(boxes), tuple(tables))


def _runs(words: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Words of one row without a wide gap between them.

    The words come row by row, left to right.
    """
    run: list[dict[str, Any]] = []
    for word in words:
        if run and not _goes_on(run[-1], word):
            yield run
            run = []
        run.append(word)
    if run:
        yield run


def _goes_on(last: dict[str, Any], word: dict[str, Any]) -> bool:
    size = max(word["size"], last["size"])
    same_row = abs(word["bottom"] - last["bottom"]) <= RISE * size
    beside = -size < word["x0"] - last["x1"] <= GAP * size
    return bool(same_row and beside and word["upright"] == last["upright"])


def _line(words: list[dict[str, Any]]) -> Line:
    sizes: Counter[float] = Counter()
    for word in words:
        sizes[round(float(word["size"]), 2)] += len(word["text"])
    return Line(
        " ".join(word["text"] for word in words),
        max(sizes, key=sizes.__getitem__),
        all("bold" in word["fontname"].lower() for word in words),
        float(words[0]["x0"]),
        float(words[-1]["x1"]),
        float(min(word["top"] for word in words)),
        float(max(word["bottom"] for word in words)),
        bool(words[0]["upright"]),
    )


def _grid(table: Any) -> Grid | None:
    """Where the rules of a table cross; None for a lone box."""
    cells = [cell for row in table.rows for cell in row.cells if cell]
    columns = sorted({float(cell[i]) for cell in cells for i in (0, 2)})
    rows = sorted({float(cell[i]) for cell in cells for i in (1, 3)})
    if max(len(columns), len(rows)) <= 2:
        return None
    return Grid(tuple(columns), tuple(rows))


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
            f"{_name(source)} holds no text on its {amount(len(pages), 'page')}. If it is a scan, "
            "run OCR on it first."
        )
    return pages


def _name(source: Source) -> str:
    return "The PDF" if isinstance(source, bytes) else repr(os.fspath(source))
