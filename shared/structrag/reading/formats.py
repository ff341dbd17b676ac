"""The formats that are read beside Markdown, HTML, plain text and PDF: one line each.

A text markup stays the document's text. Its module has `headings(text)`, `blocks(text, start, end)`
and `title(text)`, and may have `expand(path, root)`: the text with the files that it inputs. Any
other format becomes Markdown: its module has `to_markdown(data, name)`, which gives a `Draft`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from structrag.errors import InvalidParameter, check_choice
from structrag.reading.decoding import decoded
from structrag.reading.drafts import Draft
from structrag.reading.limits import check_characters, count_bytes, reading_within
from structrag.reading.markdown import markdown_headings
from structrag.reading.markup import by_lines, code
from structrag.reading.outline import title_of_headings
from structrag.reading.paging import written_places, written_starts
from structrag.records import Document

# Changes when a file is read as another text, or with other headings or blocks.
READING_RULE = 3

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
        looks_like: Whether the first bytes of a file are of this format (4,096, of a text 10,000
            characters); asked of files whose suffix says little. None: only the suffix tells.
    """

    name: str
    suffixes: tuple[str, ...]
    module: Any
    media_types: tuple[str, ...] = ()
    is_markup: bool = False
    is_text: bool = False
    looks_like: Callable[[bytes], object] | None = None

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


def draft_of(data: bytes, name: str) -> Draft:
    """The Markdown of a file inside another one; what no format is known for is read as a page."""
    from structrag.reading.html.markdown import page_draft

    format = by_suffix(Path(name).suffix) or by_look(data[:4096])
    if format is None or format.is_markup:
        return page_draft(decoded(data, name).text)
    return converted(format, data, name)


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
    looking = _FORMATS.values()
    return next((f for f in looking if f.looks_like and f.looks_like(data)), None)


_OPEN_XML = "application/vnd.openxmlformats-officedocument."
_OPEN_DOCUMENT = "application/vnd.oasis.opendocument."
_TWO_LINES = rb"(?:(?:[^\n]*\n)*?%b){2}"
_ZIP = rb"(?s)PK\x03\x04.*"
for _name, _module, _suffixes, _media_types, _look in (
    (
        "docx",
        "office.docx",
        ".docx .docm .dotx .dotm",
        _OPEN_XML + "wordprocessingml.document",
        _ZIP + b"word/",
    ),
    (
        "odt",
        "office.odt",
        ".odt .ott",
        _OPEN_DOCUMENT + "text",
        _ZIP + rb"opendocument\.text",
    ),
    ("rtf", "office.rtf", ".rtf", "application/rtf text/rtf", rb"\{\\rtf"),
    (
        "pptx",
        "office.pptx",
        ".pptx .pptm .ppsx .potx",
        _OPEN_XML + "presentationml.presentation",
        _ZIP + b"ppt/",
    ),
    (
        "xlsx",
        "office.xlsx",
        ".xlsx .xlsm .xltx",
        _OPEN_XML + "spreadsheetml.sheet",
        _ZIP + b"xl/",
    ),
    ("xls", "office.sheets", ".xls .xlt", "application/vnd.ms-excel", b""),
    (
        "xlsb",
        "office.sheets",
        ".xlsb",
        "application/vnd.ms-excel.sheet.binary.macroenabled.12",
        b"",
    ),
    (
        "ods",
        "office.sheets",
        ".ods .ots",
        _OPEN_DOCUMENT + "spreadsheet",
        _ZIP + rb"opendocument\.spreadsheet",
    ),
    (
        "epub",
        "office.epub",
        ".epub",
        "application/epub+zip",
        _ZIP + rb"application/epub\+zip",
    ),
    ("csv", "data.csv", ".csv .tsv .tab", "text/csv text/tab-separated-values", b""),
    ("ipynb", "data.notebook", ".ipynb", "application/x-ipynb+json", b""),
    (
        "subtitles",
        "data.subtitles",
        ".vtt .srt",
        "text/vtt application/x-subrip",
        rb"(?:\xef\xbb\xbf)?WEBVTT",
    ),
    (
        "mail",
        "data.mail",
        ".eml .mht .mhtml .mbox",
        "message/rfc822 multipart/related application/mbox",
        rb"From [^\n]{1,99}:\d\d [^\n]{1,99}\n[\w-]{1,99}:",
    ),
    (
        "xml",
        "xml.articles",
        ".xml .nxml .jats .dbk .docbook .tei .dita .fb2",
        "application/jats+xml application/docbook+xml",
        b"",
    ),
    ("rst", "markup.rst", ".rst", "text/x-rst", b""),
    (
        "asciidoc",
        "markup.asciidoc",
        ".adoc .asciidoc",
        "",
        _TWO_LINES % rb"={1,6}[ \t]+[^\s=][^=\n]*\n\r?\n",
    ),
    ("org", "markup.org", ".org", "text/org", b""),
    ("mediawiki", "markup.mediawiki", ".mediawiki .wiki", "", b""),
    ("latex", "markup.latex", ".tex .latex", "text/x-tex", b""),
    ("typst", "markup.typst", ".typ", "", b""),
    ("textile", "markup.textile", ".textile", "", _TWO_LINES % rb"h[1-6]\.[ ]"),
    (
        "roff",
        "markup.roff",
        ".man .mdoc .roff",
        "text/troff",
        _TWO_LINES % rb"\.(?:TH|SH|Dt|Sh)[ ]",
    ),
):
    register_format(
        Format(
            _name,
            tuple(_suffixes.split()),
            by_lines.MARKUPS.get(_name, f"structrag.reading.{_module}"),
            tuple(_media_types.split()),
            _module.startswith("markup"),
            _module.startswith(("data", "xml")) or _name == "rtf",
            re.compile(_look).match if _look else None,
        )
    )
for _language, _endings in code.SUFFIXES.items():
    register_format(Format(_language, _endings, code.reader(_language), is_markup=True))
_OURS = dict(_FORMATS)
