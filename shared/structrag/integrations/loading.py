"""Files as texts with metadata, for the loaders of both frameworks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePath
from typing import Any

from structrag.errors import InvalidParameter, StructragError, warn_user
from structrag.integrations.documents import MEDIA_TYPES, is_pdf
from structrag.integrations.metadata import FORMAT_KEY
from structrag.reading.decoding import decoded
from structrag.reading.files import (
    OFFICE_SUFFIXES,
    find_files,
    format_of_file,
    other_files,
    registered_format,
    with_inputs,
)
from structrag.reading.flat import warn_if_flat
from structrag.reading.formats import by_media_type, converted, draft_facts
from structrag.reading.opening import check_images_to, check_reader, file_bytes
from structrag.records import Document
from structrag.text.plurals import pluralise

MOST_NAMES = 5  # of files left out for one reason; the others are a number
_OTHER_KIND = "in an unsupported format"
_OFFICE = (
    "readable by docling or Unstructured; pass their documents to from_docling or "
    "from_unstructured"
)


@dataclass(frozen=True, slots=True)
class LoadedText:
    """The text of a file, and what is known of it.

    Example:
        >>> load_bytes(b"# Pumps", "pumps.md").metadata
        {'text_format': 'markdown'}

    Attributes:
        text: As it stands in the file; of a PDF Markdown made by its layout. HTML keeps its markup.
        metadata: `text_format` ("markdown", "html", "text" or the name of another markup), by which
            splitters and retrievers know how to read it; of files that become Markdown `title`,
            `page_starts` and `place_starts`; of a PDF `title`, `pages` and `pages_without_text`
            (their numbers, with commas between); `undecodable` characters if there are any.
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
        images_to: A folder for the pictures of PDF files, as in `structrag.read_file`. Those of a
            folder's files lie in folders of the same names, those of bytes in one named by them.
    """

    reader: Any = "layout"
    isolated: bool = False
    password: str | None = field(default=None, repr=False)
    images_to: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        check_reader(self.reader)
        check_images_to(self.images_to, self.reader)

    def load(self, path: Path, inside: str | PurePath = "") -> LoadedText:
        """Read a file, with its pictures `inside` their folder. Raises InvalidDocument if it cannot
        be read."""
        if is_pdf(path):
            return self._load_pdf(path, inside)
        isolated = self._load_isolated(path) if self.isolated else None
        if isolated:
            return isolated
        loaded = load_bytes(file_bytes(path), str(path))
        text = with_inputs(path, loaded.text, loaded.metadata[FORMAT_KEY])
        return replace(loaded, text=text)

    def load_bytes(
        self, data: bytes, name: str, media_type: str | None = None
    ) -> LoadedText:
        """Read the bytes of a file of this name."""
        if is_pdf(name, media_type):
            return self._load_pdf(data, PurePath(name).stem)
        return load_bytes(data, name, media_type)

    def _load_isolated(self, path: Path) -> LoadedText | None:
        """A file that becomes Markdown, read in a process of its own; None for any other."""
        from structrag.reading.pdf.isolation import isolated_document

        format = registered_format(path.name, file_bytes(path))
        if format is None:
            return None
        return _of_document(isolated_document(path, format=format.name))

    def load_all(self, path: Path) -> Iterator[tuple[Path, LoadedText]]:
        """The file, or those of a folder, each with its text.

        Those of a folder are what `find_files` gives. One warning at the end names what was skipped
        in a folder, and why: files of other formats, and files that cannot be read.

        Raises:
            InvalidDocument: nothing is there, or the file itself cannot be read.
        """
        left_out: dict[str, list[str]] = {}  # by the reason

        def leave_out(file: Path, reason: str) -> None:
            left_out.setdefault(reason, []).append(file.name)

        read = 0
        for file in find_files(path, left_out=leave_out):
            try:
                inside = file.relative_to(path).parent
                loaded = self.load(file, inside)
            except StructragError as error:
                if file == path:
                    raise
                leave_out(file, str(error))
                continue
            read += 1
            yield file, loaded
        for file in sorted(other_files(path)):
            is_office = file.suffix.lower() in OFFICE_SUFFIXES
            leave_out(file, _OFFICE if is_office else _OTHER_KIND)
        if left_out or not read:
            warn_user(_told(path, read, left_out))

    def _load_pdf(self, source: Path | bytes, inside: str | PurePath) -> LoadedText:
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
        if self.images_to is not None:
            options["images_to"] = Path(self.images_to) / inside
        document = read(source, reader=self.reader, **options)
        warn_if_flat(document, "PDF")
        return _of_document(document)


class FileReader:
    """What a host's loaders of files have in common."""

    def __init__(
        self,
        *,
        reader: Any = "layout",
        isolated: bool = False,
        password: str | None = None,
        images_to: str | os.PathLike[str] | None = None,
    ) -> None:
        self.reading: FileReading = FileReading(reader, isolated, password, images_to)


def _of_document(document: Document) -> LoadedText:
    """A file that has become Markdown."""
    facts = {key: value for key, value in document.meta.items() if key != "source"}
    if "pages_without_text" in facts:  # a string, since stores take no lists
        facts["pages_without_text"] = ", ".join(map(str, facts["pages_without_text"]))
    title = {"title": document.title} if document.title else {}
    return LoadedText(document.text, {FORMAT_KEY: "markdown", **title, **facts})


def _told(path: Path, read: int, left_out: dict[str, list[str]]) -> str:
    """What was left out of a folder: how many, why, and the first names."""
    count = sum(map(len, left_out.values()))
    parts = [f"{pluralise(read, 'file')} of {str(path)!r} read, {count} left out."]
    for reason, names in left_out.items():
        shown = ", ".join(names[:MOST_NAMES])
        others = len(names) - MOST_NAMES
        more = f" and {pluralise(others, 'other')}" if others > 0 else ""
        parts.append(f"{shown}{more}: {reason.rstrip('.')}.")
    return " ".join(parts)


def load_bytes(data: bytes, name: str, media_type: str | None = None) -> LoadedText:
    """The text of a file other than a PDF. It is read by its media type, its suffix or what it
    looks like."""
    bare = (media_type or "").partition(";")[0].strip().lower()
    by_type = by_media_type(bare)
    registered = by_type or registered_format(name, data)
    if registered and not registered.is_markup:
        draft = converted(registered, data, name)
        facts: dict[str, Any] = {FORMAT_KEY: "markdown"}
        facts |= {"title": draft.title} if draft.title else {}
        return LoadedText(draft.text, {**facts, **draft_facts(draft)})
    text, undecodable = decoded(data, name)
    kind = by_type.name if by_type else MEDIA_TYPES.get(bare)
    format = kind or format_of_file(name, text)
    facts = {FORMAT_KEY: format}
    if undecodable:
        facts["undecodable"] = undecodable
    return LoadedText(text, facts)


def check_paths(paths: Any, name: str = "path") -> list[str | os.PathLike[str]]:
    """One or more paths, as a caller names them. Raises InvalidParameter for anything else."""
    if isinstance(paths, str | os.PathLike):
        return [paths]
    is_list = isinstance(paths, Iterable) and not isinstance(paths, bytes | Mapping)
    checked = list(paths) if is_list else []
    if not checked or not all(isinstance(path, str | os.PathLike) for path in checked):
        wrong = [p for p in checked if not isinstance(p, str | os.PathLike)]
        got = f"a list with {wrong[0]!r}" if wrong else type(paths).__name__
        raise InvalidParameter(
            f"{name} must be a file, a folder, or a list of them, as strings or Paths; got "
            f"{'an empty list' if is_list and not checked else got}."
        )
    return checked
