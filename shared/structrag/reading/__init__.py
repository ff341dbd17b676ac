"""From a file or a string to a `Document` and its `Outline`. Markdown, HTML, PDF and plain text;
all offsets are characters of the document's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from structrag._lazy import lazy_names

if TYPE_CHECKING:
    from structrag.reading.files import find_files, read_file, read_text
    from structrag.reading.limits import Limits
    from structrag.reading.outline import Outline
    from structrag.reading.paging import pages_between
    from structrag.reading.sections import parse
    from structrag.reading.settings import ReadOptions

_HOMES = {
    "Limits": "structrag.reading.limits",
    "Outline": "structrag.reading.outline",
    "ReadOptions": "structrag.reading.settings",
    "find_files": "structrag.reading.files",
    "pages_between": "structrag.reading.paging",
    "parse": "structrag.reading.sections",
    "read_file": "structrag.reading.files",
    "read_text": "structrag.reading.files",
}
__all__ = [
    "Limits",
    "Outline",
    "ReadOptions",
    "find_files",
    "pages_between",
    "parse",
    "read_file",
    "read_text",
]
if not TYPE_CHECKING:  # or type checkers would take any name
    __getattr__, __dir__ = lazy_names(__name__, _HOMES)
