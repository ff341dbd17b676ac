"""From the bytes of a file to its text."""

from __future__ import annotations

import codecs
import re
from typing import NamedTuple

from structrag.errors import InvalidDocument

# Those of UTF-32 first: the little-endian one begins with that of UTF-16.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_DECLARED = re.compile(
    rb"<meta[^>]{0,500}?\bcharset\s{0,9}=\s{0,9}[\"']?\s{0,9}([\w.:-]{1,40})"
    rb"|<\?xml[^>]{0,200}?\bencoding\s{0,9}=\s{0,9}[\"']([\w.:-]{1,40})",
    re.IGNORECASE,
)
_OF_PARSERS = ("", "utf-8", "utf-16", "us-ascii", "iso-8859-1")
_HEAD = 4096  # bytes in which a page declares its encoding
# What browsers read under another name. Their keys are Python's names.
_READ_AS = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "tis-620": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
# Python's names of encodings of documents: "idna" or "unicode_escape" in a page are none.
_OF_DOCUMENTS = re.compile(
    r"utf-(?:7|8|(?:16|32)(?:-[bl]e)?)|cp(?:125\d|437|85\d|86\d|874|932|949|950)|iso8859-\d{1,2}"
    r"|koi8-[rtu]|mac-\w+|gb\w+|big5\w*|euc_\w+|shift_jis\w*|iso2022_\w+|johab"
)
_LABELS = {  # that Python does not know
    "iso-8859-8-i": "iso8859-8",
    "windows-874": "cp874",
    "x-gbk": "gb18030",
    "x-mac-cyrillic": "mac-cyrillic",
    "x-sjis": "cp932",
}


class Decoded(NamedTuple):
    """A text, and how many U+FFFD stand for unreadable bytes."""

    text: str
    undecodable: int


def decoded(data: bytes, name: str) -> Decoded:
    """The text of a file's bytes, as `read_file` reads them.

    A byte order mark (UTF-8, UTF-16, UTF-32) comes first and is removed; then UTF-8 if all bytes
    are; then what a page declares (`<meta charset>` or an XML declaration, where the text begins
    with "<"); then UTF-8 if most of what is not ASCII is; else Windows-1252. What cannot be read
    becomes U+FFFD and is counted.

    Raises:
        InvalidDocument: the bytes hold no text (NUL, a PDF); the sentence gives `name`.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return _checked(_replaced(data[len(mark) :], encoding), name)
    if b"\0" in data or data.startswith(b"%PDF-"):
        raise _no_text(name)
    declared = _declared(data)
    # These are ASCII to look at, so they must be asked for first.
    if declared.startswith("iso2022_"):
        return _checked(_replaced(data, declared), name)
    try:
        return Decoded(data.decode("utf-8"), 0)
    except UnicodeDecodeError:
        pass
    if declared:
        return _checked(_replaced(data, declared), name)
    as_utf8 = _replaced(data, "utf-8")
    beyond_ascii = sum(1 for character in as_utf8.text if character > "\x7f")
    # Windows-1252 is hardly ever UTF-8 by chance, so a few bad bytes do not decide.
    if beyond_ascii > 2 * as_utf8.undecodable:
        return as_utf8
    return _replaced(data, "cp1252")


def _replaced(data: bytes, encoding: str) -> Decoded:
    """The text with U+FFFD for what cannot be read. U+FFFD of the file itself is not counted."""
    text = data.decode(encoding, "replace")
    marks = text.count("\ufffd")
    if marks:
        marks -= data.decode(encoding, "ignore").count("\ufffd")
    return Decoded(text, marks)


def _checked(decoded: Decoded, name: str) -> Decoded:
    """The text, unless NULs say that it is none."""
    if "\0" in decoded.text:
        raise _no_text(name)
    return decoded


def _no_text(name: str) -> InvalidDocument:
    return InvalidDocument(
        f"{name!r} does not hold text (NUL bytes or PDF). Give the file the suffix of its format, "
        "such as .pdf or .docx, or convert it to Markdown, HTML or plain text first."
    )


def _declared(data: bytes) -> str:
    """Python's name of the encoding that a page declares; "" for none. UTF-8 needs no declaration,
    and a page that says UTF-16 in ASCII is not."""
    if not data[:_HEAD].lstrip().startswith(b"<"):
        return ""
    match = _DECLARED.search(data[:_HEAD])
    encoding = encoding_named((match[1] or match[2]).decode("ascii")) if match else ""
    return "" if encoding.startswith("utf") else encoding


def encoding_named(label: str) -> str:
    """Python's name of an encoding by its label in a document; "" for one that documents do not
    have, such as Python's own `unicode_escape`.

    Example:
        >>> [encoding_named(label) for label in ("GBK", "latin1", "rot13")]
        ['gb18030', 'cp1252', '']
    """
    label = label.strip().lower()
    try:
        encoding = codecs.lookup(_LABELS.get(label, label)).name
    except (LookupError, ValueError):
        return ""
    encoding = _READ_AS.get(encoding, encoding)
    return encoding if _OF_DOCUMENTS.fullmatch(encoding) else ""


def xml_text(data: bytes, name: str) -> str | bytes:
    """XML as a parser takes it: decoded where the parser does not know the encoding.

    Raises:
        InvalidDocument: it declares an encoding that documents do not have.
    """
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding, "replace")
    match = _DECLARED.match(data)
    label = (match[2] or b"").decode("ascii") if match else ""
    if label.lower() in _OF_PARSERS:
        return data
    encoding = encoding_named(label)
    if not encoding:
        raise InvalidDocument(
            f"Cannot read {name or 'the document'}: it declares the encoding {label!r}, which is "
            "unknown. Save it as UTF-8."
        )
    # UTF-7 may hold halves of pairs, which a parser does not take.
    text = data.decode(encoding, "replace")
    return text.encode("utf-8", "replace").decode("utf-8")
