"""Reading files of five formats: seconds against markitdown and the libraries that hold their text.

Peers that are not installed are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks.question_sets import data_root
from benchmarks.speed_tables import Table, by_turns, ratios, spread
from structrag.reading.files import read_file
from structrag.reading.sections import parse

PACKAGES = (
    "structrag",
    "markitdown",
    "python-docx",
    "python-pptx",
    "openpyxl",
    "EbookLib",
    "beautifulsoup4",
)
MOST = 40  # files of a format, at even distances
OURS = "structrag, sections and blocks"
Reader = Callable[[Path], object]


def run(repeat: int) -> list[Table]:
    """The one table of this part."""
    rows = []
    figures: dict[str, Any] = {}
    for suffix, name, module, library in (
        ("docx", "python-docx", "docx", _docx),
        ("pptx", "python-pptx", "pptx", _pptx),
        ("xlsx", "openpyxl", "openpyxl", _xlsx),
        ("epub", "EbookLib and BeautifulSoup", "ebooklib", _epub),
        ("html", "BeautifulSoup", "bs4", _html),
    ):
        files = _files(suffix)
        readers: dict[str, Reader] = {OURS: _ours}
        if find_spec(module):
            readers[name] = library
        if find_spec("markitdown"):
            from markitdown import MarkItDown

            readers["markitdown"] = MarkItDown().convert
        tasks = {key: partial(_each, files, read) for key, read in readers.items()}
        timings = by_turns(tasks, min(repeat, 3))
        for key, timing in timings.items():
            figures[f"{suffix}, {key}"] = timing.cpu
            times = spread(ratios(timing.cpu, timings[OURS].cpu), 2)
            each = spread([1000 * value / len(files) for value in timing.cpu])
            rows.append((suffix, str(len(files)), key, each, times))
    note = "CPU time in one process; that of a refused file ends there."
    columns = ("format", "files", "reader", "ms a file", "times ours")
    return [
        Table("Files to text", columns, tuple(rows), notes=(note,), figures=figures)
    ]


def _files(suffix: str) -> list[Path]:
    folder = data_root() / ("parsing" if suffix == "html" else "formats")
    files = sorted(folder.rglob(f"*.{suffix}"))
    return files[:: -(-len(files) // MOST)]


def _each(files: list[Path], read: Reader) -> None:
    for file in files:
        with suppress(Exception):  # peers raise anything
            read(file)


def _ours(file: Path) -> object:
    return parse(read_file(file, isolated=False))


def _docx(file: Path) -> str:
    import docx

    document = docx.Document(str(file))
    texts = [paragraph.text for paragraph in document.paragraphs]
    for table in document.tables:
        texts += [cell.text for row in table.rows for cell in row.cells]
    return "\n".join(texts)


def _pptx(file: Path) -> str:
    import pptx

    slides = pptx.Presentation(str(file)).slides
    shapes = (shape for slide in slides for shape in slide.shapes)
    return "\n".join(shape.text_frame.text for shape in shapes if shape.has_text_frame)


def _xlsx(file: Path) -> str:
    import openpyxl

    sheets = openpyxl.load_workbook(file, read_only=True, data_only=True)
    rows = (row for sheet in sheets for row in sheet.iter_rows(values_only=True))
    return "\n".join(map(str, rows))


def _epub(file: Path) -> str:
    from ebooklib import ITEM_DOCUMENT, epub

    items = epub.read_epub(str(file)).get_items_of_type(ITEM_DOCUMENT)
    return "\n".join(_text(item.get_content()) for item in items)


def _html(file: Path) -> str:
    return _text(file.read_bytes())


def _text(markup: bytes) -> str:
    from bs4 import BeautifulSoup

    return str(BeautifulSoup(markup, "lxml").get_text("\n"))
