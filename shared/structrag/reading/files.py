"""From files or strings to documents with format and title. Also the files of a folder."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from structrag.errors import (
    InvalidDocument,
    InvalidParameter,
    check_arguments,
    check_choice,
    warn_user,
)
from structrag.reading.decoding import decoded
from structrag.reading.formats import (
    Format,
    by_look,
    by_suffix,
    callers_formats,
    check_format,
    converted_document,
    format_named,
    known_suffixes,
)
from structrag.reading.isolated import (
    Isolated,
    apart_or_here,
    document_apart,
    facts_of,
)
from structrag.reading.limits import (
    Limits,
    check_characters,
    count_bytes,
    limits_now,
    reading_within,
)
from structrag.reading.markdown_source import without_payloads
from structrag.reading.markup.lines import by_word
from structrag.reading.opening import (
    check_file,
    check_reader,
    file_bytes,
    path_of,
    shown,
    unreadable,
)
from structrag.reading.outline import title_of_headings
from structrag.records import Document, Layout
from structrag.text.numbers import pluralise

if TYPE_CHECKING:
    from typing_extensions import Unpack


PDF_SUFFIX = ".pdf"
SUFFIXES: dict[str, str] = by_word(
    markdown=".md .markdown .mdx .mkd .mkdn .mdown .qmd .rmd",
    html=".html .htm .xhtml",
    text=".txt .text .asc .ad",
)
# Of documents that nothing here reads, and docling or Unstructured do.
OFFICE_SUFFIXES = frozenset([".doc", ".odp", ".ppt"])
MOST_KINDS = 5  # of files left out that are named; the others are one number

# Of code that people call documents: without a suffix, its comments look like headings.
_CODE_NAMES = re.compile(
    r"(?:.*[^a-z])?(?:docker|container|make|rake|gem|vagrant|jenkins|proc|pip|just|brew|caddy|snake"
    r"|tilt)file\b.*|\..+",
    re.I,
)
# Of settings, whose comments look like headings too.
_SETTINGS = frozenset(
    (".ini", ".cfg", ".conf", ".toml", ".yaml", ".yml", ".properties")
)
_XML_DECLARATION = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?")
# XML of another kind: a declaration or document type, and no page behind it.
_OTHER_XML = re.compile(
    r"\s*(?:<\?xml\b|<!DOCTYPE\s+(?!html)|<[\w:.-]+\s[^<>]*\bxmlns(?!:))", re.I
)
_HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_BLANK = re.compile(r"\s*")
_HTML_BLOCK = re.compile(
    r"</?(?:p|div|h[1-6]|table|tr|td|ul|ol|li|section|article|br|pre)\b[^<>]*>",
    re.IGNORECASE,
)
_MARKDOWN_SIGN = re.compile(
    r"^ {0,3}#{1,6}[ \t]+\S"  # a heading
    r"|^ {0,3}`{3,}"  # a fence
    r"|^ {0,3}\|?[ \t]{0,9}:?-{3,}:?[ \t]{0,9}\|"  # a table's delimiter row
    r"|\]\([^)\s]{1,500}\)",  # a link
    re.MULTILINE,
)
_BOLD_LINE = re.compile(r"^[ ]{0,3}\*\*[^*\s][^*\n]{0,98}\*\*[ \t]*$", re.MULTILINE)
_SHARED_SIGN = re.compile(  # of Markdown and of reStructuredText
    r"(?<=\S\n)(?:={3,}|-{3,})[ \t]*$"  # an underline
    r"|^ {0,3}~{3,}",  # a fence
    re.MULTILINE,
)
_RST_SIGN = re.compile(
    r"^\.\. [\w-]{1,40}::"  # a directive
    # a line between blank ones with an underline that Markdown does not know
    r"|^[ \t]*\n\S[^\n]{0,200}\n[~^\"*+]{4,}[ \t]*\n[ \t]*$",
    re.MULTILINE,
)
_HEADING_BEHIND_BLANK = re.compile(r"(?:\A|\n[ \t]*\n)#{1,6}[ \t]+\S")
_CODE_FENCE = re.compile(r"^(`{3,}).*?(?:^\1`*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
_ATX_MARK = re.compile(r"(#{1,6})[ \t]+\S")
_SAMPLE = 200_000  # characters looked at to tell the format


def read_text(
    text: str,
    *,
    format: str = "auto",
    id: str = "",
    title: str = "",
    meta: Mapping[str, Any] | None = None,
    drop_navigation: bool = True,
) -> Document:
    """Create a document from a string.

    Args:
        text: Markdown and plain text stay unchanged, except that the base64 data of embedded files
            is shortened to its type, such as `data:image/png` (`meta["embedded_files"]` counts
            them). HTML is rendered to its visible text once; offsets refer to that text, and
            `layout.source_map` maps them to the markup.
        format: "markdown", "html", "text", the name of another format
            (`structrag.reading.formats`), or "auto" to detect it from the text.
        id: The identity in an index; default `meta["source"]`, else derived from the text.
        title: Default: the front matter's title, HTML's `<title>`, the only level-1 heading when it
            comes first, the stem of `meta["source"]`, else empty.
        meta: JSON values that travel with every chunk's hits.
        drop_navigation: For HTML: leave out `nav` elements and elements with the role navigation.

    Raises:
        InvalidParameter: `format` is unknown or `text` is not a string.
    """
    check_format(format)
    if not isinstance(text, str):
        raise InvalidParameter(
            f"text must be a string; got {type(text).__name__}. To read a file use "
            "structrag.read_file(path)."
        )
    with reading_within(name="The text"):
        return _read_text(text, format, id, title, dict(meta or {}), drop_navigation)


def _read_text(
    text: str,
    format: str,
    id: str,
    title: str,
    meta: dict[str, Any],
    drop_navigation: bool,
) -> Document:
    count_bytes(len(text))
    check_characters(len(text))
    chosen = detect_format(text) if format == "auto" else format
    if registered := format_named(chosen):
        return _read_registered(registered, text, id, title, meta)
    if chosen == "html":
        return _read_html(text, id, title, meta, drop_navigation)
    text, source_map, embedded = without_payloads(text)
    layout = None if source_map is None else Layout((), (), source_map)
    if embedded:
        meta["embedded_files"] = embedded
    if chosen == "markdown":
        return _read_markdown(text, id, title, meta, layout)
    return Document(text, id, title or _stem(meta), chosen, meta, layout)


class FileOptions(TypedDict, total=False):
    """What `read_file` takes besides, as keywords."""

    id: str
    title: str
    meta: Mapping[str, Any] | None
    drop_navigation: bool
    password: str | None
    images_to: str | os.PathLike[str] | None


def read_file(
    path: str | bytes | os.PathLike[Any],
    *,
    format: str = "auto",
    reader: Any = "layout",
    limits: Limits | None = None,
    isolated: Isolated = "auto",
    **options: Unpack[FileOptions],
) -> Document:
    """Read one file into a document.

    Text is decoded by its byte order mark (UTF-8, UTF-16, UTF-32), as UTF-8, as the page declares
    (`<meta charset>`), or as Windows-1252. Undecodable bytes become U+FFFD, and
    `meta["undecodable"]` counts them. `format_of_file` detects the format. `id`, `title`, `meta`
    and `drop_navigation` are as in `read_text`.

    A file that ends in `.pdf` becomes Markdown by its layout (extra `pdf`;
    `structrag.reading.pdf.document.pdf_document`), with the number of `pages` in its meta;
    `password` opens an encrypted one, and `reader` chooses the reader: "layout" (the default),
    "docling" or your own function (`structrag.reading.pdf.document.pages_of`). `images_to` is a
    folder for the pictures of a PDF as PNG files, which its image blocks then name. A file of
    another format (`structrag.reading.formats`: Word, slides, sheets, books, notebooks, mails ...)
    becomes Markdown as well, or stays unchanged if its markup is text.

    A malicious file can crash its reader, run for hours or exhaust the memory. A reader process,
    which is started once and reused, then ends in place of this one, and the file raises
    InvalidDocument. `isolated` says which files it reads: "auto", PDF files with the reader
    "layout"; True, all files but those of formats that you have registered; False, none.

    A long PDF or HTML page without headings causes a warning.

    Only regular files are read, directly or through a link. `limits` says how large a file may be,
    what it may become, and what a reader process may take; None: those of `Limits()`, which hardly
    any real file meets.

    Raises:
        InvalidDocument: the path does not exist, is a folder, a pipe or a device, meets one of the
            `limits`, or holds no text (NUL bytes: an image, an archive); a PDF is a scan,
            encrypted, damaged or without pages.
        InvalidParameter: `path` is not a path, `limits` no `Limits`, `format` or `reader` is
            unknown, `format` is not "auto" or "markdown" for a PDF, or `isolated` is True for a
            PDF and another reader.
        MissingExtra: the file is a PDF, and pypdfium2 is not installed.
    """
    if options:  # what it takes is looked up for many files, and most give none
        names = [name for name in signature(read_file).parameters if name != "options"]
        check_arguments(
            "read_file", options, [*names[1:], *FileOptions.__annotations__]
        )
    check_reader(reader)
    path = path_of(path)
    with reading_within(limits, shown(path)):
        return _read_file(path, format, reader, isolated, {**options})


def _read_file(
    path: Path,
    format: str,
    reader: Any,
    isolated: Isolated,
    settings: dict[str, Any],
) -> Document:
    is_pdf = path.suffix.lower() == PDF_SUFFIX
    if is_pdf:
        check_choice("format", format, ("auto", "markdown"))
    how = {"format": format, **settings}
    return apart_or_here(
        lambda: document_apart(path, limits_now(), **how),
        lambda: _document_here(path, format, reader, settings),
        False if is_callers_own(path, format) else isolated,
        is_pdf=is_pdf,
        reader=reader,
    )


def document_of_request(
    arguments: Mapping[str, Any], data: bytes
) -> tuple[dict[str, Any], str]:
    """The reader process's part of `document_apart`."""
    document = read_file(
        arguments["path"],
        limits=Limits(**arguments["limits"]),
        isolated=False,
        meta=arguments["meta"],
        **arguments["options"],
    )
    return facts_of(document)


def _document_here(
    path: Path, format: str, reader: Any, settings: dict[str, Any]
) -> Document:
    # It parses, which reading otherwise need not.
    from structrag.reading.sections import warn_if_flat

    if path.suffix.lower() == PDF_SUFFIX:
        check_file(path)
        document = _read_pdf(path, reader, settings)
        warn_if_flat(document, "PDF")
        return document
    data = file_bytes(path)
    for of_pdf in ("password", "images_to"):
        settings.pop(of_pdf, None)
    meta = {"source": str(path), **(settings.pop("meta", None) or {})}
    if registered := registered_format(path.name, data, format):
        settings.pop("drop_navigation", None)
        return converted_document(registered, data, shown(path), meta=meta, **settings)
    text, undecodable = decoded(data, str(path))
    if format == "auto":
        format = format_of_file(path.name, text)
    text = with_inputs(path, text, format)
    if undecodable:
        meta["undecodable"] = undecodable
    document = read_text(text, format=format, meta=meta, **settings)
    if document.format == "html":
        warn_if_flat(document, "page of HTML")
    return document


def find_files(
    path: str | bytes | os.PathLike[Any],
    *,
    follow_links: bool = False,
    left_out: Callable[[Path, str], None] | None = None,
) -> Iterator[Path]:
    """The readable files under a folder, or the one file itself.

    They are sorted. Hidden files are skipped, and so is anything that is not a regular file (a
    pipe, a device). A link to a file outside the folder is skipped with a warning, so that an
    untrusted folder cannot expose other files; `follow_links` accepts such links. Links to folders
    are never followed. A folder that cannot be listed is skipped with a warning. If `left_out` is
    given, it is called with each skipped link or folder and a sentence, instead of a warning.

    Raises:
        InvalidDocument: the path does not exist or cannot be examined (it is too long).
        InvalidParameter: `path` is not a path.
    """
    path = path_of(path)
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError):
            raise InvalidDocument(
                f"There is no file or folder {shown(path)}. Give the path of a document or of a "
                "folder of documents."
            ) from error
        raise unreadable(path, error) from error
    if not stat.S_ISDIR(mode):
        yield path
        return
    inside = path.resolve()

    def report(place: Path, sentence: str) -> None:
        if left_out is None:
            warn_user(sentence)
        else:
            left_out(place, sentence)

    suffixes = {*SUFFIXES, PDF_SUFFIX, *known_suffixes()}
    for file in sorted(_files_under(path, report)):
        if file.suffix.lower() not in suffixes or not _is_regular(file):
            continue
        if (
            not follow_links
            and file.is_symlink()
            and not file.resolve().is_relative_to(inside)
        ):
            report(
                file,
                f"{shown(file)} is a link to a file outside the folder and was skipped. Name the "
                "file itself to read it, or pass follow_links=True.",
            )
            continue
        yield file


def other_files(path: str | bytes | os.PathLike[Any]) -> list[Path]:
    """The files that `find_files` leaves out for their kind.

    Those under a folder, hidden ones aside.

    Example:
        >>> other_files("pyproject.toml")  # one file is no folder
        []
    """
    path = path_of(path)
    if not path.is_dir():
        return []
    # find_files has said what cannot be listed.
    files = _files_under(path, lambda *_: None)
    suffixes = {*SUFFIXES, PDF_SUFFIX, *known_suffixes()}
    return [file for file in files if file.suffix.lower() not in suffixes]


def kinds_of(files: Iterable[Path]) -> str:
    """The commonest suffixes of files, with their numbers.

    Example:
        >>> kinds_of([Path("a.csv"), Path("b.docx"), Path("c.docx")])
        '2 .docx, 1 .csv'
    """
    kinds = Counter(file.suffix.lower() for file in files)
    listed = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    parts = [
        f"{count} {kind or 'without suffix'}" for kind, count in listed[:MOST_KINDS]
    ]
    others = sum(count for _, count in listed[MOST_KINDS:])
    return ", ".join([*parts, pluralise(others, "other")] if others else parts)


def _files_under(folder: Path, report: Callable[[Path, str], None]) -> Iterator[Path]:
    """Every file that is not hidden, in any order."""

    def told(error: OSError) -> None:
        place = Path(str(error.filename))
        report(place, f"The folder {shown(place)} was skipped: {error.strerror}.")

    for place, folders, files in os.walk(folder, onerror=told):
        folders[:] = [name for name in folders if not name.startswith(".")]
        yield from (Path(place, name) for name in files if not name.startswith("."))


def _is_regular(file: Path) -> bool:
    """Whether a file, or what a link leads to, has an end. A broken link leads to nothing."""
    try:
        return stat.S_ISREG(file.stat().st_mode)
    except OSError:
        return False


def with_inputs(path: Path, text: str, format: str) -> str:
    """The text of a file with the files that it inputs, where its format has such: LaTeX's. They
    are read below its own folder only; what stands elsewhere is left out with a warning."""
    registered = format_named(format)
    expand = getattr(registered.reader(), "expand", None) if registered else None
    return text if expand is None else str(expand(path, path.parent))


def registered_format(name: str, data: bytes, format: str = "auto") -> Format | None:
    """Who converts a file to Markdown: by `format`, the suffix, or what its bytes look like.

    None for text, whatever its markup, and for a format that is built in.
    """
    check_format(format)
    if format != "auto":
        found = format_named(format)
    else:
        suffix = Path(name).suffix.lower()
        found = by_suffix(suffix) or (
            None if suffix in SUFFIXES else by_look(data[:4096])
        )
    return None if found is None or found.is_markup else found


def format_of_file(name: str, text: str) -> str:
    """The format of a file by its name, and by its text where the name tells little.

    Example:
        >>> format_of_file("llms.txt", "# Pumps\\n\\nText.\\n\\n## Seals\\n\\nMore.\\n")
        'markdown'
        >>> format_of_file("pump.toml", "# Settings\\nspeed = 3\\n\\n# Helpers\\nsize = 4\\n")
        'text'
        >>> format_of_file("pump.py", "# Settings\\nspeed = 3\\n")
        'python'

    Markdown and HTML are believed by their suffixes. A text file that begins like a page is HTML,
    and it is Markdown where it has headings as Markdown has them: two or more, each between blank
    lines; so is one of reStructuredText without its own. Settings are text. Two headings as
    AsciiDoc, Textile or a manual page has them make a file one of these. A file of another suffix
    may be code, whose comments look like headings: it is text unless it is a page or such Markdown
    with headings of two levels. What comes from a PDF, an Office file or an address, and what has
    no suffix, is detected from the text alone.
    """
    suffix = Path(name).suffix.lower()
    format_of_suffix = SUFFIXES.get(suffix, "")
    if format_of_suffix in ("markdown", "html"):
        return format_of_suffix
    registered = by_suffix(suffix)
    sample = text[:_SAMPLE]
    if registered and registered.is_markup:
        if registered.name == "rst" and _has_free_headings(sample, True):
            return "rst" if _RST_SIGN.search(sample) else "markdown"
        return "html" if _starts_like_html(sample) else registered.name
    is_code_name = bool(_CODE_NAMES.fullmatch(Path(name).name))
    by_others = (
        suffix == PDF_SUFFIX
        or suffix in OFFICE_SUFFIXES
        or registered is not None
        or "://" in name
    )
    if not format_of_suffix and (by_others or not (suffix or is_code_name)):
        return detect_format(text)
    if _starts_like_html(sample) and (not format_of_suffix or "</" in sample):
        return "html"
    if suffix in _SETTINGS:
        return "text"
    markup = by_look(text[:10_000].encode("utf-8", "replace"))
    if markup and markup.is_markup:
        return markup.name
    is_markdown = _has_free_headings(sample, bool(format_of_suffix)) or (
        bool(format_of_suffix) and _has_other_signs(sample)
    )
    return "markdown" if is_markdown else "text"


def _has_other_signs(text: str) -> bool:
    """Whether there are headings behind blank lines, and a fence or a link as well."""
    bare = _CODE_FENCE.sub("```", text)
    headings = zip(range(2), _HEADING_BEHIND_BLANK.finditer(bare), strict=False)
    return len(list(headings)) == 2 and ("```" in bare or "](" in bare)


def _has_free_headings(text: str, one_level: bool) -> bool:
    """Whether the headings stand between blank lines, as comments of code hardly do. A deeper one
    may follow at once."""
    lines = ["", *_CODE_FENCE.sub("```", text).splitlines(), ""]
    levels = [_atx_level(line) for line in lines]
    places = [i for i, level in enumerate(levels) if level]
    for i in places:
        above, below = levels[i - 1], levels[i + 1]
        if lines[i - 1].strip() and not 0 < above < levels[i]:
            return False
        if lines[i + 1].strip() and not below > levels[i]:
            return False
    return len(places) > 1 and (one_level or len({levels[i] for i in places}) > 1)


def _atx_level(line: str) -> int:
    mark = _ATX_MARK.match(line)
    return len(mark[1]) if mark else 0


def detect_format(text: str) -> str:
    """Tell "html", "markdown" or "text" by the first 200,000 characters.

    HTML begins like a page or has at least three block tags and no Markdown heading or fence, and
    does not begin like XML of another kind;
    Markdown has a heading, a fence, a link, a table's delimiter row or three lines that are bold
    as a whole. Underlined headings are of
    both Markdown and reStructuredText: it is plain text, whose headings are found by their
    underlines too, where there are directives or underlines that Markdown does not know.
    """
    sample = text[:_SAMPLE]
    if _starts_like_html(sample):
        return "html"
    if _OTHER_XML.match(sample):
        return "text"
    tags = sum(1 for _ in zip(range(3), _HTML_BLOCK.finditer(sample), strict=False))
    bold_lines = sum(
        1 for _ in zip(range(3), _BOLD_LINE.finditer(sample), strict=False)
    )
    if _MARKDOWN_SIGN.search(sample) or bold_lines == 3:
        return "markdown"
    if _SHARED_SIGN.search(sample) and not _RST_SIGN.search(sample):
        return "markdown"
    return "html" if tags == 3 else "text"


def _starts_like_html(text: str) -> bool:
    """Whether a text begins with a page's tag. An XML declaration and comments may precede it."""
    position = _XML_DECLARATION.match(text).end()  # type: ignore[union-attr]  # it may be empty
    # Comments are passed over by `find`: a pattern that repeats them takes exponential time.
    while text.startswith("<!--", position):
        end = text.find("-->", position + 2)  # `<!-->` is one too
        if end < 0:
            return False
        position = _BLANK.match(text, end + 3).end()  # type: ignore[union-attr]
    return bool(_HTML_START.match(text, position))


def is_callers_own(path: Path, format: str = "auto") -> bool:
    """Whether a file is of a format that the caller has registered."""
    if not callers_formats():
        return False
    with suppress(OSError), path.open("rb") as file:
        return (
            registered_format(path.name, file.read(4096), format) in callers_formats()
        )
    return False


def _read_pdf(path: Path, reader: Any, options: dict[str, Any]) -> Document:
    from structrag.reading.pdf.document import pdf_document

    options.pop("drop_navigation", None)
    return pdf_document(path, reader=reader, **options)


def _read_registered(
    registered: Format, text: str, id: str, title: str, meta: dict[str, Any]
) -> Document:
    if registered.is_markup:
        title = title or _markup_title(registered.reader(), text, _stem(meta))
        return Document(text, id, title, registered.name, meta)
    if not registered.is_text:
        raise InvalidParameter(
            f"format must be a text format; {registered.name!r} is binary. Read the file with "
            "structrag.read_file(path)."
        )
    data = text.encode("utf-8", "surrogatepass")
    return converted_document(
        registered, data, "The text", id=id, title=title, meta=meta
    )


def _read_html(
    text: str, id: str, title: str, meta: dict[str, Any], drop_navigation: bool
) -> Document:
    from structrag.reading.html.reader import read_html

    visible, page_title, layout = read_html(text, drop_navigation=drop_navigation)
    if not title:
        title = page_title or title_of_headings(layout.headings) or _stem(meta)
    return Document(visible, id, title, "html", meta, layout)


def _read_markdown(
    text: str, id: str, title: str, meta: dict[str, Any], layout: Layout | None
) -> Document:
    """A Markdown document; headings read for its title are not read again."""
    from structrag.reading.markdown import front_matter
    from structrag.reading.sections import headings_of_markdown, remember_headings

    title = title or front_matter(text).title
    if title:
        return Document(text, id, title, "markdown", meta, layout)
    headings = headings_of_markdown(text)
    title = title_of_headings(headings) or _stem(meta)
    document = Document(text, id, title, "markdown", meta, layout)
    remember_headings(document, headings)
    return document


def _markup_title(reader: Any, text: str, stem: str) -> str:
    """What a text says of itself. Of code it is said behind the name of its file, by which other
    files call it."""
    title = str(reader.title(text))
    is_named = bool(title and stem) and hasattr(reader, "definitions")
    return f"{stem}: {title}" if is_named else title or stem


def _stem(meta: Mapping[str, Any]) -> str:
    return Path(str(meta.get("source") or "")).stem
