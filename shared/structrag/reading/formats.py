"""The formats that are read beside Markdown, HTML, plain text and PDF: one line each.

A text markup stays the document's text. Its module has `headings(text)`, `blocks(text, start, end)`
and `title(text)`, and may have `expand(path, root)`: the text with the files that it inputs. Any
other format becomes Markdown: its module has `to_markdown(data, name)`, which gives a `Draft`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter, check_choice
from structrag.reading.drafts import Draft
from structrag.reading.limits import check_characters, count_bytes, reading_within
from structrag.reading.markdown import markdown_headings
from structrag.reading.markup import code
from structrag.reading.outline import title_of_headings
from structrag.reading.paging import written_places, written_starts
from structrag.records import Document

# Changes when a file is read as another text, or with other headings or blocks.
READING_RULE = 1

BUILT_IN = ("markdown", "html", "text")


@dataclass(frozen=True, slots=True)
class Format:
    """One format: how its files are recognised, and who reads them.

    Example:
        >>> Format("ini", (".ini",), "my_package.ini_reader").is_markup
        False

    Attributes:
        name: What `read_text(format=)` and `read_file(format=)` call it.
        suffixes: Of its files, in lower case, with the dot.
        module: Who reads it: a module or an object with its functions, or the name of a module,
            which is imported when it is needed.
        media_types: As web servers and loaders call it.
        is_markup: Whether the text itself is the document; otherwise the file's bytes become
            Markdown.
        is_text: Whether its files are text, though they become Markdown, so that `read_text` takes
            them.
        looks_like: Whether the first 4,096 bytes of a file are of this format; asked of files
            without a known suffix. None: only the suffix tells.
    """

    name: str
    suffixes: tuple[str, ...]
    module: Any
    media_types: tuple[str, ...] = ()
    is_markup: bool = False
    is_text: bool = False
    looks_like: Callable[[bytes], bool] | None = None

    def reader(self) -> Any:
        """The module or object that reads it."""
        return (
            import_module(self.module) if isinstance(self.module, str) else self.module
        )


_FORMATS: dict[str, Format] = {}


def register_format(format: Format) -> None:
    """Have files of a format read by every door; the same name again replaces it.

    Raises InvalidParameter where its name is one of those built in, or another format has one of
    its suffixes.
    """
    if format.name in (*BUILT_IN, "auto", "pdf"):
        raise InvalidParameter(
            f"name must not be the name of a built-in format; got {format.name!r}. Choose another."
        )
    for other in _FORMATS.values():
        shared = set(other.suffixes) & set(format.suffixes)
        if other.name != format.name and shared:
            raise InvalidParameter(
                f"suffixes must not belong to another format; {min(shared)!r} is of "
                f"{other.name!r}. Choose other suffixes, or register under the name "
                f"{other.name!r}."
            )
    _FORMATS[format.name] = format


def format_named(name: str) -> Format | None:
    """A registered format by its name."""
    return _FORMATS.get(name)


def callers_formats() -> list[Format]:
    """The formats that `register_format` was called for from outside."""
    return [
        format for name, format in _FORMATS.items() if _OURS.get(name) is not format
    ]


def format_names() -> tuple[str, ...]:
    """What `format=` may be: "auto", the formats built in, and the registered ones."""
    return ("auto", *sorted((*BUILT_IN, *_FORMATS)))


def check_format(format: str, parameter: str = "format") -> str:
    """The name of a format, or "auto". Raises InvalidParameter for any other."""
    return check_choice(parameter, format, format_names())


def converted(format: Format, data: bytes, name: str) -> Draft:
    """The Markdown of a file's bytes, by the module of its format. `name` is for errors."""
    with reading_within(name=name):
        count_bytes(len(data))
        draft: Draft = format.reader().to_markdown(data, name)
        check_characters(len(draft.text))
    return draft


def converted_document(
    format: Format,
    data: bytes,
    name: str,
    *,
    id: str = "",
    title: str = "",
    meta: Mapping[str, Any],
) -> Document:
    """A file's bytes as a Markdown document. The title is the given one, else that which the file
    says, else its only heading of the first level, else the stem of its name."""
    draft = converted(format, data, name)
    facts = {**meta, **draft_facts(draft)}
    title = title or draft.title or title_of_headings(markdown_headings(draft.text))
    title = title or Path(str(facts.get("source", ""))).stem
    return Document(draft.text, id=id, title=title, format="markdown", meta=facts)


def draft_facts(draft: Draft) -> dict[str, Any]:
    """What metadata says of a file that became Markdown: where its pages and places begin."""
    return {**written_starts(draft.page_starts), **written_places(draft.places)}


def known_suffixes() -> set[str]:
    """The suffixes of all registered formats."""
    return {suffix for format in _FORMATS.values() for suffix in format.suffixes}


def by_suffix(suffix: str) -> Format | None:
    """The registered format with files of this suffix."""
    return next((f for f in _FORMATS.values() if suffix.lower() in f.suffixes), None)


def by_media_type(media_type: str) -> Format | None:
    """The registered format that is called so."""
    return next((f for f in _FORMATS.values() if media_type in f.media_types), None)


def by_look(data: bytes) -> Format | None:
    """The registered format that the first bytes of a file look like."""
    start = data[:4096]
    looking = (f for f in _FORMATS.values() if f.looks_like)
    return next((f for f in looking if f.looks_like and f.looks_like(start)), None)


def _is_zip_with(part: bytes) -> Callable[[bytes], bool]:
    """Whether a file is a zip archive that names a part among its first bytes."""
    return lambda start: start.startswith(b"PK\x03\x04") and part in start


_OFFICE = "structrag.reading.office"
_DATA = "structrag.reading.data"
_MARKUP = "structrag.reading.markup"
_OPEN_XML = "application/vnd.openxmlformats-officedocument"
for _format in (
    Format(
        "docx",
        (".docx", ".docm", ".dotx", ".dotm"),
        f"{_OFFICE}.docx",
        (f"{_OPEN_XML}.wordprocessingml.document",),
        looks_like=_is_zip_with(b"word/"),
    ),
    Format(
        "odt",
        (".odt", ".ott"),
        f"{_OFFICE}.odt",
        ("application/vnd.oasis.opendocument.text",),
        looks_like=_is_zip_with(b"opendocument.text"),
    ),
    Format(
        "rtf",
        (".rtf",),
        f"{_OFFICE}.rtf",
        ("application/rtf", "text/rtf"),
        is_text=True,
        looks_like=lambda start: start.startswith(b"{\\rtf"),
    ),
    Format(
        "pptx",
        (".pptx", ".pptm", ".ppsx", ".potx"),
        f"{_OFFICE}.pptx",
        (f"{_OPEN_XML}.presentationml.presentation",),
        looks_like=_is_zip_with(b"ppt/"),
    ),
    Format(
        "xlsx",
        (".xlsx", ".xlsm", ".xltx"),
        f"{_OFFICE}.xlsx",
        (f"{_OPEN_XML}.spreadsheetml.sheet",),
        looks_like=_is_zip_with(b"xl/"),
    ),
    Format("xls", (".xls", ".xlt"), f"{_OFFICE}.sheets", ("application/vnd.ms-excel",)),
    Format(
        "xlsb",
        (".xlsb",),
        f"{_OFFICE}.sheets",
        ("application/vnd.ms-excel.sheet.binary.macroenabled.12",),
    ),
    Format(
        "ods",
        (".ods", ".ots"),
        f"{_OFFICE}.sheets",
        ("application/vnd.oasis.opendocument.spreadsheet",),
        looks_like=_is_zip_with(b"opendocument.spreadsheet"),
    ),
    Format(
        "epub",
        (".epub",),
        f"{_OFFICE}.epub",
        ("application/epub+zip",),
        looks_like=_is_zip_with(b"application/epub+zip"),
    ),
    Format(
        "csv",
        (".csv", ".tsv", ".tab"),
        f"{_DATA}.csv",
        ("text/csv", "text/tab-separated-values"),
        is_text=True,
    ),
    Format(
        "ipynb",
        (".ipynb",),
        f"{_DATA}.notebook",
        ("application/x-ipynb+json",),
        is_text=True,
    ),
    Format(
        "subtitles",
        (".vtt", ".srt"),
        f"{_DATA}.subtitles",
        ("text/vtt", "application/x-subrip"),
        is_text=True,
        looks_like=lambda start: start.lstrip(b"\xef\xbb\xbf").startswith(b"WEBVTT"),
    ),
    Format(
        "mail",
        (".eml", ".mht", ".mhtml"),
        f"{_DATA}.mail",
        ("message/rfc822", "multipart/related"),
        is_text=True,
    ),
    Format(
        "xml",
        (".xml", ".nxml", ".jats", ".dbk", ".docbook"),
        "structrag.reading.xml.articles",
        ("application/jats+xml", "application/docbook+xml"),
        is_text=True,
    ),
    Format("rst", (".rst",), f"{_MARKUP}.rst", ("text/x-rst",), is_markup=True),
    Format("asciidoc", (".adoc", ".asciidoc"), f"{_MARKUP}.asciidoc", is_markup=True),
    Format("org", (".org",), f"{_MARKUP}.org", ("text/org",), is_markup=True),
    Format(
        "mediawiki", (".mediawiki", ".wiki"), f"{_MARKUP}.mediawiki", is_markup=True
    ),
    Format(
        "latex", (".tex", ".latex"), f"{_MARKUP}.latex", ("text/x-tex",), is_markup=True
    ),
):
    register_format(_format)
for _language, _suffixes in code.SUFFIXES.items():
    register_format(
        Format(_language, _suffixes, code.reader(_language), is_markup=True)
    )
_OURS = dict(_FORMATS)
