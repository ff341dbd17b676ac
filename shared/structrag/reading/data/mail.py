"""E-mail messages and saved pages (MHTML)."""

from __future__ import annotations

import email
import re
from binascii import Error, a2b_base64, a2b_qp
from dataclasses import replace
from email.message import Message
from email.policy import Compat32
from itertools import groupby
from operator import itemgetter

from structrag.errors import InvalidDocument
from structrag.reading.decoding import decoded, encoding_named
from structrag.reading.drafts import Draft
from structrag.reading.escaping import assembled, escaped_lines, heading_line
from structrag.reading.html.markdown import markdown_parts, page_draft
from structrag.reading.html.reader import read_html
from structrag.reading.limits import check_depth
from structrag.reading.office.package import refuse
from structrag.records import Layout

# The standard library compares each line with the boundaries of all parts that are open.
_MULTIPART = re.compile(rb"^content-type:\s*multipart/", re.IGNORECASE | re.MULTILINE)
_MOST_MULTIPARTS = 200
# It takes quadratic time for the parameters of a header.
_MOST_PARAMETERS = 4_000  # characters of a header with parameters
_BROKEN = (  # what it raises on some broken headers
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)
_ENCODED = r"=\?([^?\s]{1,60})\?([bBqQ])\?([^?]*)\?="
_WORD = re.compile(_ENCODED)
_WORDS = re.compile(rf"{_ENCODED}(?:\s*{_ENCODED})*")
_PLAIN, _MESSAGE = "text/plain", "message/rfc822"
# What parts the messages of a mailbox: a line with a date, above the headers.
_POSTMARK = re.compile(
    rb"^From [^\n]{1,99}:\d\d [^\n]{1,99}\n(?=[\w-]{1,99}:)", re.MULTILINE
)
_SHOWN = ("From", "To", "Cc", "Date")
_HEADERS = {"from", "to", "subject", "date", "mime-version", "content-type", "received"}


def to_markdown(data: bytes, name: str = "") -> Draft:
    """A message as Markdown: its subject as the heading, then who wrote it, its body, the names of
    what is attached, and attached messages as sections below. A mailbox (mbox) is its messages; a
    saved page is the page alone.

    Of alternatives the HTML one is read, or the plain one if that has over twice as many words.
    Nothing that a body refers to is fetched.

    Raises:
        InvalidDocument: It has no headers of a message, or its parts are nested too deeply.
    """
    unsure: list[str] = []
    if data.startswith(b"From "):
        letters = filter(None, _POSTMARK.split(data))
        messages = [_parsed(each, name) for each in letters]
        parts = [part for each in messages for part in _written(each, 1, unsure)]
        return Draft(assembled(parts), tuple(unsure))
    message = _parsed(data, name)
    subject = _header(message, "Subject")
    if _is_page(message, name):
        page = _first_page(message)
        if page is None:
            refuse(name, "it holds no page. Save the page again.")
        draft = page_draft(_content(page))
        return replace(draft, title=draft.title or subject)
    parts = _written(message, 1, unsure)
    return Draft(assembled(parts), tuple(unsure), title=subject)


def _written(message: Message, level: int, unsure: list[str]) -> list[str]:
    """A message and those inside it, with a heading of a level."""
    check_depth(level, "messages")
    subject = _header(message, "Subject")
    facts = [f"- {key}: {text}" for key in _SHOWN if (text := _header(message, key))]
    parts = [heading_line(level, subject)] if subject else []
    parts.append("\n".join(facts))
    attached: list[str] = []
    inside: list[Message] = []
    for part, plain in _bodies(message, attached):
        if part.get_content_type() == _MESSAGE:
            inside += _children(part)
        else:
            parts += _body(part, plain, level, unsure)
    parts.append("\n".join(f"- Attached: {file}" for file in attached))
    if any("Boundary" in type(defect).__name__ for defect in message.defects):
        unsure.append("The message is cut off; its last part may be missing.")
    return parts + [
        part for each in inside for part in _written(each, level + 1, unsure)
    ]


def _body(
    part: Message, plain: Message | None, level: int, unsure: list[str]
) -> list[str]:
    """The Markdown of a body, or of its plain alternative where the page says less."""
    content = _content(part)
    if part.get_content_type() != "text/html":
        return _paragraphs(content)
    text, _, layout = read_html(content, drop_navigation=False)
    other = _content(plain) if plain is not None else ""
    if 2 * len(text.split()) < len(other.split()):
        return _paragraphs(other)
    return markdown_parts(text, _below(layout, level), unsure)


def _parsed(data: bytes, name: str) -> Message:
    if len(_MULTIPART.findall(data)) > _MOST_MULTIPARTS:
        refuse(name, "it has too many nested parts. Save the message again.")
    try:
        message = email.message_from_bytes(data, policy=_Policy())
    except _BROKEN as error:
        refuse(
            name, f"its parts are broken or nested too deeply ({error}). Save it again."
        )
    if not _HEADERS & {key.lower() for key in message}:
        refuse(name, "it does not begin with the headers of a message. Save it again.")
    return message


class _Policy(Compat32):
    """Headers as they are written, those with parameters up to a length."""

    def header_source_parse(self, sourcelines: list[str]) -> tuple[str, str]:
        name, value = super().header_source_parse(sourcelines)
        most = _MOST_PARAMETERS if name.lower().startswith("content-") else None
        return name, value[:most]

    def header_fetch_parse(self, name: str, value: str) -> str:
        return value


def _header(message: Message, key: str) -> str:
    return _readable(message.get(key, ""))


def _readable(written: str) -> str:
    """A header as people read it, in one line."""
    text = _decoded(written.encode("utf-8", "surrogateescape"), "")
    return " ".join(_WORDS.sub(_words, text).split())


def _words(match: re.Match[str]) -> str:
    """The text of encoded words, of which several may share a character."""
    return "".join(
        _decoded(b"".join(_bytes(*word[1:]) for word in words), label)
        for label, words in groupby(_WORD.findall(match[0]), key=itemgetter(0))
    )


def _bytes(form: str, word: str) -> bytes:
    data = word.encode("utf-8", "replace")
    if form in "qQ":
        return a2b_qp(data, header=True)
    try:
        return a2b_base64(data + b"===")
    except Error:
        return data


def _parameter(part: Message, header: str, name: str) -> str:
    try:
        value = part.get_param(name, "", header)
    except _BROKEN:
        return ""
    if isinstance(value, tuple):
        charset, _, text = value
        return _decoded(text.encode("latin-1", "surrogateescape"), charset or "")
    return _readable(value)


def _decoded(data: bytes, label: str) -> str:
    """Text in the encoding of a label, or as files are decoded."""
    label = label.partition("*")[0].strip().lower()
    # Text that is more than ASCII says little of itself by that name.
    encoding = "" if label == "us-ascii" else encoding_named(label)
    try:
        return data.decode(encoding, "replace") if encoding else decoded(data, "").text
    except InvalidDocument:
        return data.decode("latin-1")


def _is_page(message: Message, name: str) -> bool:
    return (
        name.lower().endswith((".mht", ".mhtml"))
        or "Snapshot-Content-Location" in message
        or _header(message, "From").startswith("<Saved by")
    )


def _children(part: Message) -> list[Message]:
    inside = part.get_payload() if part.is_multipart() else None
    if not isinstance(inside, list):
        return []
    return [child for child in inside if isinstance(child, Message)]


def _first_page(message: Message) -> Message | None:
    pages = ("text/html", "application/xhtml+xml")
    return next((p for p in message.walk() if p.get_content_type() in pages), None)


def _bodies(
    message: Message, attached: list[str]
) -> list[tuple[Message, Message | None]]:
    """The parts that are shown, in order, each with its plain alternative. Names of the others are
    appended to `attached`."""
    shown = []
    stack: list[tuple[Message, Message | None]] = [(message, None)]
    while stack:
        part, other = stack.pop()
        kind = part.get_content_type()
        children = _children(part)
        if kind == "multipart/alternative":
            plain = (child for child in children if child.get_content_type() == _PLAIN)
            pages = (child for child in children if _first_page(child) is not None)
            other = next(plain, None)
            best = next(pages, other or next(iter(children), None))
            if best is not None:
                stack.append((best, other))
        elif part.get_content_maintype() == "multipart" and children:
            stack += [(child, other) for child in reversed(children)]
        elif (
            kind.startswith("multipart/")
            or (kind == _MESSAGE and children)
            or (
                kind in (_PLAIN, "text/html")
                and part.get_content_disposition() != "attachment"
            )
        ):
            shown.append((part, other))
        else:
            attached += filter(None, [_attached(part, kind)])
    return shown


def _attached(part: Message, kind: str) -> str:
    file = _parameter(part, "Content-Disposition", "filename")
    file = file or _parameter(part, "Content-Type", "name")
    is_inside = "Content-Location" in part or "Content-ID" in part  # of a page
    return " ".join((file or ("" if is_inside else kind)).split())


def _content(part: Message) -> str:
    raw = part.get_payload(decode=True)
    data = raw if isinstance(raw, bytes) else b""
    label = _parameter(part, "Content-Type", "charset")
    return _decoded(data, label).replace("\0", "")


def _below(layout: Layout, level: int) -> Layout:
    """The layout with its headings below that of the subject."""
    highest = min((heading.level for heading in layout.headings), default=level + 1)
    lower = max(0, level + 1 - highest)
    below = (replace(each, level=each.level + lower) for each in layout.headings)
    return replace(layout, headings=tuple(below))


def _paragraphs(text: str) -> list[str]:
    paragraphs: list[list[str]] = [[]]
    for line in text.splitlines():
        if line.strip():
            paragraphs[-1].append(line.rstrip())
        elif paragraphs[-1]:
            paragraphs.append([])
    return ["\n".join(escaped_lines(lines)) for lines in paragraphs]
