"""Files as texts with metadata, for the loaders of both frameworks."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
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
    is_callers_own,
    other_files,
    registered_format,
    with_inputs,
)
from structrag.reading.formats import (
    by_media_type,
    callers_formats,
    converted,
    draft_facts,
)
from structrag.reading.isolated import Isolated, apart_or_here
from structrag.reading.limits import Limits, limits_now, reading_within
from structrag.reading.opening import check_images_to, check_reader, file_bytes, shown
from structrag.reading.processes import read_apart
from structrag.reading.sections import warn_if_flat
from structrag.records import Document
from structrag.text.numbers import pluralise

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
    """How files are read.

    Example:
        >>> FileReading(isolated=True).reader
        'layout'

    Attributes:
        reader: "layout", "docling" or a function, as in `structrag.read_file`.
        isolated: Whether a reader process reads them, as in `structrag.read_file`.
        password: For encrypted files.
        images_to: A folder for the pictures of PDF files, as in `structrag.read_file`. Those of a
            folder's files lie in folders of the same names, those of bytes in one named by them.
    """

    reader: Any = "layout"
    isolated: Isolated = "auto"
    password: str | None = field(default=None, repr=False)
    images_to: str | os.PathLike[str] | None = None
    limits: Limits | None = None

    def __post_init__(self) -> None:
        check_reader(self.reader)
        check_images_to(self.images_to, self.reader)

    def load(self, path: Path, inside: str | PurePath = "") -> LoadedText:
        """Read a file, with its pictures `inside` their folder. Raises InvalidDocument if it cannot
        be read."""
        with reading_within(self.limits, shown(path)):
            return apart_or_here(
                lambda: self._load_apart(b"", path=str(path), inside=str(inside)),
                lambda: self._load_here(path, inside),
                False if is_callers_own(path) else self.isolated,
                is_pdf=is_pdf(path),
                reader=self.reader,
            )

    def _load_here(self, path: Path, inside: str | PurePath) -> LoadedText:
        if is_pdf(path):
            return self._load_pdf(path, inside)
        loaded = load_bytes(file_bytes(path), str(path))
        text = with_inputs(path, loaded.text, loaded.metadata[FORMAT_KEY])
        return replace(loaded, text=text)

    def load_bytes(
        self, data: bytes, name: str, media_type: str | None = None
    ) -> LoadedText:
        """Read the bytes of a file of this name."""
        is_own = registered_format(name, data) in callers_formats()
        with reading_within(self.limits, shown(Path(name)) if name else ""):
            return apart_or_here(
                lambda: self._load_apart(data, name=name, media_type=media_type),
                lambda: self._load_bytes_here(data, name, media_type),
                False if is_own else self.isolated,
                is_pdf=is_pdf(name, media_type),
                reader=self.reader,
            )

    def _load_bytes_here(
        self, data: bytes, name: str, media_type: str | None
    ) -> LoadedText:
        if is_pdf(name, media_type):
            return self._load_pdf(data, PurePath(name).stem)
        return load_bytes(data, name, media_type)

    def _load_apart(self, data: bytes, **place: Any) -> LoadedText:
        name = place.get("path") or place.get("name")
        images_to = self.images_to and os.fspath(self.images_to)
        limits = limits_now()
        facts, text = read_apart(
            f"{__name__}:load_here",
            {
                **place,
                "limits": asdict(limits),
                "password": self.password,
                "images_to": images_to,
            },
            data,
            limits,
            shown(Path(name)) if name else "The file",
        )
        return LoadedText(text, facts["metadata"])

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

        options: dict[str, Any] = (
            {"password": self.password} if self.password is not None else {}
        )
        if self.images_to is not None:
            options["images_to"] = Path(self.images_to) / inside
        document = pdf_document(source, reader=self.reader, **options)
        warn_if_flat(document, "PDF")
        return _of_document(document)


def load_here(arguments: Mapping[str, Any], data: bytes) -> tuple[dict[str, Any], str]:
    """The reader process's part of `FileReading`."""
    reading = FileReading(
        isolated=False,
        password=arguments["password"],
        images_to=arguments["images_to"],
        limits=Limits(**arguments["limits"]),
    )
    if "path" in arguments:
        loaded = reading.load(Path(arguments["path"]), arguments["inside"])
    else:
        loaded = reading.load_bytes(data, arguments["name"], arguments["media_type"])
    return {"metadata": loaded.metadata}, loaded.text


class FileReader:
    """What a host's loaders of files have in common."""

    def __init__(
        self,
        *,
        reader: Any = "layout",
        isolated: Isolated = "auto",
        password: str | None = None,
        images_to: str | os.PathLike[str] | None = None,
        limits: Limits | None = None,
    ) -> None:
        self.reading: FileReading = FileReading(
            reader, isolated, password, images_to, limits
        )


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
