"""Zip packages (Word, OpenDocument, EPUB) and the XML inside, opened without trust."""

from __future__ import annotations

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import NoReturn
from urllib.parse import unquote
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

from structrag.errors import InvalidDocument
from structrag.reading.decoding import xml_text
from structrag.reading.limits import (
    check_depth,
    count_bytes,
    spend_unpacked,
    unpacked_left,
    use_part,
)

_MOST_NODES = (
    20_000_000  # tags and attributes of one part; few bytes, but 1 GB of memory
)
_ENTRY = 1_000  # bytes of memory that an entry of the directory takes

_OTHERS = (  # the first bytes of files that are often given a wrong suffix
    (b"%PDF", "it is a PDF file"),
    (b"{\\rtf", "it is an RTF file"),
    (b"\x89PNG", "it is a picture"),
    (b"\xff\xd8\xff", "it is a picture"),
    (b"<", "it is an HTML or XML file"),
)
OLE = b"\xd0\xcf\x11\xe0"
ENCRYPTED = "EncryptedPackage".encode("utf-16-le")
_MANIFEST = "META-INF/manifest.xml"  # of OpenDocument
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    ValueError,
)
_DC_TITLE = "{http://purl.org/dc/elements/1.1/}title"
_STRICT = re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/")


@dataclass(frozen=True, slots=True)
class Relation:
    """What a part of an Office Open XML package refers to."""

    id: str
    kind: str  # the last word of its type: "styles", "image", "hyperlink"
    target: str  # the name of a part, or an address where it is external
    is_external: bool


def refuse(name: str, reason: str) -> NoReturn:
    """Raise InvalidDocument for a file that cannot be read. `reason` is the rest of the sentence,
    with what to do."""
    raise InvalidDocument(f"Cannot read {name or 'the document'}: {reason}")


class Package:
    """A zip package in memory. Raises InvalidDocument for what is none, or encrypted.

    Example:
        >>> import io
        >>> from zipfile import ZipFile
        >>> file = io.BytesIO()
        >>> with ZipFile(file, "w") as archive:
        ...     archive.writestr("word/document.xml", "<document/>")
        >>> package = Package(file.getvalue(), "report.docx")
        >>> package.xml("word/document.xml").tag
        'document'

    Args:
        data: The file's bytes.
        name: What errors call the file.
    """

    def __init__(self, data: bytes, name: str = "") -> None:
        self.name = name
        self._packed = len(data)
        self._relations: dict[str, list[Relation]] = {}  # that were read
        if not data.startswith(b"PK"):
            self._refuse_other(data)
        spend_unpacked(_ENTRY * data.count(b"PK\x01\x02"), len(data))
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except _BROKEN as error:
            refuse(
                name,
                f"its zip package is broken or cut off ({error}). Save or copy it again.",
            )
        infos = self._zip.infolist()
        self._parts = {_key(info.filename): info for info in infos}
        self.names = tuple(info.filename.replace("\\", "/") for info in infos)
        is_locked = _MANIFEST in self and b"encryption-data" in self.data(_MANIFEST)
        if is_locked or any(info.flag_bits & 1 for info in infos):
            self.refuse("it is encrypted. Save it without a password.")

    def _refuse_other(self, data: bytes) -> NoReturn:
        if data.startswith(OLE):
            if ENCRYPTED in data:
                self.refuse("it is encrypted. Save it without a password.")
            self.refuse(
                "it is in the binary format used before Office 2007. Save it in the current "
                "format."
            )
        if not data:
            self.refuse("it is empty.")
        start = data[:64].lstrip(b"\xef\xbb\xbf \t\r\n")
        what = next((f": {w}" for mark, w in _OTHERS if start.startswith(mark)), "")
        self.refuse(
            f"its content does not match its suffix{what}. Give it the suffix of its real format."
        )

    def refuse(self, reason: str) -> NoReturn:
        """Raise InvalidDocument that names the file."""
        refuse(self.name, reason)

    def __contains__(self, part: str) -> bool:
        return _key(part) in self._parts

    def data(self, part: str) -> bytes:
        """A part, unpacked. Raises InvalidDocument where it is missing, broken or too large."""
        info = self._parts.get(_key(part))
        if info is None:
            self.refuse(f"its part {part} is missing. Save it again.")
        is_first = use_part(_key(part)) == 1
        try:
            if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                raise NotImplementedError("its compression is not that of documents")
            with self._zip.open(info) as file:
                # The directory may lie about the size, so no more is unpacked than it says.
                data = file.read(min(info.file_size, unpacked_left(self._packed)) + 1)
        except _BROKEN as error:
            self.refuse(
                f"its part {part} is broken or cut off ({error}). Save or copy it again."
            )
        spend_unpacked(len(data), self._packed)
        count_bytes(is_first * len(data))
        return data

    def xml(self, part: str) -> Element:
        """The root of a part. Names of strict Office Open XML become those of the usual one."""
        data = self.data(part)
        if b"purl.oclc.org/ooxml" in data:
            data = _STRICT.sub(rb"http://schemas.openxmlformats.org/\1/2006/", data)
        return safe_xml(data, self.name, part)

    def title(self, part: str) -> str:
        """The `dc:title` in a part; "" where there is none, or the part cannot be read."""
        try:
            found = self.xml(part).iter(_DC_TITLE) if part in self else ()
        except InvalidDocument:  # the document is no worse for it
            return ""
        return " ".join(next((each.text or "" for each in found), "").split())

    def relations(self, part: str = "") -> list[Relation]:
        """What a part refers to, or the package itself for ""; parts that are missing too."""
        folder, file = posixpath.split(part)
        path = posixpath.join(folder, "_rels", f"{file}.rels")
        use_part(path)  # also where it was read before
        if path in self._relations or path not in self:
            return self._relations.get(path, [])
        self._relations[path] = relations = [
            Relation(
                each.get("Id", ""),
                each.get("Type", "").rpartition("/")[2],
                target
                if (is_external := each.get("TargetMode") == "External")
                else joined(folder, target),
                is_external,
            )
            for each in self.xml(path)
            if (target := each.get("Target", ""))
        ]
        return relations

    def related(self, part: str, kind: str) -> str:
        """The first part of a kind that a part refers to and that is there; "" if none."""
        return next(
            (
                each.target
                for each in self.relations(part)
                if each.kind == kind and not each.is_external and each.target in self
            ),
            "",
        )


def joined(folder: str, target: str) -> str:
    """The name of the part that `target` means in a folder. It never leaves the package.

    Example:
        >>> joined("word", "../media/a%20b.png#x")
        'media/a b.png'
    """
    path = unquote(target.partition("#")[0]).replace("\\", "/")
    return posixpath.normpath(posixpath.join("/", folder, path)).lstrip("/")


def _key(part: str) -> str:
    return part.replace("\\", "/").lower()


class _Builder(ElementTree.TreeBuilder):
    def __init__(self, name: str, part: str) -> None:
        super().__init__()
        self._file = name
        self._part = part

    def doctype(self, name: str, pubid: str, system: str) -> None:
        refuse(
            self._file,
            f"{self._part} declares a document type ({name}), which could load other files. Save "
            "it without the declaration.",
        )


def safe_xml(data: bytes, name: str = "", part: str = "its XML") -> Element:
    """The root element of XML that may be hostile. Raises InvalidDocument for a document type
    (entities stand there), what is not well-formed, too deep, or has more than 20 million tags and
    attributes."""
    if len(data) > _MOST_NODES < data.count(b"<") + data.count(b"="):
        refuse(
            name,
            f"{part} has more than {_MOST_NODES:,} tags and attributes. Split the file.",
        )
    parser = ElementTree.XMLParser(target=_Builder(name, part))
    try:
        parser.feed(xml_text(data, name))
        root: Element = parser.close()
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        if isinstance(error, InvalidDocument):
            raise
        refuse(name, f"{part} is not well-formed XML ({error}). Save it again.")
    level, depth = [root], 0
    while level:
        depth += 1
        level = [child for each in level for child in each]
    check_depth(depth)
    return root


def walk(
    root: Element,
    enter: Callable[[Element], bool],
    leave: Callable[[Element], None],
) -> None:
    """Visit all elements below `root` in their order, without recursion. `enter` says whether to go
    inside; `leave` comes behind an element that was entered or not."""
    path = [(root, iter(root))]
    while path:
        for child in path[-1][1]:
            if enter(child):
                path.append((child, iter(child)))
                break
            leave(child)
        else:
            element, _ = path.pop()
            if path:
                leave(element)
