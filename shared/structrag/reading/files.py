"""From a file or a string to a Document: decoding, format, title."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from structrag.errors import InvalidDocument, InvalidParameter, check_choice
from structrag.records import Document, Heading

FORMATS = ("auto", "html", "markdown", "text")
PDF_SUFFIX = ".pdf"
SUFFIXES = {
    ".md": "markdown",
    ".markdown": "markdown",
    ".mdx": "markdown",
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".txt": "text",
    ".text": "text",
}

_XML_DECLARATION = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?")
_HTML_START = re.compile(r"<(?:!doctype\s+html|html|head|body)\b", re.IGNORECASE)
_BLANK = re.compile(r"\s*")
_HTML_BLOCK = re.compile(
    r"</?(?:p|div|h[1-6]|table|tr|td|ul|ol|li|section|article|br|pre)\b[^<>]*>", re.IGNORECASE
)
_MARKDOWN_SIGN = re.compile(
    r"^ {0,3}#{1,6}[ \t]+\S"  # a heading
    r"|^ {0,3}`{3,}"  # a fence
    r"|^ {0,3}\|?[ \t]{0,9}:?-{3,}:?[ \t]{0,9}\|"  # a table's delimiter row
    r"|\]\([^)\s]{1,500}\)",  # a link
    re.MULTILINE,
)
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
_SAMPLE = 200_000  # characters looked at to tell the format


def read_text(
    text: str,
    *,
    format: str = "auto",
    id: str = "",
    title: str = "",
    meta: Mapping[str, Any] | None = None,
    drop_navigation: bool = False,
) -> Document:
    """Make a document of a string.

    Args:
        text: Markdown and plain text are taken as they are; HTML is rendered to its visible text
            once, and all offsets then refer to that text, with `layout.source_map` leading back.
        format: "markdown", "html", "text", or "auto" to look at the text.
        id: Identity in an index; default `meta["source"]`, else derived from the text.
        title: Default: the front matter's title, HTML's `<title>`, the only level-1 heading when it
            comes first, the stem of `meta["source"]`, else empty.
        meta: JSON values that travel with every chunk's hits.
        drop_navigation: HTML only: leave out `nav`, `footer` and `aside`.

    Raises:
        InvalidParameter: `format` is unknown or `text` is not a string.
    """
    check_choice("format", format, FORMATS)
    if not isinstance(text, str):
        raise InvalidParameter(
            f"text must be a string; got {type(text).__name__}. To read a file use "
            "structrag.read_file(path)."
        )
    meta = dict(meta or {})
    chosen = detect_format(text) if format == "auto" else format
    if chosen == "markdown":
        return _read_markdown(text, id, title, meta)
    if chosen == "text":
        return Document(text, id=id, title=title or _stem(meta), format=chosen, meta=meta)
    from structrag.reading.html.reader import read_html

    visible, page_title, layout = read_html(text, drop_navigation=drop_navigation)
    if not title:
        title = page_title or _title_of(layout.headings) or _stem(meta)
    return Document(visible, id=id, title=title, format="html", meta=meta, layout=layout)


def read_file(
    path: str | os.PathLike[str], *, format: str = "auto", reader: Any = "layout", **options: Any
) -> Document:
    """Read one file into a document.

    Text is UTF-8, UTF-16 with its mark, or else Windows-1252; a byte order mark is removed. The
    format is told by the suffix, else by the text. `options` are those of `read_text`. A file that
    ends in `.pdf` becomes Markdown by its layout (extra `pdf`;
    `structrag.reading.pdf.document.pdf_document`), with the number of `pages` in its meta;
    `password` opens an encrypted one, and `reader` says who reads it: "layout" (the default),
    "pdfplumber", "docling" or your own function (`structrag.reading.pdf.readers.pages_of`).

    Raises:
        InvalidDocument: the path does not exist, is a folder, or holds no text (NUL bytes: an
            image, an archive); a PDF is a scan, encrypted or damaged.
        InvalidParameter: `format` is unknown, or another than "auto" or "markdown" for a PDF.
        MissingExtra: a PDF, and pypdfium2 is not installed.
    """
    path = Path(path)
    if path.suffix.lower() == PDF_SUFFIX:
        return _read_pdf(path, format, reader, options)
    try:
        data = path.read_bytes()
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error)
        if path.is_dir():
            reason = "is a folder; use structrag.find_files(path)"
        raise InvalidDocument(f"Cannot read {str(path)!r}: {reason}.") from error
    text = decoded(data, str(path))
    if format == "auto":
        format = SUFFIXES.get(path.suffix.lower(), "auto")
    options["meta"] = {"source": str(path), **(options.get("meta") or {})}
    return read_text(text, format=format, **options)


def find_files(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The readable files under a folder, or the one file itself.

    They are sorted; hidden ones are left out.

    Raises:
        InvalidDocument: nothing is there.
    """
    path = Path(path)
    if path.is_file():
        yield path
    elif path.is_dir():
        for file in sorted(path.rglob("*")):
            hidden = any(part.startswith(".") for part in file.relative_to(path).parts)
            if file.suffix.lower() in {*SUFFIXES, PDF_SUFFIX} and file.is_file() and not hidden:
                yield file
    else:
        raise InvalidDocument(
            f"There is no file or folder {str(path)!r}. Give the path of a document or of a folder "
            "of documents."
        )


def detect_format(text: str) -> str:
    """Tell "html", "markdown" or "text" by the first 200,000 characters.

    HTML begins like a page or has at least three block tags and no Markdown heading or fence;
    Markdown has a heading, a fence, a link or a table's delimiter row. Underlined headings are of
    both Markdown and reStructuredText: it is plain text, whose headings are found by their
    underlines too, where there are directives or underlines that Markdown does not know.
    """
    sample = text[:_SAMPLE]
    if _starts_like_html(sample):
        return "html"
    tags = sum(1 for _ in zip(range(3), _HTML_BLOCK.finditer(sample), strict=False))
    if _MARKDOWN_SIGN.search(sample):
        return "markdown"
    if _SHARED_SIGN.search(sample) and not _RST_SIGN.search(sample):
        return "markdown"
    return "html" if tags == 3 else "text"


def _starts_like_html(text: str) -> bool:
    """Whether a text begins with a page's tag. An XML declaration and comments may precede it."""
    position = _XML_DECLARATION.match(text).end()  # type: ignore[union-attr]  # it may be empty
    # Comments are passed over by `find`: a pattern that repeats them takes exponential time.
    while text.startswith("<!--", position):
        end = text.find("-->", position + 4)
        if end < 0:
            return False
        position = _BLANK.match(text, end + 3).end()  # type: ignore[union-attr]
    return bool(_HTML_START.match(text, position))


def _read_pdf(path: Path, format: str, reader: Any, options: dict[str, Any]) -> Document:
    from structrag.reading.pdf.document import pdf_document

    check_choice("format", format, ("auto", "markdown"))
    options.pop("drop_navigation", None)
    return pdf_document(path, reader=reader, **options)


def decoded(data: bytes, name: str) -> str:
    """The text of a file's bytes, as `read_file` reads them.

    Raises InvalidDocument, which gives the name, if they hold no text.
    """
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "surrogatepass").removeprefix("\ufeff")
    if b"\0" in data[:8192] or data.startswith(b"%PDF-"):
        raise InvalidDocument(
            f"{name!r} does not hold text (NUL bytes or PDF). Convert it to Markdown, HTML or "
            "plain text first, or give a PDF its suffix .pdf."
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _read_markdown(text: str, id: str, title: str, meta: dict[str, Any]) -> Document:
    """A Markdown document; headings read for its title are not read again."""
    from structrag.reading.markdown import front_matter
    from structrag.reading.sections import headings_of_markdown, remember_headings

    title = title or front_matter(text).title
    if title:
        return Document(text, id=id, title=title, format="markdown", meta=meta)
    headings = headings_of_markdown(text)
    title = _title_of(headings) or _stem(meta)
    document = Document(text, id=id, title=title, format="markdown", meta=meta)
    remember_headings(document, headings)
    return document


def _title_of(headings: Sequence[Heading]) -> str:
    """The only heading of level 1 when it comes first, else ""."""
    top = [heading for heading in headings if heading.level == 1]
    return top[0].title if len(top) == 1 and headings[0] is top[0] else ""


def _stem(meta: Mapping[str, Any]) -> str:
    source = meta.get("source")
    return Path(str(source)).stem if source else ""
