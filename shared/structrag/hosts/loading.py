"""Files as texts with metadata, for the loaders of both frameworks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter, StructragError
from structrag.hosts.documents import MEDIA_TYPES, is_pdf
from structrag.hosts.metadata import FORMAT_KEY
from structrag.reading.decoding import decoded
from structrag.reading.files import (
    OFFICE_SUFFIXES,
    SUFFIXES,
    detect_format,
    find_files,
    kinds_of,
    other_files,
)
from structrag.reading.flat import warn_if_flat
from structrag.reading.opening import MAX_BYTES, check_reader, file_bytes


@dataclass(frozen=True, slots=True)
class LoadedText:
    """The text of a file, and what is known of it.

    Example:
        >>> load_bytes(b"# Pumps", "pumps.md").metadata
        {'text_format': 'markdown'}

    Attributes:
        text: As it stands in the file; of a PDF Markdown made by its layout. HTML keeps its markup.
        metadata: `text_format` ("markdown", "html" or "text"), by which splitters and retrievers
            know how to read it; of a PDF `title`, `pages` and `pages_without_text` (their numbers,
            with commas between); `undecodable` characters if there are any.
    """

    text: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FileReading:
    """How PDF files are read.

    Example:
        >>> FileReading(isolated=True).reader
        'layout'

    Attributes:
        reader: "layout", "docling" or a function, as in `structrag.read_file`.
        isolated: Whether each PDF is read in a process of its own, with limits.
        password: For encrypted files.
    """

    reader: Any = "layout"
    isolated: bool = False
    password: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        check_reader(self.reader)

    def load(self, path: Path) -> LoadedText:
        """Read a file. Raises InvalidDocument if it cannot be read."""
        if is_pdf(path):
            return self._load_pdf(path)
        return load_bytes(file_bytes(path, MAX_BYTES), str(path))

    def load_bytes(
        self, data: bytes, name: str, media_type: str | None = None
    ) -> LoadedText:
        """Read the bytes of a file of this name."""
        if is_pdf(name, media_type):
            return self._load_pdf(data)
        return load_bytes(data, name, media_type)

    def load_all(self, path: Path) -> Iterator[tuple[Path, LoadedText]]:
        """The file, or those of a folder, each with its text.

        Those of a folder are what `find_files` gives. A file of a folder that cannot be read is
        left out with a warning, and so are Word files and their like, and a folder with nothing to
        read.

        Raises:
            InvalidDocument: nothing is there, or the file itself cannot be read.
        """
        files = list(find_files(path))
        others = other_files(path)
        office = [file for file in others if file.suffix.lower() in OFFICE_SUFFIXES]
        if office:
            warnings.warn(
                f"{kinds_of(office)} in {str(path)!r} left out: docling or Unstructured read such "
                "files, and from_docling or from_unstructured take what they read.",
                stacklevel=2,
            )
        if not files:
            skipped = f" ({kinds_of(others)} skipped)" if others else ""
            warnings.warn(
                f"No Markdown, HTML, text or PDF file in {str(path)!r}{skipped}.",
                stacklevel=2,
            )
        for file in files:
            try:
                loaded = self.load(file)
            except StructragError as error:
                if file == path:
                    raise
                warnings.warn(f"A file was left out: {error}", stacklevel=2)
                continue
            yield file, loaded

    def _load_pdf(self, source: Path | bytes) -> LoadedText:
        # With the packages of an extra.
        from structrag.reading.pdf.document import pdf_document
        from structrag.reading.pdf.isolation import isolated_document

        read = (
            isolated_document
            if self.isolated and isinstance(source, Path)
            else pdf_document
        )
        options: dict[str, Any] = (
            {"password": self.password} if self.password is not None else {}
        )
        document = read(source, reader=self.reader, **options)
        warn_if_flat(document, "PDF")
        facts = {key: value for key, value in document.meta.items() if key != "source"}
        if "pages_without_text" in facts:  # a string, since stores take no lists
            facts["pages_without_text"] = ", ".join(
                map(str, facts["pages_without_text"])
            )
        title = {"title": document.title} if document.title else {}
        return LoadedText(document.text, {FORMAT_KEY: "markdown", **title, **facts})


def load_bytes(data: bytes, name: str, media_type: str | None = None) -> LoadedText:
    """The text of a file that is no PDF.

    It is read by its media type, its suffix or what it looks like.
    """
    text, undecodable = decoded(data, name)
    kind = MEDIA_TYPES.get((media_type or "").partition(";")[0].strip().lower())
    format = kind or SUFFIXES.get(Path(name).suffix.lower()) or detect_format(text)
    facts: dict[str, Any] = {FORMAT_KEY: format}
    if undecodable:
        facts["undecodable"] = undecodable
    return LoadedText(text, facts)


def check_paths(paths: Any) -> list[Path]:
    """One or more paths, as a caller names them.

    Raises InvalidParameter for anything else.
    """
    if isinstance(paths, str | Path):
        return [Path(paths)]
    is_list = isinstance(paths, Iterable) and not isinstance(paths, bytes | Mapping)
    checked = list(paths) if is_list else []
    if not checked or not all(isinstance(path, str | Path) for path in checked):
        raise InvalidParameter(
            "path must be a file, a folder, or a list of them, as strings or Paths; got "
            f"{type(paths).__name__}."
        )
    return [Path(path) for path in checked]
