"""A host framework's documents as structrag's: format, title, metadata and stable ids. Pages of a
file are joined again."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import date, time, timedelta
from decimal import Decimal
from enum import Enum
from fractions import Fraction
from functools import partial
from hashlib import sha256
from math import inf, isnan
from pathlib import PurePath
from typing import Any
from uuid import NAMESPACE_URL, UUID, uuid5

from structrag.integrations.metadata import FORMAT_KEY, PAGES_KEY
from structrag.reading.bridges.placed import Place
from structrag.reading.files import (
    PDF_SUFFIX,
    SUFFIXES,
    format_of_file,
    read_text,
)
from structrag.reading.formats import check_format, format_names
from structrag.reading.outline import own_title
from structrag.reading.paging import written_starts
from structrag.reading.sections import (
    LONG,
    MARKED_NOWHERE,
    READ_ELSEWHERE,
    is_flat,
    replace_facts,
    warn_of_flat,
)
from structrag.records import Document
from structrag.text.numbers import whole_number

FILE_KEYS = ("source", "file_path", "file_name")  # keys of a text's file
TYPE_KEYS = (
    "file_type",
    "mimetype",
    "mime_type",
    "content_type",
)  # and of its media type
MEDIA_TYPES = {
    "text/markdown": "markdown",
    "text/x-markdown": "markdown",
    "text/html": "html",
    "application/xhtml+xml": "html",
}
PDF_TYPE = "application/pdf"
# Types of what is missing in a table, those of pandas without importing it.
_MISSING = ("NoneType", "NaTType", "NAType")
_TAG_FIRST = re.compile(r"[\s\ufeff]*<[a-zA-Z!?/]")
# Names by which loaders tell which part of a source a text is: a kind of part, a mark, or a kind
# with its mark, such as "page", "index", "pageNumber" and "chunk_id".
_KINDS = (
    "page|row|sheet|slide|element|chunk|part|paragraph|para|section|article|verse|line|message|"
    "segment|block|cell|frame|scene|turn|clause|chapter|question|answer|comment|post|record|entry|"
    "item|sentence|passage|utterance|step|seq|sequence|start|table|figure|track|act|node|split"
)
_MARKS = (
    "id|number|num|no|nr|index|idx|offset|position|label|name|seconds|time|timestamp"
)
_TELLS_PART = re.compile(
    rf"(?!sectionid)"  # which our own chunks have
    rf"(?:{_KINDS}|(?!label|name|time)(?:{_MARKS})|(?:{_KINDS})(?:{_MARKS}))"
)
LONGEST_PLACE = 80  # characters; more is prose
PAGE_KEYS = ("page", "page_number", "page_label")  # which page of a file a text is


@dataclass(frozen=True, slots=True)
class HostDocument:
    """A host framework's document, reduced to what the core needs.

    Attributes:
        text: Its text, without metadata.
        metadata: As the host has it, of any types.
        id: Its identity; "" where it has none.
    """

    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    id: str = ""


def read_document(
    host: HostDocument,
    *,
    format: str = "auto",
    id: str = "",
    drop_navigation: bool = True,
) -> Document:
    """Read a host's document as one of structrag.

    Its metadata becomes JSON values. With the format "auto" the metadata tells it, else the text
    does. The title is the metadata's unless a program made it up, else as in `read_text`, at last
    the stem of the file's name. A long PDF or page of HTML in which another loader has left no
    heading is warned of.

    Example:
        >>> page = HostDocument("# Terms\\n\\nNet 30.", {"file_path": "/a/terms.md"})
        >>> document = read_document(page)
        >>> document.format, document.title
        ('markdown', 'Terms')

    Args:
        format: "markdown", "html", "text" or "auto".
        id: Default: `document_name` of it.
        drop_navigation: HTML: whether nav and elements of that role are left out.

    Raises:
        InvalidParameter: `format` is none of these.
    """
    check_format(format)
    if format == "auto":
        format = metadata_format(host.metadata, host.text)
    title, file = host.metadata.get("title"), file_of(host.metadata)
    document = read_text(
        host.text,
        format=format,
        id=id or document_name(host),
        title=own_title(title) if isinstance(title, str) else "",
        meta={"source": file} if file else {},  # for the title
        drop_navigation=drop_navigation,
    )
    document = replace_facts(document, meta=json_values(host.metadata))
    _warn_of_lost_headings(document, host)
    return document


def _warn_of_lost_headings(document: Document, host: HostDocument) -> None:
    """Warn where a loader has left no heading. Only of a long PDF or page of HTML. Pages of one
    file that come one after the other count together."""
    is_page = any(key in host.metadata for key in PAGE_KEYS)
    is_short = not is_page and len(document.text) < LONG
    kind = "" if is_short else _kind_of_file(host)
    if kind:
        file = file_of(host.metadata)
        if _flat_pages.add(
            file if is_page else "", len(document.text), partial(is_flat, document)
        ):
            # Markup that arrived as it is has lost nothing on its way.
            is_markup = document.format == "html"
            warn_of_flat(kind, MARKED_NOWHERE if is_markup else READ_ELSEWHERE)


def _kind_of_file(host: HostDocument) -> str:
    """The kind of file that another loader has read. "" for kinds that need no headings."""
    format = host.metadata.get(FORMAT_KEY)
    if format == "html":  # markup, of which nobody has said yet whether it has headings
        return "page of HTML"
    if format is not None:  # read or formatted here
        return ""
    types = [host.metadata[key] for key in TYPE_KEYS if host.metadata.get(key)]
    file = file_of(host.metadata)
    if any(is_pdf(file, media_type) for media_type in types or [None]):
        return "PDF"
    is_page = SUFFIXES.get(PurePath(file).suffix.lower()) == "html"
    return "page of HTML" if is_page else ""


class _FlatPages:
    """How many characters came without a heading. Counted over the pages of one file that come one
    after the other."""

    def __init__(self) -> None:
        self._file = ""
        self._characters: float = 0

    def add(self, file: str, characters: int, is_flat: Callable[[], bool]) -> bool:
        """Return True once a file, when too many characters have come with this page. A file ""
        stands alone.
        """
        if not file or file != self._file:
            self._file, self._characters = file, 0
        is_long = self._characters + characters >= LONG
        if not file and not is_long:
            return False
        has_headings = not is_flat()
        if has_headings or is_long:
            self._characters = -inf  # no more of this file
            return not has_headings
        self._characters += characters
        return False


_flat_pages = _FlatPages()


def file_of(metadata: Mapping[str, Any]) -> str:
    """The file or address that metadata names; "" if none."""
    return next((str(metadata[key]) for key in FILE_KEYS if metadata.get(key)), "")


def metadata_format(metadata: Mapping[str, Any], text: str) -> str:
    """The format of a text by its metadata.

    "markdown", "html" or "text", else "auto". A formatter's own note comes first, then the media
    type, then the suffix of the file. HTML is believed only of a text that begins with a tag: many
    loaders have rendered pages to text.
    """
    if metadata.get(FORMAT_KEY) in format_names():
        return str(metadata[FORMAT_KEY])
    types = [_media_type(metadata[key]) for key in TYPE_KEYS if metadata.get(key)]
    by_type = next((MEDIA_TYPES[name] for name in types if name in MEDIA_TYPES), None)
    format = by_type or format_of_file(file_of(metadata), text)
    is_rendered = format == "html" and not _TAG_FIRST.match(text)
    return "auto" if is_rendered else format


def is_pdf(name: Any, media_type: Any = None) -> bool:
    """Whether a file is a PDF. Its media type tells where that is known, else the suffix of its
    name."""
    if media_type:
        return _media_type(media_type) == PDF_TYPE
    return PurePath(str(name or "")).suffix.lower() == PDF_SUFFIX


def document_name(host: HostDocument) -> str:
    """The id of a document. It is its own, else its source with the part of it, else a digest. So a
    document that changed at its source keeps its id, and two pages of one file have two."""
    if host.id:
        return host.id
    source = host.metadata.get("source")
    if not source:
        return document_digest(host)
    parts = [
        f"{key}={value}"
        for key in sorted(map(str, host.metadata))
        if _TELLS_PART.fullmatch(re.sub(r"[\W_]", "", key).lower())
        and isinstance(value := json_values(host.metadata.get(key)), str | int | float)
        and len(str(value)) <= LONGEST_PLACE
    ]
    return "#".join([str(source), *parts])


def document_digest(host: HostDocument) -> str:
    """16 hexadecimal digits of the text and the metadata."""
    metadata = json.dumps(
        json_values(host.metadata),
        sort_keys=True,
        default=lambda value: type(value).__name__,
    )
    return sha256(
        f"{metadata}\n{host.text}".encode("utf-8", "surrogatepass")
    ).hexdigest()[:16]


def stable_uuid(*parts: Any) -> str:
    """A UUID that depends on JSON values alone. Some stores (Qdrant, Weaviate) take no other ids.

    Example:
        >>> stable_uuid("report", 0, 12)
        'f96e435d-f9d7-578e-a9e7-1bf7ca848090'
    """
    return str(uuid5(NAMESPACE_URL, f"structrag:{json.dumps(parts)}"))


def _media_type(value: Any) -> str:
    """A media type without its parameters, such as the character set."""
    return str(value).partition(";")[0].strip().lower()


def json_values(value: Any) -> Any:
    """A copy of metadata in JSON types.

    Equal values are spelt alike in every process. Dates and times become ISO 8601 text, with a "T"
    between date and time, and spans of time their seconds. Paths, UUIDs, decimals and fractions
    become text, bytes Base64 text. Enum members become their values, NumPy scalars and arrays plain
    numbers and lists, dataclasses dicts. Tuples become lists, and sets sorted lists. Keys become
    strings. NaN, and NaT and NA of pandas, stand for what is missing in a table and become None.
    Anything else stays as it is, for whoever needs JSON to refuse.

    Example:
        >>> from datetime import datetime
        >>> json_values({"when": datetime(2020, 1, 2, 3, 4), "tags": {"b", "a"}})
        {'when': '2020-01-02T03:04:00', 'tags': ['a', 'b']}
    """
    # Before strings and numbers, since an enum member may be one of these too.
    if isinstance(value, Enum):
        return json_values(value.value)
    # NumPy without importing it: float64 and str_ are floats and strings too, and become plain.
    if hasattr(value, "dtype") and hasattr(value, "tolist"):
        return json_values(_unpacked(value))
    if type(value).__name__ in _MISSING or (isinstance(value, float) and isnan(value)):
        return None
    if isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping | list | tuple | set | frozenset):
        return _json_items(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {
            field.name: json_values(getattr(value, field.name))
            for field in fields(value)
        }
    return _as_text(value)


def _json_items(values: Any) -> Any:
    """The JSON values in a mapping, list, tuple or set."""
    if isinstance(values, Mapping):
        return {_key(key): json_values(item) for key, item in values.items()}
    items = [json_values(item) for item in values]
    if isinstance(values, set | frozenset):
        return sorted(items, key=repr)  # in an order that is the same in every process
    return items


def _as_text(value: Any) -> Any:
    """The text or number that stands for a value."""
    if isinstance(value, date | time):  # a datetime is a date
        return value.isoformat()
    if isinstance(value, timedelta):
        return value.total_seconds()
    if isinstance(value, UUID | PurePath | Decimal | Fraction):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode("ascii")
    return value


def _unpacked(array: Any) -> Any:
    """A NumPy scalar or array in Python's types."""
    # Nanoseconds would become a bare number, which says nothing of a date.
    if str(array.dtype) in ("datetime64[ns]", "timedelta64[ns]"):
        array = array.astype(str(array.dtype).replace("[ns]", "[us]"))
    return array.tolist()


def _key(key: Any) -> str:
    return key if type(key) is str else str(json_values(key))


GAP = "\n\n"  # between two pages


def joined_pages(
    pages: Iterable[HostDocument],
) -> list[tuple[HostDocument, tuple[Place, ...]]]:
    """The pages of each file as one text.

    Files come in the order of their first pages. A text without a file or page stays alone. The
    metadata is what all pages of a file say, with the number of `pages`.

    Example:
        >>> pages = [HostDocument("a", {"source": "m.pdf", "page": 0}),
        ...     HostDocument("b", {"source": "m.pdf", "page": 1})]
        >>> ((whole, places),) = joined_pages(pages)
        >>> whole.text, whole.metadata, [place.page for place in places]
        ('a\\n\\nb', {'source': 'm.pdf', 'pages': 2, 'page_starts': '0:1 3:2'}, [1, 2])
    """
    files: dict[Hashable, list[HostDocument]] = {}
    for number, page in enumerate(pages):
        is_page = any(key in page.metadata for key in PAGE_KEYS)
        key = file_of(page.metadata) if is_page else ""
        files.setdefault(key or number, []).append(page)
    joined = []
    for name, of_file in files.items():
        is_file = isinstance(name, str)
        joined.append(_joined(of_file) if is_file else (of_file[0], ()))
    return joined


def _joined(pages: list[HostDocument]) -> tuple[HostDocument, tuple[Place, ...]]:
    numbers = _numbers(pages)
    places = []
    position = 0
    for page, number in zip(pages, numbers, strict=True):
        places.append(Place(position, position + len(page.text), number))
        position += len(page.text) + len(GAP)
    first = pages[0].metadata
    shared = {
        key: value
        for key, value in first.items()
        if key not in PAGE_KEYS
        and all(_is_same(page.metadata, key, value) for page in pages)
    }
    text = GAP.join(page.text for page in pages)
    starts = written_starts((place.start, place.page) for place in places)
    return HostDocument(text, {**shared, PAGES_KEY: len(pages), **starts}), tuple(
        places
    )


def _is_same(metadata: Mapping[str, Any], key: str, value: Any) -> bool:
    return key in metadata and bool(metadata[key] == value)


def _numbers(pages: list[HostDocument]) -> list[int]:
    """The pages' numbers from 1, also for loaders that count from 0."""
    numbers = []
    for position, page in enumerate(pages):
        values = (
            page.metadata.get(key) for key in ("page_number", "page", "page_label")
        )
        number = next((value for value in values if value is not None), position)
        numbers.append(whole_number(str(number), position))
    return [number + 1 for number in numbers] if min(numbers) == 0 else numbers
